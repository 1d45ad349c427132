#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""SQuAD as rows for `gemkv eval qa`: long documents of several articles.

    bench/from-squad.py --words 8000 --questions 100 dev-v2.0.json >squad.jsonl
    gemkv eval qa --data squad.jsonl --methods full,gemfilter,truncate

Each row has one question, the article that answers it and others in random order up to about so many
words, a title line and its paragraphs each.  Questions without an answer are left out, unless --all: then rows are
scored by SQuAD 2.0's F1, in groups HasAns and NoAns, and a refusal counts as no answer."""
import argparse
import json
import random

import rows

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--words", type=int, default=8000)
p.add_argument("--questions", type=int, default=100)
p.add_argument("--all", action="store_true", help="questions without an answer, too")
p.add_argument("--seed", type=int, default=0)
p.add_argument("file")
a = p.parse_args()

articles = []
for d in json.load(open(a.file, encoding="utf-8"))["data"]:
    text = d["title"].replace("_", " ") + "\n\n" + "\n\n".join(q["context"] for q in d["paragraphs"])
    asked = [q for par in d["paragraphs"] for q in par["qas"] if q.get("answers") or a.all]
    articles.append((text, len(text.split()), asked))

rng = random.Random(a.seed)
pool = [(i, q) for i, (_, _, asked) in enumerate(articles) for q in asked]
for i, q in rng.sample(pool, min(a.questions, len(pool))):
    chosen, words = [i], articles[i][1]
    for j in rng.sample(range(len(articles)), len(articles)):
        if j != i and words + articles[j][1] <= a.words:
            chosen.append(j)
            words += articles[j][1]
    rng.shuffle(chosen)
    answers = list(dict.fromkeys(x["text"] for x in q["answers"]))
    more = {"task": "HasAns" if answers else "NoAns", "metric": "squad-f1"} if a.all else {"task": "squad"}
    rows.write(q["id"], "\n\n\n".join(articles[j][0] for j in chosen), q["question"].strip(), answers or [""],
               length_words=words, **more)
