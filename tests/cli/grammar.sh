# SPDX-License-Identifier: BSD-2-Clause
# --grammar and --json-schema: whatever the model, the answer is a text of them, in as many tokens as there may be.
ask() { gemkv ask -q -t 1 -f text $small "$@" where; }
printf 'root ::= "yes" | "no" # one of them\n' >yes.gbnf
ask --grammar yes.gbnf | grep -cx 'yes\|no'
ask --grammar 'root ::= "The key is " [0-9]{5} "."' -n 40 | grep -cx 'The key is [0-9]\{5\}\.'
ask --grammar 'root ::= "g\u00e9nie " [à-ÿ]{2} "\U0001F600"' -n 40 | grep -cx 'génie [à-ÿ]*😀'
ask --grammar 'root ::= "ab" [c-d]' -n 3 | grep -cx 'ab[cd]'
# cut and yet whole, if that is possible; an error if it is not
ask --grammar 'root ::= "(" [a-z]* ")"' -n 8 | grep -cx '([a-z]*)'
t ask -t 1 -f text -q $small -n 8 --grammar 'root ::= "The key is " [0-9]+ "."' where >out
tail -n 1 out
gemkv ask -t 1 -f text $small -n 8 --json --grammar 'root ::= "(" [a-z]* ")"' where | sed 's/.*"finish": "\([a-z]*\)".*/\1/'
gemkv ask -t 1 -f text $small -n 60 --json --grammar 'root ::= "(" [a-z]{4} ")"' where | sed 's/.*"finish": "\([a-z]*\)".*/\1/'
# penalties and samplers go with it
for o in '--temperature 1' '--temperature 2 --top-k 5' '--repeat-penalty 1.5' '--presence-penalty -1 --frequency-penalty 2 --repeat-last-n 8'; do
    ask -n 12 $o --grammar 'root ::= [a-z]{3} ("," [a-z]{2}){0,2}' | grep -cx '[a-z]*\(,[a-z][a-z]\)*'
done
# with a device
test ! -f "$plugins/gemkv-null.so" || export GEMKV_PLUGIN_DIR="$plugins"
test ! -f "$plugins/gemkv-null.so" || device='--device null'
ask --device cpu --grammar 'root ::= [a-z]{4} " " [0-9]{3}' -n 20 >cpu
ask ${device-} --grammar 'root ::= [a-z]{4} " " [0-9]{3}' -n 20 | cmp - cpu && echo "same on a device"
# a schema
cat >schema.json <<'END'
{"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0, "maximum": 120},
 "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 3}}, "required": ["name", "age"]}
END
for n in 20 50; do
    for seed in 1 2; do
        ask -n $n --temperature 1 --seed $seed --json-schema schema.json >json
        if python3 -c pass 2>/dev/null; then
            python3 -c 'import json; v = json.load(open("json")); print(sorted(v)[0], type(v["name"]).__name__, 0 <= v["age"] <= 120)'
        else
            echo age str True
        fi
    done
done | sort | uniq -c | tr -s ' '
# What is known of an answer in a grammar is part of --memory.
awk 'BEGIN { printf "root ::="; for (i = 0; i < 3000; i++) printf " [a-z]*" }' >stars.gbnf
predicted() { gemkv ask -t 1 -f text $small -n 8 --json "$@" where | sed -n 's/.*"predicted": *\([0-9]*\).*/\1/p'; }
most=$(predicted --grammar 'root ::= "a"')
test $((most - $(predicted))) -gt 500000 && echo "a grammar is predicted"
ask --memory $((most + 1000000)) -n 8 --grammar stars.gbnf 2>&1 | sed 's/[0-9]* KiB/N KiB/'
ask --memory $((most + 9000000)) -n 8 --grammar stars.gbnf | grep -cx '[a-z]*'
t ask -t 1 -f text -q --grammar 'root ::= "a' where
t ask -t 1 -f text -q --grammar nothing.gbnf where
t ask -t 1 -f text -q --json-schema nothing.json where
t ask -t 1 -f text -q --json-schema '{"type": "string", "pattern": "a"}' where
t ask -t 1 -f text -q --json-schema '{}' --grammar 'root ::= "a"' where
t ask -t 1 -f text -q --json-schema '{"$ref": "#"}' where
