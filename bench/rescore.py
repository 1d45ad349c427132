#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Scores of the answers that `gemkv eval --out FILE` wrote, computed anew.

    bench/rescore.py FILE [METRIC]

Reads nothing but each line's "answer" and "answers", and says nothing of what gemkv itself found:
per method and metric the mean over its lines.  METRIC: only that one; "score": the line's own.  Not those that are a
data set's: to-official.py writes files for its script.
Rouge is as the package rouge-score has it, which is used when it is installed.
"""
import collections
import json
import re
import string
import sys

try:
    from rouge_score import rouge_scorer
    ROUGE_1 = rouge_scorer.RougeScorer(["rouge1"], use_stemmer=True)
    ROUGE_L = rouge_scorer.RougeScorer(["rougeL"], use_stemmer=False)
except ImportError:
    ROUGE_1 = ROUGE_L = None


def normal(s):
    s = "".join(c for c in s.lower() if c not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", s).split())


def f1(answer, ref):
    a, r = normal(answer).split(), normal(ref).split()
    same = sum((collections.Counter(a) & collections.Counter(r)).values())
    if not a or not r:
        return float(a == r)
    return 2 * same / (len(a) + len(r))


def scores(answer, refs):
    s = {
        "em": max(float(normal(answer) == normal(r)) for r in refs),
        "f1": max(f1(answer, r) for r in refs),
        "contains": max(float(" %s " % normal(r) in " %s " % normal(answer)) for r in refs),
        "all": sum(r.lower() in answer.lower() for r in refs) / len(refs),
        "part": max(float(r.lower() in answer.lower()) for r in refs),
    }
    if ROUGE_1:
        s["rouge-1"] = max(ROUGE_1.score(r, answer)["rouge1"].fmeasure for r in refs)
        s["rouge-l"] = max(ROUGE_L.score(r, answer)["rougeL"].fmeasure for r in refs)
    return s


sums = collections.defaultdict(lambda: collections.defaultdict(list))
for line in open(sys.argv[1], encoding="utf-8"):
    row = json.loads(line)
    found = scores(row["answer"], row["answers"])
    if row["metric"] in found:
        found["score"] = found[row["metric"]]
    for name, value in found.items():
        sums[row["method"]][name].append(value)
for method, metrics in sums.items():
    for name, values in metrics.items():
        if len(sys.argv) < 3 or name == sys.argv[2]:
            print("%s %s %.6f" % (method, name, sum(values) / len(values)))
