#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Make the demonstration document: the first chapters of a novel, with facts inserted.

    build-aux/demo.py ../shared/eval/haystack/nesbit-the-prophets-mantle.txt > data/prophets-mantle.txt

The text ends before the chapter LAST.  Each fact becomes a sentence of its own at the end of the
paragraph nearest to its depth that has at least 300 bytes.  data/README.md lists the facts."""
import sys

LAST = "VENGEANCE ASTRAY"
FACTS = [
    (0.12, "The vault combination at Thornsett Bank is 48213."),
    (0.37, "Margaret Ellwood keeps the silver compass in the blue hatbox."),
    (0.63, "The code word for operation Kestrel is amber lantern."),
    (0.88, "The best thing to do in San Francisco is eat a sandwich and sit in Dolores Park on a sunny day."),
]

text = open(sys.argv[1], encoding="utf-8").read()
text = text[:text.index("\n" + LAST)].rstrip("\n") + "\n"
lines = text.split("\n")
starts, at = [], 0
for line in lines:
    starts.append(at)
    at += len(line) + 1
for depth, fact in FACTS:
    long = [i for i, line in enumerate(lines) if len(line) >= 300]
    best = min(long, key=lambda i: abs(starts[i] + len(lines[i]) - depth * at))
    lines[best] += " " + fact
sys.stdout.write("\n".join(lines))
