#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Needles in novels, or questions about long documents: what each way of running keeps and answers.

    bench/needle.py [options] --needles FILE --haystack FILE[,FILE...] -- WAY [WAY...]
    bench/needle.py [options] --rows FILE.jsonl -- WAY [WAY...]

A WAY is a string of options of `gemkv ask`, such as "--schedule stream:budget=4096".  For each
length (tokens, about) and depth a needle is put into the text at a sentence's end, and each way is
asked its question.  A line per length and way: how many answers contain the right one, how many
selections contain it, seconds of the first pass, largest memory.

FILE of needles: [{"needle", "question", "answers": [...]}, ...], or an object that has such a list.
Rows: {"context", "question", "answers": [...], "gold_byte_span": [start, end]}, one a line.
"""
import argparse
import json
import os
import re
import shlex
import subprocess
import sys

import record

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--gemkv", default=os.environ.get("GEMKV", "./gemkv"))
p.add_argument("--needles")
p.add_argument("--haystack")
p.add_argument("--rows")
p.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth row")
p.add_argument("--lengths", default="8192")
p.add_argument("--depths", default="0,11,22,33,44,56,67,78,89,100")
p.add_argument("--boundary", type=int, metavar="STEP", help="instead of depths: put needles so that "
               "they straddle every multiple of STEP tokens, as near as whole sentences allow")
p.add_argument("--select", action="store_true", help="gemkv select: no answers")
p.add_argument("--bytes-per-token", type=float, default=4.35)
p.add_argument("-o", metavar="FILE", help="append the figures to FILE, a table of results (record.py)")
p.add_argument("-v", action="store_true", help="a line per question")
p.add_argument("way", nargs="+")
a = p.parse_args()


def normal(s):
    s = re.sub(r"[^\w\s]", "", s.lower())
    return " ".join(w for w in s.split() if w not in ("a", "an", "the"))


def ask(way, text, question):
    command = [a.gemkv, "select" if a.select else "ask", "-q", "--json"] + shlex.split(way) + ["-f", "-", question]
    r = subprocess.run(command, input=text.encode(), stdout=subprocess.PIPE, check=True)
    return json.loads(r.stdout)


def from_rows():
    """One group of all rows: (text, question, answers, spans of bytes that have an answer)."""
    rows = [json.loads(line) for line in open(a.rows, encoding="utf-8")][::a.every]
    yield [(r["context"], r["question"], r["answers"], [r["gold_byte_span"]]) for r in rows]


def from_novels():
    """A group per length."""
    needles = json.load(open(a.needles, encoding="utf-8"))
    if isinstance(needles, dict):
        needles = next(v for v in needles.values() if isinstance(v, list) and v and "needle" in v[0])
    novels = "\n\n".join(open(f, encoding="utf-8").read() for f in a.haystack.split(","))
    ends = [m.end() for m in re.finditer(r"[.!?][”\"’']?(?=\s)", novels)]
    count = 0

    def document(length, at, n):
        """Text of about length tokens, the needle at the sentence end nearest to character at."""
        size = int(length * a.bytes_per_token) - len(n["needle"])
        at = min([0] + [e for e in ends if e <= size], key=lambda e: abs(e - at))
        before = novels[:at] + (" " if at else "")
        start = len(before.encode())
        spans = [(start + len(n["needle"][:i].encode()), start + len(n["needle"][:i].encode()) + len(x.encode()))
                 for x in n["answers"] for i in [n["needle"].find(x)] if i >= 0]
        return before + n["needle"] + novels[at:size], n["question"], n["answers"], spans

    for length in map(int, a.lengths.split(",")):
        if a.boundary:
            places = [i * a.bytes_per_token for i in range(a.boundary, length, a.boundary)]
        else:
            places = [float(d) / 100 * length * a.bytes_per_token for d in a.depths.split(",")]
        group = []
        for at in places:
            group.append(document(length, at, needles[count % len(needles)]))
            count += 1
        yield group


if bool(a.rows) == bool(a.needles and a.haystack):
    sys.exit("needle.py: either --rows, or --needles and --haystack")
print("%8s  %-44s %8s %8s %9s %9s" % ("tokens", "way", "answers", "kept", "first s", "MB"))
for group in from_rows() if a.rows else from_novels():
    sums = {way: [0, 0, 0.0, 0, 0] for way in a.way}
    for text, question, answers, spans in group:
        for way in a.way:
            r = ask(way, text, question)
            right = any(" %s " % normal(x) in " %s " % normal(r.get("answer", "")) for x in answers)
            held = any(k["start"] <= i and j <= k["end"] for k in r["kept"] for i, j in spans)
            s = sums[way]
            s[0] += right
            s[1] += held
            s[2] += r["seconds"]["first"]
            s[3] = max(s[3], r["memory"]["peak"])
            s[4] += r["tokens"]["prompt"]
            if a.v:
                where = "byte %d" % spans[0][0] if spans else "no one place"
                print("# %d tokens, answer at %s, %s: %s %s %r" % (r["tokens"]["prompt"], where, way, right, held,
                                                                   r.get("answer")), flush=True)
    n = len(group)
    for way, s in sums.items():
        print("%8d  %-44s %4d/%-3d %4d/%-3d %9.1f %9.0f" % (s[4] / n, way, s[0], n, s[1], n, s[2] / n, s[3] / 1e6),
              flush=True)
        if a.o:
            figures = [("in the selection", s[1], "rows"), ("first pass", s[2] / n, "s"), ("peak memory", s[3] / 1e6, "MB")]
            for what, value, unit in figures if a.select else [("right answers", s[0], "rows")] + figures:
                record.append(a.o, what="needle %s: %s" % (way, what), value=value, unit=unit,
                              command="bench/needle.py", note="%d rows of %d tokens" % (n, s[4] / n))
