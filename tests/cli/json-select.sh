# SPDX-License-Identifier: BSD-2-Clause
# select --json is the object of ask without "answer" and "finish"; its passages are what select prints.
gemkv select -f text $small --json "What is the pass key?" >json
sed 's/\[{.*}\]/[K]/' json | mask
gemkv select -q -f text $small "What is the pass key?" >want
sed 's/.*"passages": //' json | tr '{' '\n' | sed -n 's/^"file": 0, .*"start": \([0-9]*\), "end": \([0-9]*\),.*/\1 \2/p' >spans
first=1
while read -r start end; do
    test $first -eq 1 || echo
    first=0
    tail -c +$((start + 1)) text | head -c $((end - start))
    echo
done <spans >got
cmp want got && test -s want && echo "passages are the text"
# Standard input has the name that messages give it.
gemkv select --json --method full q <text | grep -o '"document": "[^"]*"' | sort -u
