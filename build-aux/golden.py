#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Copy the cases of the NumPy oracle's golden vectors.

    build-aux/golden.py ../shared/oracle/golden tests/files/golden

The text format stays the same, without fields that no test reads; the models are the oracle's own (F16,
random)."""
import shutil
import sys

SRC, DST = sys.argv[1], sys.argv[2]
# The oracle's models; those that golden-arch.py makes too, smaller, get other names here.
MODELS = {"llama3": "llama3", "mistral": "mistral", "qwen2": "qwen2-8", "qwen3yarn": "qwen3yarn-8", "phi3": "phi3-8"}
SIZE = {"logits": 4, "scores": 4, "sel": 2}     # bytes per element

blob = open(SRC + "/cases.bin", "rb").read()
out, data = [], bytearray()
for line in open(SRC + "/cases.txt"):
    f = line.split()
    if f[0] in ("prompt", "case"):
        f[1] = MODELS[f[1]]
    elif f[0] in SIZE:
        off, n = int(f[-2]), int(f[-1])
        f[-2] = str(len(data))
        data += blob[off:off + n * SIZE[f[0]]]
    elif f[0] not in ("tokens", "end"):
        continue
    out.append(" ".join(f) + "\n")
open(DST + "/cases.txt", "w").writelines(out)
open(DST + "/cases.bin", "wb").write(data)
for m, to in MODELS.items():
    shutil.copyfile("%s/models/%s.gguf" % (SRC, m), "%s/%s.gguf" % (DST, to))
