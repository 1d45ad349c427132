# SPDX-License-Identifier: BSD-2-Clause
# A layer is found, stored, used, shown and forgotten.
seq 1 200 | sed 's/.*/The cat & sat on mat number & and looked at the hat./' >hay
cat >needles <<'N'
[{"id": "key", "needle": "The pass key is 48213.", "question": "What is the pass key?", "answers": ["48213"]},
 {"id": "cat", "needle": "The cat is in the box.", "question": "Where is the cat?", "answers": ["box"]}]
N
cal="calibrate -t 1 --haystack hay --needles needles --lengths 200,300 --samples 2"
layer() { gemkv info --json "$@" | sed 's/.*"filter_layer": \([0-9]*\), "filter_layer_source": \("[a-z]*\)[^"]*".*/\1 \2"/'; }
layer
gemkv $cal --json --plot one.svg 2>err >json
sed "s|$XDG_DATA_HOME|DATA|; s|/[0-9a-f]*\.json|/HASH.json|; s/layer [0-9][0-9]*/layer N/" err
sed 's/: [0-9.e+-]*\([,}]\)/: N\1/g; s/\({"layer": N[^}]*}, \)*{/[.../' json
# of 4 prompts; what is whole is touched, and the mean of the parts is between
shares() {
    tr '{' '\n' | sed -n 's/.*"whole": \([^,]*\), "touched": \([^,]*\), "part": \([^,]*\), "error": .*/\1 \2 \3/p' |
        awk '$1 < 0 || $1 > $3 + 1e-9 || $3 > $2 + 1e-9 || $2 > 1 || $1 * 4 % 1 || $2 * 4 % 1 { print "layer " NR - 1 ": " $0 }
             { whole += $1; touched += $2 } END { print NR " layers" (whole > 0 ? ", whole" : "") (touched > 0 ? ", touched" : "") }'
}
shares <json
gemkv $cal --json --dry-run -q -k 95% | shares
cmp json "$XDG_DATA_HOME"/gemkv/*.json && echo "the same is stored"
found=$(sed 's/.*{"layer": \([0-9]*\), "tsp_layer.*/\1/' json)
test "$(layer)" = "$found \"calibration\"" && echo "used"
gemkv info | grep '^[a-zA-Z]* layer' | sed 's/[0-9][a-z0-9]*/N/g'
ask() { gemkv select --json -f text $small "$@" q | sed 's/.*"layer": \([0-9]*\),.*/\1/'; }
test "$(ask)" = "$found" && echo "select uses it"
ask --layer 1
grep -c '<path fill="none"' one.svg
# calibrate does not use a stored result: it finds the same again; --dry-run stores nothing
rm "$XDG_DATA_HOME"/gemkv/*
gemkv $cal --json --dry-run -q | cmp - json && echo "found again"
ls "$XDG_DATA_HOME"/gemkv
gemkv $cal -q | sed 's/[0-9.][0-9.]*/N/g; s/[*] /  /; s/ *[#.]*$//' | sort -u
t calibrate --forget
t calibrate --forget
layer
# a stored file that is invalid
for bad in '{"layer": 99, "tsp_layer": 0}' '{"layer": 0}' '{"layer": "x", "tsp_layer": 0}' '{' ''; do
    gemkv $cal -q >/dev/null
    printf '%s' "$bad" >"$(ls "$XDG_DATA_HOME"/gemkv/*.json)"
    layer 2>err
    sed "s|$XDG_DATA_HOME|DATA|; s|/[0-9a-f]*\.json|/HASH.json|" err
done
XDG_DATA_HOME=relative HOME= t $cal -q >out
tail -n 1 out
echo x >file
XDG_DATA_HOME=$PWD/file t $cal -q 2>err | tail -n 1
sed "s|$PWD|.|; s|/[0-9a-f]*\.json|/HASH.json|" err
t $cal --fraction 2 | tail -n 1
t calibrate extra
t calibrate --lengths 30 --haystack hay --needles needles
