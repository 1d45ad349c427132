# SPDX-License-Identifier: BSD-2-Clause
# Keys and their order; numbers of the machine and words of the model are masked.
gemkv ask -f text $small --json "What is the pass key?" >json
wc -l <json | tr -d ' '
sed 's/"answer": "\([^"\\]\|\\.\)*"/"answer": "A"/; s/\[{.*}\]/[K]/' json | mask
tr '{' '\n' <json | sed -n 's/}.*/}/; s/"text": ".*"/"text": "T"/; /^"file"/p' | mask | sed 's/-N/N/' | sort -u
command -v python3 >/dev/null || exit 0
python3 - <<'X'
import json
o = json.load(open("json", encoding="utf-8", errors="strict"))
text = open("text", "rb").read()
assert o["tokens"]["kept"] == 96 and o["tokens"]["answer"] <= 8
assert o["finish"] in ("stop", "length") and o["layer"] == 1
at = -1
for k in o["kept"]:
    assert k["file"] == 0 and at < k["start"] < k["end"] <= len(text)
    assert k["document"] == "text" and k["text"].encode() == text[k["start"]:k["end"]] and "page" not in k
    at = k["end"]
lines = text.decode().split("\n")
for k in o["kept"] + o["passages"]:
    assert k["text"].strip() in "\n".join(lines[k["lines"][0] - 1:k["lines"][1]]), k
best = sorted(o["kept"], key=lambda k: -k["score"])
assert [k["rank"] for k in best] == list(range(1, len(best) + 1))
scores = [p["score"] for p in o["passages"]]
assert scores == sorted(scores, reverse=True) and scores[0] == best[0]["score"]
for p in o["passages"]:             # here a line is a sentence
    assert p["text"].encode() == text[p["start"]:p["end"]] and p["text"] in lines, p
X
