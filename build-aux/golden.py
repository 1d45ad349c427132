#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Copy the cases that gemkv covers out of the NumPy oracle's golden vectors.

    build-aux/golden.py ../shared/oracle/golden tests/files/golden

Same text form, offsets renumbered; the models are the oracle's own (F16, random)."""
import shutil
import sys

SRC, DST = sys.argv[1], sys.argv[2]
MODELS = ("llama3", "mistral")          # architecture llama: rope_freqs; linear scaling
METHODS = ("full", "truncate", "gemfilter", "gemfilter-max", "gemfilter-nopool", "gemfilter-keep", "gemfilter-mid",
           "gemfilter-maxnorm",
           "stream-true", "stream-common", "stream-chunk", "gemfilter-one-run", "snapkv", "snapkv-q-max", "h2o",
           "h2o-dynamic", "streaming", "streaming-online",
           "streaming-repos", "fastkv", "fastkv-avg", "fastkv-len", "asl", "asl-fullkv", "asl-early",
           "asl-2pass", "asl-2pass-gem", "pyramidinfer", "finch", "finch-nonorm", "finch-kv",
           "finch-exact", "finch-one-chunk")
SIZE = {"logits": 4, "scores": 4, "sel": 2}     # bytes per element

blob = open(SRC + "/cases.bin", "rb").read()
out, data, wanted = [], bytearray(), False
for line in open(SRC + "/cases.txt"):
    f = line.split()
    if f[0] == "prompt":
        if f[1] in MODELS:
            out.append(line)
    elif f[0] == "case":
        wanted = f[1] in MODELS and f[3] in METHODS
        if wanted:
            out.append(line)
    elif wanted:
        if f[0] in SIZE:
            off, n = int(f[-2]), int(f[-1])
            f[-2] = str(len(data))
            data += blob[off:off + n * SIZE[f[0]]]
            line = " ".join(f) + "\n"
        out.append(line)
open(DST + "/cases.txt", "w").writelines(out)
open(DST + "/cases.bin", "wb").write(data)
for m in MODELS:
    shutil.copy(SRC + "/models/%s.gguf" % m, DST)
