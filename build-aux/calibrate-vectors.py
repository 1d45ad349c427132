#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Write the NumPy oracle's results for each layer, for tests/unit-calibrate.c.

    build-aux/calibrate-vectors.py ../shared/oracle/golden >tests/files/golden/calibrate.txt

A line "choice MODEL PROMPT K FROM TO" has, per layer, whether the best K tokens cover FROM .. TO - 1,
and the distance of the nearest of them; "tsp MODEL PROMPT TOKENS WINDOW KERNEL" has, per layer, the
error of FastKV's equation 3 with average pooling."""
import json
import sys

for c in json.load(open(sys.argv[1] + "/cases.json"))["cases"]:
    p = c["params"]
    if c["model"] not in ("llama3", "mistral"):
        continue
    if c["method"] == "gemfilter-layer-choice":
        print("choice", c["model"], c["prompt"], p["k"], p["needle"][0], p["needle"][-1] + 1,
              *[int(x) for x in c["covered"]], *c["distance"])
    if c["method"] == "fastkv-calibrate":
        print("tsp", c["model"], c["prompt"], p["tsp_len"], p["window"], p["kernel"], *c["errors"])
