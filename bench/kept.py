#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Does a method keep the needle?  Says nothing of what the model makes of it, so it works with questions that are too
hard for the model.

    gemkv eval niah --needles bench/needles-free.json --lengths 4096 --samples 20 --depths 50 --rows rows.jsonl
    bench/kept.py --gemkv ./gemkv -m MODEL -k 1024 --needles bench/needles-free.json rows.jsonl gemfilter "gemfilter --schedule stream" bm25

Asks `gemkv select` about each row and prints, for each method, how many rows have the answer, in the needle's sentence, among
the passages kept, and the seconds of the first pass.  A method may have options behind it."""
import argparse
import json
import subprocess
import tempfile

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--gemkv", default="gemkv")
p.add_argument("-m", dest="model")
p.add_argument("-k", dest="keep", default="1024")
p.add_argument("--needles", required=True)
p.add_argument("rows")
p.add_argument("methods", nargs="+")
a = p.parse_args()
needle_of = {n["question"]: n for n in json.load(open(a.needles, encoding="utf-8"))}
rows = [json.loads(line) for line in open(a.rows, encoding="utf-8")]
for method in a.methods:
    kept = seconds = 0
    for r in rows:
        n = needle_of[r["question"]]
        text, needle = r["context"].encode(), n["needle"].encode()
        answer = next(s.encode() for s in n["answers"] if s in n["needle"])
        at = text.index(needle) + needle.index(answer)
        with tempfile.NamedTemporaryFile(suffix=".txt") as f:
            f.write(text)
            f.flush()
            command = [a.gemkv, "select", "--json", "-k", a.keep, "-f", f.name, "--method"] + method.split()
            out = subprocess.run(command + (["-m", a.model] if a.model else []) + [r["question"]], check=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        found = json.loads(out)
        covered = sum(max(0, min(k["end"], at + len(answer)) - max(k["start"], at)) for k in found["kept"])
        kept += covered == len(answer)
        seconds += found["seconds"]["first"]
    print("%s: %d of %d needles, %.1f s a row" % (method, kept, len(rows), seconds / len(rows)), flush=True)
