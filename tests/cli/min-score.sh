# SPDX-License-Identifier: BSD-2-Clause
# No passage scores --min-score: that is said, and nothing is made up.
q="What is the pass key?"
gemkv select -f text $small --json "$q" >json
best=$(sed 's/.*"passages": \[{[^}]*"score": \([-0-9.e+]*\),.*/\1/' json)
more=$(echo "$best" | awk '{ printf "%.6f", $1 + 0.001 }')
less=$(echo "$best" | awk '{ printf "%.6f", $1 - 0.001 }')
gemkv ask -f text $small --min-score="$more" "$q" 2>err
echo "[$?]"
grep 'stands out' err | mask
gemkv ask -q -f text $small --min-score="$more" "$q"
gemkv ask -f text $small --min-score "$more" --json "$q" | grep -o '"answer": "[^"]*", "finish": "[^"]*"'
gemkv ask -f text $small --min-score "$more" --json --cite "$q" | grep -c '"citations"'
gemkv ask -q -f text $small --min-score="$less" "$q" >found
gemkv ask -q -f text $small --min-score=-1000000000 "$q" >low
gemkv ask -q -f text $small "$q" >want
cmp found want && cmp low want && echo "an answer"
printf '%s\n%s\n' "$q" "$q" | gemkv chat -f text $small --min-score="$more" 2>/dev/null
gemkv ask -f text $small --method truncate --min-score=5 "$q" 2>&1 >out | grep warning
cmp out want >/dev/null || test -s out && echo "an answer without scores"
gemkv ask -f text -t 1 -n 2 -k 100000 --min-score=5 "$q" 2>&1 >out | grep warning
t ask -f text --min-score high "$q"
t ask -f text --min-score nan "$q"
t ask -f text --min-score= "$q"
