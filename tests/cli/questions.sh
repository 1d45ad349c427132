# SPDX-License-Identifier: BSD-2-Clause
# Several questions, the document read once: the answers are those of single runs.
ask="ask -t 2 -k 96 -n 8 -f text"
printf 'What is the pass key?\n\n  \nWho sat?  \n' >questions
for s in auto layer stream; do
    gemkv $ask -q --schedule $s --questions questions >many 2>err || cat err
    { echo '? What is the pass key?'; gemkv $ask -q --schedule $s 'What is the pass key?'
      echo '? Who sat?'; gemkv $ask -q --schedule $s 'Who sat?'; } >single 2>/dev/null
    cmp many single && echo "$s: the same"
done
gemkv $ask --json --questions - <questions 2>/dev/null | sed 's/, "finish.*//' >json
gemkv $ask --json 'Who sat?' 2>/dev/null | sed 's/, "finish.*//; s/^{//' >one
wc -l <json
sed -n 's/.*\("question": "[^"]*"\).*/\1/p' json
grep -cF "$(cat one)" json
gemkv select -q -t 2 -k 96 -f text --questions questions 2>/dev/null | grep -c '^?'
# lines of another system; what there is to warn of is said once
awk 'BEGIN { for (i = 0; i < 110; i++) print "The cat and the hat sat on the mat, and on that, number " i "." }' >longer
printf 'What is the pass key?\r\n\t\v\r\nWho sat?\t\r\n' >dos
gemkv select -t 2 -k 96 -f longer --questions dos 2>err | tr '\r' R | grep '^?'
grep -c "trained for" err
# what cannot be
t ask -f text --questions questions extra
t ask --questions - </dev/null
t ask -f text --questions nothing
printf 'good\n\377\nnever asked\n' >bad
t ask -q -k 96 -n 2 -f text --questions bad | grep -a '^[?[]' | tr '\377' X
t ask -q -f text --questions .
