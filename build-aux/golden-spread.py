#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""How far one computation with errors may lie from the root mean square of others: what NEAR in tests/golden.c is
derived from.  Reads what golden-rounding.py wrote of the oracle; no number of the engine takes part.

    build-aux/golden-spread.py tests/files/golden

Each case was computed by m members with errors of their own.  If the squared error of a member has nu degrees of
freedom, the largest of m divided by the root mean square of all shows nu; a further member divided by that root mean
square has the square root of an F distribution of nu and m nu degrees.  Prints, for each form and m: cases in which
all members kept the oracle's selection, nu, the largest members divided by the root mean square of the others, and
the quantiles of F for 1 in 1,000, 10,000 and 100,000."""
import collections
import math
import random
import sys

DST = sys.argv[1]
MEMBERS = {200: 8, 333: 8, 600: 4}              # as in golden-rounding.py
QUANTILES = .999, .9999, .99999


def lines(name):
    return [line.split() for line in open("%s/%s.txt" % (DST, name))]


def chi(nu):
    return random.gammavariate(nu / 2, 2) / nu


def largest(nu, m, n=4000):
    """The mean of the largest of m, divided by their root mean square."""
    v = [[chi(nu) for _ in range(m)] for _ in range(n)]
    return sum(math.sqrt(max(x) * m / sum(x)) for x in v) / n


def quantiles(nu, m, n=300000):
    v = sorted(math.sqrt(chi(nu) / chi(nu * m)) for _ in range(n))
    return [v[int(n * q)] for q in QUANTILES]


def main():
    random.seed(1)
    tokens = {(f[1], f[2]): int(f[3]) for name in ("heads", "arch", "cases") for f in lines(name) if f[0] == "prompt"}
    ratios = collections.defaultdict(list)
    for model, prompt, _, form, near, _, _, swaps, far in lines("rounding"):
        if int(swaps) == 0 and float(near) > 0:
            ratios[form, MEMBERS[tokens[model, prompt]]].append(float(far) / float(near))
    for (form, m), v in sorted(ratios.items()):
        mean = sum(v) / len(v)
        nu = min((2, 4, 6, 8, 10, 12, 16, 20, 30, 40), key=lambda nu: abs(largest(nu, m) - mean))
        out = sorted((math.sqrt(r * r * (m - 1) / (m - r * r)) for r in v), reverse=True)[:4]
        print("%s, %d members: %d cases, nu %d, largest of the others' %s" %
              (form, m, len(v), nu, " ".join("%.2f" % x for x in out)))
    for nu in 8, 12, 16:
        for m in 4, 8:
            print("nu %d, %d members: %s" % (nu, m, " ".join("%.2f" % x for x in quantiles(nu, m))))


main()
