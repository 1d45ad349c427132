# SPDX-License-Identifier: BSD-2-Clause
# Thousands of combining accents have width 0: a passage of them is cut by bytes, not columns.
awk 'BEGIN { printf "x "; for (i = 0; i < 600; i++) printf "\314\201"; print " y." }' >accents
t ask -f accents --method full -n 1 q 2>err >out
wc -l <err | tr -d ' '
awk 'length > 900' err
