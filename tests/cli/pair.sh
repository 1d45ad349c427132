# SPDX-License-Identifier: BSD-2-Clause
# A reader of another tokenizer, layers and budgets compared, and which of them is recommended.
GEMKV_CPU=
"$mkmodel" --layers=6 --seed=5 large.gguf || exit 99
seq 1 60 | sed 's/.*/The cat & sat on mat number & and looked at the hat./' >text
cat >needles <<'N'
[{"id": "key", "needle": "The pass key is 48213.", "question": "Key?", "answers": ["yes"]},
 {"id": "cat", "needle": "The cat is in the box.", "question": "Cat?", "answers": ["yes"]}]
N
rows="-m large.gguf -t 1 -n 4 --needles needles --depths 0,100"
pair="pair -f text $rows"
what() { sed 's/"method": "[^"]*", //; s/"seconds": {[^}]*}, //; s/"memory": {[^}]*}, //' "$1" | sort; }
seconds() { sed 's/  *[0-9.]* s$//'; }

echo "-- the rows of eval niah"
bundled=$cases/../../data/gemkv-mini-q8_0.gguf
gemkv $pair -q --reader "$bundled" --lengths 200 --samples 1 --layers 1,0,1 -k 60%,50.5%,60% --out all >/dev/null
grep -c '"method": "reader:keep=50.5%,layer=[01]"' all
for layer in 0 1; do
    grep "keep=60%,layer=$layer\"" all >one
    gemkv eval niah -q --haystack text $rows --reader "$bundled" --lengths 200 --layer $layer -k 60% --out $layer.jsonl >/dev/null
    what $layer.jsonl >two
    what one | cmp - two && echo "layer $layer: the same"
done

gemkv $pair -q --reader tiny.gguf --lengths 1100 --samples 1 --depths 0 --layers 0 -k 50% --full --out long >/dev/null
sed -n 's/.*"method": "full".*"prompt": \([0-9]*\), "kept": \([0-9]*\).*/\1 \2/p' long | { read -r a b; test "$a" = "$b" && echo "all of it"; }
echo "-- recommended"
pair="$pair --reader tiny.gguf --lengths 200 --samples 5 --layers 2,0 -k 60%,50% --self --full --out answers"
t $pair -q | tail -n 1
cp answers asked
grep '"method": "\(full\|self:keep=60%\)"' asked >one
gemkv eval niah -q --haystack text $rows --lengths 200 --samples 5 -k 60% --out self >/dev/null
gemkv eval niah -q --haystack text $rows --lengths 200 --samples 5 --methods full --out full >/dev/null
cat self full >alone
what alone >two
what one | cmp - two && echo "without the reader: the same"
right() {       # right N...: of the first way, and so on, the first N answers are right
    awk -v right="$*" 'BEGIN { split(right, n, " ") } {
        way = (NR - 1) % 7 + 1
        sub(/"answer": ".*", "answers"/, "\"answer\": \"" (int((NR - 1) / 7) < n[way] ? "yes" : "no") "\", \"answers\"")
        print
    }' asked >answers
    gemkv $pair >out
    grep recommended out || echo nothing
    test $(wc -l <answers) = 70 || echo "asked again"
}
right 5 8 9 10 1 2 10
seconds <out
right 5 7 9 10 0 0 9            # 3 less than the best are not chance
right 10 10 10 10 0 0 0         # as good: the smallest budget and the first layer
right 7 4 10 6 0 0 10
right 0 0 0 1 10 10 10          # those that have nothing, or are
right 10 1 1 1 0 0 0
right 1 10 1 9 10 10 10         # those without the reader are not recommended
right 0 0 0 0 10 10 10
right 5 8 9 10 1 2 10
gemkv $pair --json | sed 's/"seconds": {[^}]*}, "memory": [0-9]*/.../g; s/"cpu": "[^"]*", //
    s/\(0\.[0-9]\{3\}\)[0-9]*/\1/g; s/0\.\(25\|249\|250\)\([^0-9]\)/a quarter\2/'
cp tiny.gguf "it's small.gguf"
gemkv pair -q -f text $rows --reader "it's small.gguf" --lengths 200 --samples 1 --layers 0 -k 50% --snap sentence --out snap >out
sed 's/"answer": ".*", "answers"/"answer": "yes", "answers"/' snap >yes
gemkv pair -q -f text $rows --reader "it's small.gguf" --lengths 200 --samples 1 --layers 0 -k 50% --snap sentence --out yes | tail -n 1
t $pair -q --snap sentence
echo "-- another seed, other rows"
for seed in 0 1 2 3; do
    gemkv pair -q -f text $rows --reader tiny.gguf --lengths 200 --samples 1 --layers 0 -k 60% --seed $seed --out seed >/dev/null
done
sed 's/.*"id": "\([^"]*\)".*/\1/' seed | tr '\n' ' '
echo

echo "-- stopped: nothing is recommended"
seq 1 300 | sed 's/.*/The cat & sat on mat number & and looked at the hat./' >long.txt
stopped="pair -q -f long.txt $rows --reader tiny.gguf --depths 0 --samples 1 --layers 0 -k 60%"
gemkv $stopped --lengths 200 --out part >/dev/null
sed 's/"answer": ".*", "answers"/"answer": "yes", "answers"/' part >stopped
GEMKV_CPU=ref gemkv $stopped --full --lengths 200,3900 --samples 3 --out stopped >out 2>/dev/null &
pid=$!
sleep 1
kill -TERM $pid
wait $pid 2>/dev/null
echo "[$?]"
grep recommended out
echo "-- what cannot be"
t pair
t pair --reader tiny.gguf extra
t pair --reader none.gguf
small="pair -f text $rows --reader tiny.gguf --samples 1"
t $small --lengths 200 --layers 9 --depths 0
t $small --lengths 200 --layers x
t $small --lengths 200 -k 5
t $small --lengths 200 -k 0%
t $small --lengths 200 -k 5%,
t $small --lengths 200 --memory 1M 2>err
sed 's/[0-9.]* [KM]iB/N MiB/g' err >&2
t $small --lengths 200 --out nowhere/x -k 60%
t $small --lengths 9999
t $small --lengths 20
gemkv $small --lengths 200,9999 -k 10%,60% | seconds
"$mkmodel" --arch=qwen35 --layers=12 hybrid.gguf
gemkv pair -q -f text $rows --reader hybrid.gguf --lengths 200 --samples 1 -k 60% | seconds
: >empty
t pair --reader tiny.gguf -f empty
printf 'no sentence' >short
t $small -f short --lengths 9999
t pair -f text $rows --reader large.gguf --lengths 200 --self
gemkv pair -f text $rows --reader large.gguf --lengths 200 --layers 0 -k 60% --samples 1 | seconds
