#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Rows for `gemkv eval qa` with questions that take two sentences, which stand apart in a text.

    bench/two-hops.py [--rows 60] [--words 2700] [--seed 1] TEXT >rows.jsonl
    gemkv eval qa --data rows.jsonl --methods full,gemfilter,bm25

"The mighty globe belongs to Hiroshi Duval." and "The house of Hiroshi Duval is in Lion Hill."; "Where does the owner of the
mighty globe live?"  Facts are of the kinds of data/train/facts.py, with which the bundled model was trained; their names are drawn anew.  One to
three facts of the same kind mislead: a guess among these is right in the part of rows that is printed as chance."""
import argparse
import json
import os
import random
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "train"))
from facts import Facts

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--rows", type=int, default=60)
p.add_argument("--words", type=int, default=2700, help="of a text")
p.add_argument("--seed", type=int, default=1)
p.add_argument("text")
a = p.parse_args()
rng = random.Random(a.seed)
facts = Facts(rng)
sentences = re.split(r"(?<=[.!?]) +", " ".join(open(a.text, encoding="utf-8").read().split()))
chance = 0
for i in range(a.rows):
    said, questions, others = facts.two()
    chance += 1 / (1 + len(others))
    begin, some, n = rng.randrange(len(sentences)), [], 0
    while n < a.words:
        some.append(sentences[(begin + len(some)) % len(sentences)])
        n += len(some[-1].split())
    for s in [*said, *(s for other in others for s in other)]:
        some.insert(rng.randrange(len(some) + 1), s)
    question, answer = rng.choice(questions)
    print(json.dumps({"id": "two-%d" % i, "context": " ".join(some), "question": question, "answers": [answer.rstrip(".")]}))
print("chance: %.0f %%" % (100 * chance / a.rows), file=sys.stderr)
