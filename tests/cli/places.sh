# SPDX-License-Identifier: BSD-2-Clause
# Page and line of what was kept, the best first; sentences, although single tokens are kept.
{
    for page in 1 2 3; do
        for i in 1 2 3 4 5; do echo "Page $page has cat $i, which sat"; echo "on mat $((page * i)). Then it left."; done
        printf '\f'
    done
    printf 'The last page has\nno mat at all.\n'
} >pages
gemkv ask -f pages -k 96 -n 1 "Where is cat 4 of page 2?" 2>err >/dev/null
sed -n 's/^  \(pages .*\), score.*/\1/p' err | grep -c -v '^pages p\. [1-4], lines* [0-9-]*$'
gemkv select -f pages -k 96 --json "Where is cat 4 of page 2?" >json
gemkv select -f pages -k 96 "Where is cat 4 of page 2?" 2>/dev/null | grep '^==>' | sed 's/, score .*//' >shown
gemkv select -f pages --method full --json "q" | grep -o '"page": .*' | sed 's/"text": .*//' | head -c 300
echo
command -v python3 >/dev/null || exit 0
python3 - <<'X'
import json
o = json.load(open("json", encoding="utf-8"))
pages = open("pages", encoding="utf-8").read().split("\f")
for k in o["kept"] + o["passages"]:
    first, last = k["lines"]
    if "page_end" in k:
        on = pages[k["page"] - 1].split("\n")[first - 1:] + pages[k["page_end"] - 1].split("\n")[:last]
    else:
        on = pages[k["page"] - 1].split("\n")[first - 1:last]
    assert k["text"].strip().replace("\f", "") in "\n".join(on), k
shown = open("shown", encoding="utf-8").read().split("\n")[:-1]
assert len(shown) == len(o["passages"]) > 3
for s, p in zip(shown, o["passages"]):
    lines = "lines %d-%d" % tuple(p["lines"]) if p["lines"][0] < p["lines"][1] else "line %d" % p["lines"][0]
    assert "page_end" in p or s == "==> pages p. %d, %s" % (p["page"], lines), (s, p)
    assert p["text"].endswith((".", "left.")) and p["text"][0] in "PTo", p
X
