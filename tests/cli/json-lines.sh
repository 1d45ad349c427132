# SPDX-License-Identifier: BSD-2-Clause
# --json=lines: passages, then the answer piece by piece, then the object of --json; one object on each line.
show() { sed 's/^{"event": "\([a-z]*\)".*/\1/' "$1" | uniq; }
gemkv ask -f text $small --json=lines "What is the pass key?" >lines
show lines
gemkv ask -f text $small --json "What is the pass key?" >one
tail -n 1 lines | sed 's/"event": "answer", //; s/"schedule_reason": "[^"]*", //; s/"seconds.*"kept"//' >a
sed 's/"schedule_reason": "[^"]*", //; s/"seconds.*"kept"//' one | cmp - a && echo "the last is the object of --json"
gemkv select -f text $small --json=lines "What is the pass key?" >lines2
show lines2
printf 'One?\nTwo?\n' | gemkv ask -f text $small --json=lines --questions - >lines3
show lines3
printf 'One?\n' | gemkv chat -f text $small --json=lines >lines4
show lines4
t ask -f text --json=line q
t info --json=lines
t ask -f text -k 96 --json --json= q
command -v python3 >/dev/null || exit 0
python3 - <<'X'
import json
o = [json.loads(l) for l in open("lines", encoding="utf-8")]
last, p = o[-1], [x for x in o if x["event"] == "passage"]
assert "".join(x["text"] for x in o if x["event"] == "token") == last["answer"]
assert [x.pop("rank") for x in p] == list(range(1, len(p) + 1))
assert all(x.pop("event") for x in p) and p == last["passages"]
assert [json.loads(l)["question"] for l in open("lines3") if '"event": "question"' in l] == ["One?", "Two?"]
X
