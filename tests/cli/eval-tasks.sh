# SPDX-License-Identifier: BSD-2-Clause
# Rows that gemkv makes: the length that was asked for, the same from the same seed.
seq 1 400 | sed 's/.*/The cat & sat on mat number & and looked at the hat./' >hay
cat >needles <<'N'
{"needles": [{"id": "cat", "needle": "The pass key is 48213.", "question": "What is the pass key?", "answers": ["48213"]},
             {"needle": "no question", "answers": ["x"]}]}
N
niah="eval niah $small -t 1 --haystack hay --needles needles --lengths 300,500 --depths 0,50,100"
t $niah --csv --out one --plot one.svg | csv_columns
t $niah --csv --out two >/dev/null
run() { sed 's/.*"id": "\([^"]*\)".*"prompt": \([0-9]*\).*"run": "\(.*\)".*/\1 \2 \3/' "$1"; }
run one >a
run two | cmp - a && echo "the same rows"
awk '{ split($1, part, "-"); print ($2 <= part[2] && $2 > part[2] - 40) }' a | sort | uniq -c | tr -s ' '
# a cell for each length and depth, and the mean in the title
grep -c '<rect.*stroke="#fff"' one.svg
grep -o 'gemfilter: mean .*%' one.svg | sed 's/[0-9.][0-9.]*/N/'
t $niah --plot nowhere/x.svg -q --json >/dev/null
t $niah | sed 's/[0-9.][0-9.]*/N/g; s/  */ /g; s/[KM]iB/MiB/'

kv="eval kv -t 1 -k 200 -n 4 --kinds kv,passkey,number,math.find --lengths 700 --depths 0,100"
t $kv --csv --out kv | csv_columns
t $kv --csv --seed 1 --out kv1 | csv_columns | cut -d, -f3 | sed -n 2p

cat >squad <<'S'
{"data": [{"paragraphs": [
  {"context": "The cat sat.", "qas": [{"question": "Who sat?", "answers": [{"text": "cat"}, {"text": "cat"}]},
                                      {"question": "Who stood?", "answers": [], "is_impossible": true}]},
  {"context": "The hat hung.", "qas": [{"question": "What hung?", "answers": [{"text": "hat"}]}]}]}]}
S
cat >hotpot <<'H'
[{"question": "Which mat?", "answer": "7", "context": [["Cats", ["A cat. ", "On mat 7."]], ["Hats", ["A hat."]]]}]
H
ruler="eval ruler -t 1 -k 300 -n 4 --haystack hay --lengths 2600 --samples 1 --squad squad --hotpot hotpot --method truncate"
t $ruler --csv --out ruler | csv_columns
t $ruler --csv --out ruler2 >/dev/null
run ruler >a
run ruler2 | cmp - a && echo "the same rows"
sed 's/.*"id": "\([^"]*\)".*"answers": \[\(.*\)\], "metric.*/\1 \2/' ruler | awk '{ print $1, NF - 1 }'
t eval ruler --tasks qa_1
t eval ruler --tasks vt,bogus
t eval kv --kinds kv,bogus
t eval niah --lengths 4
t eval niah --lengths 40 --haystack hay --needles needles
t eval niah --haystack nowhere
echo '{"needles": []}' >none
t eval niah --haystack hay --needles none
echo '{"needles": [' >none
t eval niah --haystack hay --needles none

echo "-- texts without full stops, and with other ones"
seq 1 400 | sed 's/.*/int cat_& = hat[&] + mat;/' >code
seq 1 60 | sed 's/.*/长江是亚洲第一长河，它的源头在青藏高原&。它流经十一个省市！/' | tr -d '\n' >chinese
for text in code chinese; do
    gemkv eval niah --needles needles --haystack $text --lengths 1900 --depths 50 --rows $text.rows
    sed 's/.*\(.........\)The pass key is 48213\.\(.........\).*/\1|\2/' $text.rows
done
sed 's/。//g; s/！//g' chinese >unbroken
gemkv eval niah --needles needles --haystack unbroken --lengths 1900 --depths 0,50,100 --rows unbroken.rows
grep -c '�' unbroken.rows               # no character is split
head -c 9000 /dev/zero | tr '\0' x >letters
gemkv eval niah --needles needles --haystack letters --lengths 3900 --depths 50 --rows letters.rows
sed 's/.*"context": "\(x*\) The pass key is 48213\.\(x*\)".*/\1 \2/' letters.rows | awk '{ print length($1), length($2) }'
