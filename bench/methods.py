#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""methods.py GEMKV RESULT.json - time to first token beside what the methods' operations predict

    gemkv bench -m model.gguf -f document --json >result.json
    bench/methods.py ./gemkv result.json

Operations are those of the papers' methods (multiply-adds, causal halves counted as such), for the
model and the tokens in the result; ratios are to the first method.  Where a method's work depends
on the text, the layer it chose and the size of its cache say how much there was.  Scores of an
observation window are left out, those of many rows (h2o, pyramidinfer) counted.  The last column
is measured / predicted: a ratio above 1 is time that operations do not explain."""
import json
import subprocess
import sys

gemkv, path = sys.argv[1:]
result = json.load(open(path))
model = json.loads(subprocess.run([gemkv, "info", "--json", "-m", result[0]["model"]], check=True,
                                  capture_output=True, text=True).stdout)
L, d, F = model["layers"], model["embedding"], model["feed_forward"]
H, G, D = model["heads"], model["heads_kv"], model["head_dim"]
linear = d * (H + 2 * G) * D + H * D * d + 3 * d * F


def layer(n):
    """n tokens through one layer."""
    return n * linear + products(n, n)


def products(rows, n):
    """q k and p v of the last rows of n tokens."""
    return 2 * rows * (n - rows / 2) * H * D


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
    return L * (rows * linear + 2 * rows * (k / 2 + (m + q) / 2) * H * D)


model_of = {"full": full, "truncate": truncate, "gemfilter": gemfilter, "gemfilter-onerun": full,
            "snapkv": full, "h2o": h2o, "streamingllm": full, "pyramidinfer": pyramidinfer,
            "fastkv": fastkv, "asl": asl, "asl-2pass": asl_2pass, "finch": finch}
first = None
print("%-20s %8s %10s %10s %10s" % ("method", "layer", "measured", "predicted", "m / p"))
for r in result:
    name = r["method"].partition(":")[0]
    work = model_of[name](r["tokens"]["prompt"], r["tokens"]["kept"], r["layer"], parameters(r["parameters"]),
                          r["memory"]["kv"]["ratio"])
    first = first or work
    measured, predicted = r["seconds"]["ttft"]["ratio"], work / first
    print("%-20s %8s %10.3f %10.3f %10.2f" % (r["method"], "-" if r["layer"] is None else r["layer"], measured,
                                              predicted, measured / predicted))
