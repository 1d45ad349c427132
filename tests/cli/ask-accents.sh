# SPDX-License-Identifier: BSD-2-Clause
# Thousands of combining accents have width 0: a passage of them is cut by bytes, not columns.
awk 'BEGIN { printf "x "; for (i = 0; i < 600; i++) printf "\314\201"; print " y." }' >accents
t ask -f accents --method full -n 1 q 2>err >out
wc -l <err | tr -d ' '
awk 'length > 900' err
# A long passage is shown around its best token: three lines of whole characters, with ellipses where more stands.
for first in '' x xx; do
    awk -v s=$first 'BEGIN { printf s; for (i = 1; i < 600; i++) printf "\303\251%s", i % 7 ? "" : " "; print "end." }' >wide
    gemkv ask -v --keep-first 0 --keep-last 0 -k 100 -n 1 -f wide q 2>&1 >/dev/null | sed -n '/^  wide/,/^[^ ]/s/^      //p' |
        sed "s/$(printf '\303\251')/e/g; s/$(printf '\342\200\246')/./g" >shown
    awk 'length > 73' shown
    sed 's/^\.*[ex ]*\(end\)*\.*$//' shown | grep .
    grep -c '^\.e' shown
done
awk 'BEGIN { for (i = 1; i < 200; i++) printf "w%d\303\251 ", i; print "end." }' >wide
gemkv ask --keep-first 0 --keep-last 0 -k 60 -n 1 -f wide q 2>&1 >/dev/null |
    awk "/^      $(printf '\342\200\246')/ { n = NR } n && NR == n + 2 && /$(printf '\342\200\246')\$/ { print \"both\" }"
true
