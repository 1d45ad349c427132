# SPDX-License-Identifier: BSD-2-Clause
# Rows are as their tasks say: needles at the right places, counts, chains, values.
command -v python3 >/dev/null || skip "no python3"
awk 'BEGIN {
    for (i = 0; i < 600; i++) {
        w = ""
        for (j = 0; j < 5; j++)
            w = w sprintf("%c", 97 + int(i / 3 ^ j) % 26)
        printf "Sentence %d has the words %s and cat. ", i, w
    }
}' >hay
cat >needles <<'N'
[{"id": "key", "needle": "The pass key is 48213.", "question": "What is the pass key?", "answers": ["48213"]}]
N
cat >squad <<'S'
{"data": [{"paragraphs": [
  {"context": "The cat sat.", "qas": [{"question": "Who sat?", "answers": [{"text": "cat"}]}]},
  {"context": "The hat hung.", "qas": [{"question": "What hung?", "answers": [{"text": "hat"}]}]},
  {"context": "The rat ran.", "qas": []}]}]}
S
gemkv eval niah --haystack hay --needles needles --lengths 400,900 --depths 0,30,100 --rows niah
gemkv eval ruler --haystack hay --squad squad --lengths 2600,6000 --samples 1 --rows ruler 2>/dev/null
gemkv eval ruler --haystack hay --squad squad --lengths 2600,6000 --samples 1 --seed 1 --rows ruler1 2>/dev/null
gemkv eval kv --kinds kv,passkey,number,math.find --lengths 900 --depths 0,50,100 --samples 5 --rows kv
cat >check.py <<'P'
import collections, json, re
rows = lambda f: [json.loads(l) for l in open(f, encoding="utf-8")]

for r in rows("niah"):
    at, n = r["context"].index("The pass key is 48213."), len(r["context"])
    assert abs(at / (n - 22) * 100 - r["depth"]) < 6, (r["id"], at, n)
    assert r["context"].count("48213") == 1

for f in ("ruler", "ruler1"):
    for r in rows(f):
        t, text, a = r["task"], r["context"], r["answers"]
        if t.startswith("niah"):
            needles = {}
            for kind, key, value in re.findall(r"One of the special magic (\w+) for (\S+) is: (\S+)\.", text):
                needles.setdefault(key, []).append(value)
            asked = [k for k in needles if re.search(r"\b%s\b" % re.escape(k), r["question"])]
            assert sorted(v for k in asked for v in needles[k]) == sorted(a), r["id"]
            assert len(a) == (4 if t in ("niah_multivalue", "niah_multiquery") else 1)
            assert len(needles) == (4 if t in ("niah_multikey_1", "niah_multiquery") else 1) or \
                t in ("niah_multikey_2", "niah_multikey_3") and len(needles) > 12, (t, len(needles))
            assert all(re.fullmatch(r"\d{7}|[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", v)
                       for vs in needles.values() for v in vs)
        elif t == "vt":
            value = re.search(r"value (\d{5})", r["question"]).group(1)
            found = []
            for name, what in re.findall(r"VAR ([A-Z]{5}) = (?:VAR )?(\w+)\.", text):
                assert what == (found[-1] if found else value)
                found.append(name)
            assert found == a and len(a) == 5
        elif t == "cwe":
            often, seldom = (30, 3) if r["length"] >= 4096 else (6, 1)
            count = collections.Counter(re.findall(r"\d+\. ([a-z-]+)", text.rsplit("\n", 1)[1]))
            assert sorted(w for w in count if count[w] == often) == sorted(a)
            assert set(count.values()) == {often, seldom}
        elif t == "fwe":
            count = collections.Counter(text.split("\n\n")[1].split())
            best = [w for w, _ in count.most_common(4)]
            assert best[0] == "..." and best[1:] == a, (best, a)
            assert count[a[0]] > count[a[1]] > count[a[2]] > count.most_common(5)[4][1]
        else:
            assert any(x in text for x in a) and text.count("Document ") == 3, text
print(len({r["task"] for r in rows("ruler")}), "tasks of RULER")
print(sum(a != b for a, b in zip(rows("ruler"), rows("ruler1"))), "rows are other ones with another seed")

for r in rows("kv"):
    t, text, (a,) = r["task"], r["context"], r["answers"]
    if t == "kv":
        pairs = json.loads(text)
        key = re.search(r'"([0-9a-f-]{36})"', r["question"]).group(1)
        assert pairs[key] == a
        assert abs(list(pairs).index(key) / (len(pairs) - 1) * 100 - r["depth"]) < 5
    elif t == "math.find":
        v, q = sorted(json.loads(text)), r["question"]
        want = v[len(v) // 2] if "median" in q else v[-2 if "second largest" in q else -1] \
            if "largest" in q else v[1 if "second" in q else 0]
        assert str(want) == a and len(set(v)) == len(v)
    else:
        assert text.count(a) == 2 and text.count("grass") > 2
        body = text.split("\n\n", 1)[1]
        hidden = body[body.rindex("The ", 0, body.index(a)):body.rindex(a)]
        assert abs(body.index(hidden) / (len(body) - len(hidden) - 20) * 100 - r["depth"]) < 15
print(len(rows("kv")), "rows of keys, pass keys and numbers")
P
python3 check.py
# and eval qa takes them: prompts of the same length
gemkv eval niah -t 1 -k 96 -n 4 --haystack hay --needles needles --lengths 400 --depths 30 --csv | cut -d, -f16 >a
grep 400-30 niah >one
gemkv eval qa -t 1 -k 96 -n 4 --data one --csv | cut -d, -f16 | cmp - a && echo "the same prompt"
t eval niah --haystack hay --needles needles --rows nowhere/rows
