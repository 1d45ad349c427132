#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Needles in novels: what each way of running keeps and answers.

    bench/needle.py [options] --needles FILE --haystack FILE[,FILE...] -- WAY [WAY...]

A WAY is a string of options of `gemkv ask`, such as "--schedule stream:budget=4096".  For each
length (tokens, about) and depth a needle is laid into the text at a sentence's end, and each way is
asked its question.  A line per length and way: how many answers contain the right one, in how
many selections the right one can be read, seconds of the first pass, largest memory.

FILE of needles: [{"needle", "question", "answers": [...]}, ...], or an object that has such a list.
"""
import argparse
import json
import os
import re
import shlex
import subprocess

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--gemkv", default=os.environ.get("GEMKV", "./gemkv"))
p.add_argument("--needles", required=True)
p.add_argument("--haystack", required=True)
p.add_argument("--lengths", default="8192")
p.add_argument("--depths", default="0,11,22,33,44,56,67,78,89,100")
p.add_argument("--boundary", type=int, metavar="STEP", help="instead of depths: lay needles so that "
               "they straddle every multiple of STEP tokens, as near as whole sentences allow")
p.add_argument("--select", action="store_true", help="gemkv select: no answers")
p.add_argument("--bytes-per-token", type=float, default=4.35)
p.add_argument("-v", action="store_true", help="a line per question")
p.add_argument("way", nargs="+")
a = p.parse_args()

needles = json.load(open(a.needles, encoding="utf-8"))
if isinstance(needles, dict):
    needles = next(v for v in needles.values() if isinstance(v, list) and v and "needle" in v[0])
novels = "\n\n".join(open(f, encoding="utf-8").read() for f in a.haystack.split(","))
ends = [m.end() for m in re.finditer(r"[.!?][”\"’']?(?=\s)", novels)]


def normal(s):
    s = re.sub(r"[^\w\s]", "", s.lower())
    return " ".join(w for w in s.split() if w not in ("a", "an", "the"))


def document(length, at, needle):
    """Text of about length tokens, the needle at the sentence end nearest to character at."""
    size = int(length * a.bytes_per_token) - len(needle)
    at = min([0] + [e for e in ends if e <= size], key=lambda e: abs(e - at))
    text = novels[:at] + (" " if at else "") + needle + novels[at:size]
    return text, len(text[:at + (1 if at else 0)].encode())


def ask(way, text, question):
    command = [a.gemkv, "select" if a.select else "ask", "-q", "--json"] + shlex.split(way) + ["-f", "-", question]
    r = subprocess.run(command, input=text.encode(), stdout=subprocess.PIPE, check=True)
    return json.loads(r.stdout)


count = 0
print("%8s  %-44s %8s %8s %9s %9s" % ("tokens", "way", "answers", "kept", "first s", "MB"))
for length in map(int, a.lengths.split(",")):
    if a.boundary:
        places = [i * a.bytes_per_token for i in range(a.boundary, length, a.boundary)]
    else:
        places = [float(d) / 100 * length * a.bytes_per_token for d in a.depths.split(",")]
    sums = {way: [0, 0, 0.0, 0, 0] for way in a.way}
    for at in places:
        n = needles[count % len(needles)]
        count += 1
        text, start = document(length, at, n["needle"])
        spans = [(start + len(n["needle"][:i].encode()), len(x.encode()))
                 for x in n["answers"] for i in [n["needle"].find(x)] if i >= 0]
        for way in a.way:
            r = ask(way, text, n["question"])
            right = any(" %s " % normal(x) in " %s " % normal(r.get("answer", "")) for x in n["answers"])
            held = any(k["start"] <= i and i + size <= k["end"] for k in r["kept"] for i, size in spans)
            s = sums[way]
            s[0] += right
            s[1] += held
            s[2] += r["seconds"]["first"]
            s[3] = max(s[3], r["memory"]["peak"])
            s[4] = r["tokens"]["prompt"]
            if a.v:
                print("# %d at %d, %s: %s %s %r" % (r["tokens"]["prompt"], at, way, right, held, r.get("answer")), flush=True)
    for way, s in sums.items():
        print("%8d  %-44s %4d/%-3d %4d/%-3d %9.1f %9.0f" % (s[4], way, s[0], len(places), s[1], len(places),
                                                       s[2] / len(places), s[3] / 1e6), flush=True)
