#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Does a method keep the needle, or the answer of SQuAD?  Says nothing of what the model makes of it, so it works with
questions that are too hard for the model.

    gemkv eval niah --needles bench/needles-free.json --lengths 4096 --samples 20 --depths 50 --rows rows.jsonl
    bench/kept.py -m MODEL --needles bench/needles-free.json rows.jsonl gemfilter "gemfilter --schedule stream" bm25
    bench/kept.py --squad dev-v2.0.json rows-of-from-squad.jsonl gemfilter bm25

Asks `gemkv select` about each row and prints, for each method, in how many rows all of the answer, in the needle's
sentence or in the question's paragraph, was kept, the mean part of this sentence or paragraph, the number of pieces
kept, and the seconds of the first pass.  A method may have options behind it."""
import argparse
import json
import subprocess
import tempfile

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--gemkv", default="gemkv")
p.add_argument("-m", dest="model")
p.add_argument("-k", dest="keep", default="1024")
source = p.add_mutually_exclusive_group(required=True)
source.add_argument("--needles")
source.add_argument("--squad")
p.add_argument("rows")
p.add_argument("methods", nargs="+")
a = p.parse_args()
places = {}                     # of a question: where the answer may be, and the answers
if a.needles:
    for n in json.load(open(a.needles, encoding="utf-8")):
        places[n["question"]] = n["needle"], [next(s for s in n["answers"] if s in n["needle"])]
else:
    for d in json.load(open(a.squad, encoding="utf-8"))["data"]:
        for par in d["paragraphs"]:
            for q in par["qas"]:
                texts = [x["text"] for x in q.get("answers", [])]
                places[q["id"]] = par["context"], [t for t in texts if t in par["context"]]
rows = [json.loads(line) for line in open(a.rows, encoding="utf-8")]


def covered(kept, at, size):
    return sum(max(0, min(k["end"], at + size) - max(k["start"], at)) for k in kept) / size


for method in a.methods:
    answers = part = pieces = seconds = 0
    for r in rows:
        where, texts = places[r["question"] if a.needles else r["id"]]
        text, where = r["context"].encode(), where.encode()
        at = text.index(where)
        with tempfile.NamedTemporaryFile(suffix=".txt") as f:
            f.write(text)
            f.flush()
            command = [a.gemkv, "select", "--json", "-k", a.keep, "-f", f.name, "--method"] + method.split()
            out = subprocess.run(command + (["-m", a.model] if a.model else []) + [r["question"]], check=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        found = json.loads(out)
        spans = [(at + where.index(s.encode()), len(s.encode())) for s in texts]
        answers += any(covered(found["kept"], *s) == 1 for s in spans)
        part += covered(found["kept"], at, len(where))
        pieces += len(found["kept"])
        seconds += found["seconds"]["first"]
    print("%s: %d of %d answers, %.0f %% of their surroundings, %.0f pieces, %.1f s a row"
          % (method, answers, len(rows), 100 * part / len(rows), pieces / len(rows), seconds / len(rows)), flush=True)
