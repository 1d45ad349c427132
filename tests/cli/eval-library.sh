# SPDX-License-Identifier: BSD-2-Clause
# Rows about documents of a library: the answers are those of ask -L.
libraries
printf 'The zebra is in the bottle, and the pass key is not.\n' >two
cp two 'a*b'; cp two aXb
gemkv index -q --grade exact lib text two 'a*b' aXb
cat >rows <<'END'
{"id": "all", "question": "What is the pass key?", "answers": ["48213"]}
{"id": "one", "question": "What is the pass key?", "answers": ["48213"], "document": "text"}
{"id": "star", "question": "Where is the zebra?", "answers": ["bottle"], "document": "a*b"}
END
e="gemkv eval qa --data rows -L lib -k 96 -n 8 -q"
$e --json --out answers >/dev/null
for row in all: one:text star:two; do
    case ${row#*:} in '') among=; question="What is the pass key?";; text) among=text; question="What is the pass key?";;
    two) among=two; question="Where is the zebra?";; esac
    gemkv ask -q --json -k 96 -n 8 -L lib ${among:+--among $among} "$question" | sed 's/.*"tokens": \({[^}]*}\).*/\1/' >want
    sed -n "s/.*\"id\": \"${row%:*}\".*\"tokens\": {\"prompt\": \([0-9]*\).*/\1/p" answers >got
    grep -q "\"prompt\": $(cat got)," want && echo "${row%:*}: the same prompt"
done
$e --csv --out answers | csv_columns
# another library content is another run
gemkv index -q --grade exact lib rows
$e --csv --out answers 2>&1 | sed 's/: its answer.*//'
echo '{"id": "none", "question": "Who?", "answers": ["x"], "document": "nothing"}' >rows
t eval qa --data rows -L lib -k 96
t eval qa --data rows -L lib --grade q8
t eval qa --data rows --top 3
t eval qa --data rows -L nothing
