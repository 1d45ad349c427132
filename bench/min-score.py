#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Does the best passage's score tell questions that a document answers from those that it does not?

    bench/min-score.py --gemkv ./gemkv -m model.gguf dev-v2.0.json

Asks the beginning of each article of SQuAD 2.0 questions of three kinds: answered there; written by people to look
as if they were (SQuAD's unanswerable ones); and answered in another article.  Prints for both kinds without an answer
the AUC, the chance that a question with an answer has the better score (0.5: it says nothing), and what --min-score
would refuse."""
import argparse
import json
import os
import random
import subprocess
import tempfile

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--gemkv", default="gemkv")
p.add_argument("-m", dest="model")
p.add_argument("--chars", type=int, default=4000, help="of each article")
p.add_argument("--questions", type=int, default=5, help="of each kind and article")
p.add_argument("--seed", type=int, default=1)
p.add_argument("file")
a = p.parse_args()
rng = random.Random(a.seed)


def asked(paragraphs, impossible):
    return [" ".join(q["question"].split()) for par in paragraphs for q in par["qas"] if q["is_impossible"] == impossible]


def draw(questions):
    return rng.sample(questions, min(a.questions, len(questions)))


def scores(text, questions):
    with tempfile.TemporaryDirectory() as d:
        doc, ask = os.path.join(d, "text"), os.path.join(d, "questions")
        with open(doc, "w", encoding="utf-8") as f:
            f.write(text)
        with open(ask, "w", encoding="utf-8") as f:
            f.writelines(q + "\n" for q in questions)
        model = ["-m", a.model] if a.model else []
        out = subprocess.run([a.gemkv, "select", "--json", "-k", "256", "-f", doc, "--questions", ask] + model,
                             check=True, stdout=subprocess.PIPE).stdout.decode()
    return [max(k["score"] for k in json.loads(line)["kept"]) for line in out.splitlines()]


def auc(yes, no):
    return sum((y > n) + 0.5 * (y == n) for y in yes for n in no) / (len(yes) * len(no))


articles = []
for art in json.load(open(a.file, encoding="utf-8"))["data"]:
    text, inside = art["title"].replace("_", " ") + "\n\n", []
    for par in art["paragraphs"]:
        if len(text) + len(par["context"]) > a.chars:
            break
        text += par["context"] + "\n\n"
        inside.append(par)
    articles.append((text, asked(inside, False), asked(inside, True)))

found = {"answered": [], "unanswerable": [], "foreign": []}
for i, (text, yes, no) in enumerate(articles):
    foreign = [q for j, (_, other, _) in enumerate(articles) if j != i for q in other]
    kinds = {"answered": draw(yes), "unanswerable": draw(no), "foreign": draw(foreign)}
    got = iter(scores(text, sum(kinds.values(), [])))
    for kind, questions in kinds.items():
        found[kind] += [next(got) for _ in questions]

for kind in ("unanswerable", "foreign"):
    print("answered (%d) against %s (%d): AUC %.2f" % (len(found["answered"]), kind, len(found[kind]),
                                                       auc(found["answered"], found[kind])))
print("\n--min-score  refused: " + "  ".join(found))
for wrong in (0.02, 0.05, 0.1, 0.2):
    least = sorted(found["answered"])[int(wrong * len(found["answered"]))]
    print("%11.1f           " % least + "".join("%*.0f %%" % (len(kind), 100 * sum(s < least for s in found[kind]) / len(found[kind]))
                                               for kind in found))
