#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""methods.py GEMKV RESULT.json - time to first token, compared with what the methods' operations predict

    gemkv bench -m model.gguf -f document --json >result.json
    bench/methods.py [--rate T] [-o FILE] ./gemkv result.json...

Operations are those of the papers' methods (multiply-adds, causal halves counted as such), for the
model and the tokens in the results; ratios are to the first method of the first file.  Where a method's work depends
on the text, the layer it chose and the size of its cache say how much there was.  Scores of an
observation window are left out, those of many rows (h2o, pyramidinfer) counted.  m / p above 1 is
time that operations do not explain.  The last columns are ratios too.

An operation of attention does not take as long as one of a projection: with integer weights twice as
long.  --rate T is the tokens per second of `gemkv bench -m model.gguf -p 512 -n 0`, nearly all
projections, in the same run; what the first result, of method full, takes beyond that is its attention's, and all
operations count by these two rates.  -o appends the figures to FILE, a table of results (record.py)."""
import argparse
import json
import os
import subprocess

import record

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--rate", type=float, metavar="T")
p.add_argument("-o", metavar="FILE")
p.add_argument("gemkv")
p.add_argument("result", nargs="+")
a = p.parse_args()
result = [r for path in a.result for line in open(path) if line.strip() for r in json.loads(line)]
model = json.loads(subprocess.run([a.gemkv, "info", "--json", "-m", result[0]["model"]], check=True,
                                  capture_output=True, text=True).stdout)
L, d, F = model["layers"], model["embedding"], model["feed_forward"]
H, G, D = model["heads"], model["heads_kv"], model["head_dim"]
linear = d * (H + 2 * G) * D + H * D * d + 3 * d * F
slower = 1
if a.rate:
    n = result[0]["tokens"]["prompt"]
    slower = (result[0]["seconds"]["ttft"]["median"] * a.rate / n - 1) * linear / (n * H * D)
print("an operation of attention counts %.2f times\n" % slower)


def layer(n):
    """n tokens through one layer."""
    return n * linear + products(n, n)


def products(rows, n):
    """q k and p v of the last rows of n tokens."""
    return slower * 2 * rows * (n - rows / 2) * H * D


def parameters(text):
    return {k: v for k, _, v in (p.partition("=") for p in text.split(",")) if k}


def full(n, k, at, p, cache):
    return L * layer(n)


def truncate(n, k, at, p, cache):
    return L * layer(k)


def gemfilter(n, k, at, p, cache):
    return at * layer(n) + n * d * G * D + L * layer(k)


def h2o(n, k, at, p, cache):
    return L * (layer(n) + products(n, n) / 2)


def pyramidinfer(n, k, at, p, cache):
    share = 1 - 2 * (1 - cache) if cache > 0.5 else 0       # in the last layers, falling evenly
    recent = float(p["recent"]) * n
    sizes = [n * (1 - (1 - share) * i / (L - 1)) for i in range(L)]
    return sum(layer(m) + products(min(recent, m), m) / 2 for m in sizes)


def fastkv(n, k, at, p, cache):
    on = int(p["tsp_len"]) or int(float(p["tsp_rate"]) * n)
    return (at + 1) * layer(n) + (L - at - 1) * layer(on)


def asl(n, k, at, p, cache):
    return full(n, k, at, p, cache) if at is None else (at + 1) * layer(n) + (L - at - 1) * layer(k)


def asl_2pass(n, k, at, p, cache):
    return (L if at is None else at + 1) * layer(n) + L * layer(k)


def finch(n, k, at, p, cache):
    """Each chunk sees what is kept so far, half of the budget on average, and itself; the question,
    some 32 tokens, comes along each time."""
    m, q = int(p["chunk"]), 32
    rows = n + q * n / m
    return L * (rows * linear + slower * 2 * rows * (k / 2 + (m + q) / 2) * H * D)


def online(n, k, at, p, cache):
    return L * (n * linear + slower * 2 * n * k * H * D)


model_of = {"full": full, "truncate": truncate, "gemfilter": gemfilter, "gemfilter-onerun": full,
            "snapkv": full, "h2o": h2o, "streamingllm": full, "streamingllm-online": online,
            "pyramidinfer": pyramidinfer, "fastkv": fastkv, "asl": asl, "asl-2pass": asl_2pass, "finch": finch}


def median(r, group, key):
    return r[group][key]["median"]


first = None
print("%-20s %6s %10s %10s %7s %10s %8s %8s" % ("method", "layer", "measured", "predicted", "m / p", "each token",
                                              "peak", "KV"))
for r in result:
    cache = median(r, "memory", "kv") / median(result[0], "memory", "kv")
    work = model_of[r["method"].partition(":")[0]](r["tokens"]["prompt"], r["tokens"]["kept"], r["layer"],
                                                   parameters(r["parameters"]), cache)
    first = first or work
    measured = median(r, "seconds", "ttft") / median(result[0], "seconds", "ttft")
    print("%-20s %6s %10.3f %10.3f %7.2f %10.2f %8.2f %8.3f" % (
        r["method"], "-" if r["layer"] is None else r["layer"], measured, work / first, measured * first / work,
        median(r, "seconds", "token") / median(result[0], "seconds", "token"),
        median(r, "memory", "peak") / median(result[0], "memory", "peak"), cache))
    if a.o:
        common = {"model": os.path.basename(r["model"]), "command": "gemkv bench -f DOCUMENT --methods ... --json",
                  "against": result[0]["method"]}
        for what, unit, group, key, scale, note in (
                ("first token", "s", "seconds", "ttft", 1, "operations predict %.3f" % (work / first)),
                ("each token", "ms", "seconds", "token", 1e3, ""),
                ("peak memory", "MB", "memory", "peak", 1e-6, ""), ("keys and values", "MB", "memory", "kv", 1e-6, "")):
            value, other = median(r, group, key) * scale, median(result[0], group, key) * scale
            record.append(a.o, what="method %s: %s" % (r["method"], what), value=value, unit=unit, against_value=other,
                          ratio=value / other, note=("%d tokens; %s" % (r["tokens"]["prompt"], note)).strip("; "),
                          **common)
