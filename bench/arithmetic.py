#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""How much the default arithmetic changes: which tokens are kept, and what is answered, beside 32 bits everywhere.

    bench/arithmetic.py --gemkv ./gemkv [-m MODEL]... [--lengths 1024] [--samples 8] [--methods gemfilter,snapkv,...]

Asks about needles in the bundled book, as `gemkv eval niah` makes them, with all values in 32 bits (--gemm exact, --cpu
avx512, whose attention is in 32 bits, --kv-type f32), and then with one thing at a time as rounded as it is by
default or by option.  Prints for each method how much of the text kept in 32 bits is kept,
too, in the mean and in the worst row, and how many answers are the same to the letter.  --select compares no answers,
for models with random weights.  Processors without AMX have no attention in bf16, and that line is as in 32 bits."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import rows as sets

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--gemkv", default="gemkv")
p.add_argument("-m", dest="model", action="append", metavar="MODEL", help="may be given several times")
p.add_argument("-k", dest="keep", default="20%")
p.add_argument("-n", dest="max_tokens", default="16", help="tokens of an answer (16)")
p.add_argument("--methods", default="gemfilter,asl-2pass,snapkv,h2o,fastkv,finch")
p.add_argument("--lengths", default="1024")
p.add_argument("--samples", default="8")
p.add_argument("--select", action="store_true")
a = p.parse_args()


def gemkv(*command):
    done = subprocess.run([a.gemkv, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        sys.exit("%s: exit status %d\n%s" % (" ".join(command), done.returncode, done.stderr.decode()))
    return done.stdout


EXACT = {"--gemm": "exact", "--cpu": "avx512", "--kv-type": "f32"}
WAYS = [("products with 8-bit activations", {**EXACT, "--gemm": "own"}),
        ("attention in bf16", {**EXACT, "--cpu": "amx"}),
        ("keys and values in f16", {**EXACT, "--kv-type": "f16"}),
        ("keys and values in q8_0", {**EXACT, "--kv-type": "q8_0"}),
        ("the defaults (AMX: bf16 products)", {}),
        ("the defaults, q8_0", {"--kv-type": "q8_0"})]


def asked(model, file, question, method, options):
    out = json.loads(gemkv("select" if a.select else "ask", "--json", "-f", file, "-k", a.keep, "--method", method,
                           *([] if a.select else ["-n", a.max_tokens]), *[x for o in options.items() for x in o],
                           *(["-m", model] if model else []), question))
    return {i for k in out["kept"] for i in range(k["start"], k["end"])}, out.get("answer")


print("%-24s %-10s %-34s %6s %6s  %s" % ("model", "method", "", "mean", "worst", "answers the same"))
for model in a.model or [None]:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.jsonl")
        gemkv("eval", "niah", "--lengths", a.lengths, "--samples", a.samples, "--depths", "50", "--rows", path,
              *(["-m", model] if model else []))
        files = []
        for i, row in enumerate(sets.lines(path)):
            files.append((os.path.join(folder, "%d.txt" % i), row["question"]))
            with open(files[-1][0], "w", encoding="utf-8") as f:
                f.write(row["context"])
        for method in a.methods.split(","):
            exact = [asked(model, *f, method, EXACT) for f in files]
            for name, options in WAYS:
                share, same = [], 0
                for f, (kept, answer) in zip(files, exact):
                    now, text = asked(model, *f, method, options)
                    share.append(100 * len(kept & now) / max(1, len(kept)))
                    same += text == answer
                called = os.path.basename(model or "the bundled one")
                print("%-24s %-10s %-34s %6.1f %6.1f  %s"
                      % (called, method, name, sum(share) / len(share), min(share),
                         "-" if a.select else "%d of %d" % (same, len(files))), flush=True)
