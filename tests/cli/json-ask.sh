# SPDX-License-Identifier: BSD-2-Clause
# Keys and their order; numbers of the machine and words of the model are masked.
gemkv ask -f text $small --json "What is the pass key?" >json
wc -l <json | tr -d ' '
sed 's/"answer": "\([^"\\]\|\\.\)*"/"answer": "A"/; s/\[{.*}\]/[K]/' json | mask
tr '{' '\n' <json | sed -n 's/}.*/}/; /^"file"/p' | mask | sed 's/-N/N/' | sort -u
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
    at = k["end"]
X
