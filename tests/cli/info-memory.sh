# SPDX-License-Identifier: BSD-2-Clause
# The columns stand below each other, whatever the methods are called.
gemkv info --memory -c 1000,2000 | awk '
    { end = match($0, / +[0-9.]+ [KMGT]?i?B +[0-9.]+ [KMGT]?i?B$/); n++
      if (NR == 1) width = length($0)
      else if (length($0) != width || !end) print "broken: " $0 }
    END { print (n > 10 ? "many lines" : "few lines") }'
