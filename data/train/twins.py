#!/usr/bin/env python3
"""Step 2c: questions that SQuAD's paragraphs do not answer, as somebody wrote them.

    python3 twins.py REPOSITORIES OUT

SQuAD 2.0's questions without an answer resemble questions that have one. PAIRS has 17,474 of them with the question
that each is like, in small letters and as tokens; its test part is SQuAD's development part and not used. Where
OUT/qa.jsonl has the question with an answer, its row receives the other one: "a" is empty, words are written as that
question and the paragraph write them.

MORE has whole paragraphs of SQuAD 1.1, five questions each. Those of the training part, which a question shows that a
row has, become rows of their own, source "squad". OUT/qa.jsonl is written anew.
"""

import json
import os
import re
import sys
from collections import Counter, defaultdict

from originals import place
from sources import Repository
from squad import untokenised

PAIRS, MORE = "haichao592/UnAnsQ", "EmptyCityJK/flan-response-evaluator"
SQUAD = "squad", "squad-wiki", "squad-fi-en"
KNOWN = 0.5  # share of a paragraph's questions that rows have


def simple(text):
    return re.sub(r"[^a-z0-9]", "", text.lower())


def pairs(repository):
    """{question with an answer, simplified: [questions without one, as tokens]}"""
    out = defaultdict(list)
    for part in ("train", "dev"):
        lists = [repository.read(f"QG/{part}-{kind}-questions.txt").split("\n") for kind in ("answerable", "unanswerable")]
        for a, b in zip(*lists):
            if a:
                out[simple(a.split("\t")[1])].append(b.split("\t")[1])
    return out


def written(tokens, *models):
    """Tokens in small letters as a sentence, with the capitals that the words have in models, the first one first."""
    forms = {}
    for text in models:
        seen = Counter(re.findall(r"\w+", text))
        for w, _ in seen.most_common():
            forms.setdefault(w.lower(), w)
    words = [forms.get(w, w) for w in tokens.rstrip(" ?.").split()]
    q = re.sub(r"(?<=\w) ([-/–]) (?=\w)", r"\1", untokenised(words))
    return q[:1].upper() + q[1:] + "?"


def more(repository, known):
    """Rows of MORE's paragraphs that belong to the training part."""
    have = {simple(r["context"]) for r in known}
    asked = {simple(q["q"]) for r in known for q in r["qas"] if q["a"]}
    for d in json.loads(repository.read("data/squad/train.json")):
        text, qas = d["context"].strip(), []
        if simple(text) in have or sum(simple(q["question"]) in asked for q in d["qas"]) < KNOWN * len(d["qas"]):
            continue
        for q in d["qas"]:
            s, e = place(text, q["answer"].strip(), q["question"])
            if s >= 0:
                qas.append({"q": q["question"].strip(), "a": text[s:e], "start": s})
        if qas:
            yield {"source": "squad", "title": "Text", "context": text, "held_out": False, "qas": qas}


def main():
    repositories, out = sys.argv[1:3]
    rows = [json.loads(line) for line in open(f"{out}/qa.jsonl")]
    rows += more(Repository(repositories, MORE), [r for r in rows if r["source"] in SQUAD])
    like, count, used = pairs(Repository(repositories, PAIRS)), Counter(rows=len(rows)), set()
    with open(f"{out}/qa.part", "w") as f:
        for r in rows:
            if r["source"] in SQUAD:
                for q in [q for q in r["qas"] if q["a"]]:
                    for tokens in like.get(simple(q["q"]), ()):
                        twin = written(tokens, q["q"][1:], r["context"])
                        if all(twin != x["q"] for x in r["qas"]):
                            r["qas"].append({"q": twin, "a": "", "start": -1})
                            count[r["source"]] += 1
                            used.add(tokens)
            f.write(json.dumps(r, ensure_ascii=False) + "\n")
    os.replace(f"{out}/qa.part", f"{out}/qa.jsonl")
    print(f"{len(used)} of {sum(map(len, like.values()))} questions without an answer:", dict(count))


if __name__ == "__main__":
    main()
