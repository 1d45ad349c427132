# SPDX-License-Identifier: BSD-2-Clause
# Rows become lines: answers as those of gemkv ask, and errors of rows that cannot be answered.
cp text other
cat >rows <<'R'
{"id": "key", "file": "text", "question": "What is the pass key?"}
{"id": 7, "text": "The cat sat on the mat, and the dog on the hat.", "question": "Who sat?", "note": "means nothing"}

{"files": ["text", "other"], "question": "Where?"}
{"id": "many", "file": "text", "questions": ["What is the pass key?", "Where?"]}
{"id": "own", "file": "text", "question": "What is the pass key?", "keep": 80, "max-tokens": 3, "method": "truncate"}
{"id": "cut", "file": "text", "question": "What is the pass key?", "max_tokens": 5, "keep": "50%", "stop": ["in", "x"]}
{"id": "gone", "file": "nowhere", "question": "Who?"}
{"id": "gone2", "file": "nowhere", "question": "What?"}
{"id": "key", "file": "text", "question": "Where?"}
not JSON
{"id": "half", "file": "te
[1]
"text"
{"id": "nothing", "question": "Who?"}
{"id": "both", "text": "a", "file": "text", "question": "Who?"}
{"id": "mute", "file": "text"}
{"id": "blank", "file": "text", "question": " "}
{"id": "two", "file": "text", "question": "Who?", "questions": ["What?"]}
{"id": "none", "file": "text", "questions": []}
{"id": "number", "file": "text", "questions": ["Who?", 1]}
{"id": "stdin", "file": "-", "question": "Who?"}
{"id": "empty", "text": "", "question": "Who?"}
{"id": "nul", "text": "a\u0000b", "question": "Who?"}
{"id": "nulq", "text": "The cat.", "question": "Who\u0000?"}
{"id": "folder", "file": ".", "question": "Who?"}
{"id": "keep", "file": "text", "question": "Who?", "keep": "much"}
{"id": "negative", "file": "text", "question": "Who?", "max_tokens": -1}
{"id": "method", "file": "text", "question": "Who?", "method": "gemfilte"}
{"id": 1.5, "file": "text", "question": "Who?"}
{"id": 1234567890123456789, "file": "text", "question": "Who?"}
{"id": ["a"], "file": "text", "question": "Who?"}
{"id": null, "text": "The cat sat.", "question": "Who?"}
{"id": "\u00e9\n\"", "text": "The cat sat.", "question": "Who?"}
{"id": "last", "file": "text", "question": "Where is the cat?"}
R
printf '{"id": "latin", "text": "caf\351", "question": "Who?"}\n' >>rows
awk 'BEGIN { printf "{\"id\": \"long\", \"file\": \"text\", \"question\": \""; for (i = 0; i < 900; i++) printf "why "; print "?\"}" }' >>rows
t batch $small -t 1 --in rows --out lines 2>err
sed 's/\([0-9][0-9]\) ([0-9]* first/\1 (N first/; s/than the [0-9]* that/than the N that/; s/, [0-9]* last/, N last/' lines | batch_lines
sed 's/than the [0-9]* that.*/than .../' err

# The same as gemkv ask, and the costs are there.
members() { grep -o "\"$1\": \(\"[^\"]*\"\|[0-9.]*\)" | head -n 1; }
for id in '"key"' '"last"'; do
    question=$(sed -n "s/^{\"id\": $id, .*\"question\": \"\([^\"]*\)\".*/\1/p" rows | head -n 1)
    gemkv ask $small -t 1 --json -f text "$question" | batch_same | grep -o '"answer".*' >ask
    batch_same lines | grep "^{\"id\": $id, " | grep -o '"answer".*' | head -n 1 | sed 's/, "schedule": "[^"]*"//' >own
    sed 's/, "schedule": "[^"]*"//' ask | cmp - own && echo "$id: as ask says"
done
gemkv ask -k 80 -n 3 -t 1 --method truncate --json -f text "What is the pass key?" | batch_same |
    grep -o '"answer".*' | sed 's/, "schedule": [^,]*//' >ask
batch_same lines | grep '^{"id": "own"' | grep -o '"answer".*' | sed 's/, "schedule": [^,]*//' | cmp - ask &&
    echo "own: as ask says with these options"
grep '^{"id": "key"' lines | head -n 1 | grep -c '"seconds": {.*"memory": {.*"kept": \[.*"passages": \['
command -v python3 >/dev/null && { python3 - <<'P' || echo "not JSON"; }
import json
for line in open("lines", encoding="utf-8"):
    json.loads(line)
P

# From a pipe to a pipe; a row whose document is a FIFO is read once for all its questions.
mkfifo fifo
cat text >fifo &
printf '\357\273\277%s\r\n%s' '{"id": "a", "file": "fifo", "question": "Where?"}' '{"id": "b", "file": "fifo", "question": "Who?"}' |
    gemkv batch $small -t 1 >piped
echo "[$?]"
batch_lines piped
wait

# On a terminal one line says how far it is.
sed -n '8p;2p' rows | gemkv batch $small -t 1 --tty 2>&1 >/dev/null | tr '\r' '\n' | sed 's/\x1b\[K//; s/ *[0-9]* %/ N %/' |
    grep '^batch' | head -n 1
sed -n 2p rows | gemkv batch -q $small -t 1 --tty 2>&1 >/dev/null

# Rows that change meanwhile are not asked.
mkfifo late
awk 'BEGIN { print "{\"file\": \"late\", \"question\": \"Who?\"}"; print "{\"file\": \"text\", \"question\": \"Who?\"}" }' >changing
gemkv batch $small -t 1 --in changing >changed 2>err &
exec 3>late             # returns when the first row is being read
sed 's/text/TEXT/' changing >then
cat then >changing
cat text >&3
exec 3>&-
wait $!
echo "[$?] $(wc -l <changed | tr -d ' ')"
cat err

# A document that cannot be read is not read twice, and all of its rows say so.
grep -c '"error": "nowhere: cannot open: No such file or directory", "status": 1' lines

# usage
t batch --in rows x
t batch --in nowhere
t batch --in . --out lines2
t batch --in text --out lines2
: >nothing
t batch --in nothing
t batch --in rows --method nosuch --out lines2
t batch --merge all lines
t batch --merge all --in rows
ls lines2 all 2>&1
