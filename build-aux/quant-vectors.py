#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Write the vectors of tests/unit-quant.c with gguf-py, an independent implementation.

    pip install gguf
    build-aux/quant-vectors.py tests/files/quant

Run it in the root of the source tree.  types.txt has name, number, block and bytes of each type.
TYPE.bin has blocks of random bits, each with a scale out of SCALES: the block, then for
each 32 of its weights the FNV-1a of their binary32 values, all little-endian.
decode.txt has the FNV-1a of all values of f16 and bf16 except NaNs, in order of their codes.
encode.txt has the FNV-1a of gguf-py's encoding of N floats of unit-quant.c's generator, for
the types that it can write.  grids.txt has the FNV-1a of the points of iq1 to iq3."""
import re
import sys

import gguf
import numpy as np
from gguf.quants import dequantize, quantize

ROW = re.compile(r"X\(([A-Z]\w+), +(\w+),.*?(?:(?:, u[78], +\d+, ([01]), [01])?, \((.*)\))?\) *\\?$")
SPREAD = -1
SIZE = {"uint16_t": 2, "uint8_t": 1, "int8_t": 1}


def rows(path):                 # rows of types.h: name, offsets of the f16 numbers in a block
    for line in open(path):
        match = ROW.match(line.strip())
        if match:
            _, name, least, layout = match.groups()
            if layout and "uint8_t d," in layout:        # a power of two, not an f16
                yield name, []
                continue
            if name == "iq1_m":                              # spread over four numbers
                yield name, [SPREAD]
                continue
            yield name, layout and [place_of_d(layout) + 2 * i for i in range(1 + int(least or 0))]


def place_of_d(layout):
    at = 0
    for kind, members in re.findall(r"(\w+) ([^;]+);", layout):
        for member in members.split(", "):
            name, count = re.match(r"(\w+)(?:\[(\d+)\])?$", member).groups()
            if name == "d":
                return at
            at += SIZE[kind] * int(count or 1)


# Ordinary, negative, largest, two subnormal ones, zeros of either sign.
SCALES = [0x2345, 0xa123, 0x7bff, 0xfbff, 0x0001, 0x83ff, 0x0000, 0x8000]
POWERS = [127, 120, 130, 0, 1, 2, 200, 250]
N = 32 * 256


def fnv(data):
    h = 0x811c9dc5
    for byte in data:
        h = (h ^ byte) * 0x01000193 & 0xffffffff
    return h


def splitmix(n):                # the upper halves, as in unit-quant.c
    state, out = 1, []
    for _ in range(n):
        state = state + 0x9e3779b97f4a7c15 & 0xffffffffffffffff
        x = (state ^ state >> 30) * 0xbf58476d1ce4e5b9 & 0xffffffffffffffff
        x = (x ^ x >> 27) * 0x94d049bb133111eb & 0xffffffffffffffff
        out.append(x >> 32)
    return np.array(out, dtype=np.uint32)


def main():
    rng = np.random.default_rng(1)
    types = dict(rows("src/quant/types.h"))
    with open(sys.argv[1] + "/types.txt", "w") as f:
        for name in types:
            kind = gguf.GGMLQuantizationType[name.upper()]
            f.write("%s %d %d %d\n" % (name, kind, *gguf.GGML_QUANT_SIZES[kind]))
    for name, at in types.items():
        if at is None:
            continue
        kind = gguf.GGMLQuantizationType[name.upper()]
        _, size = gguf.GGML_QUANT_SIZES[kind]
        blocks = rng.integers(0, 256, (len(SCALES), size), dtype=np.uint8)
        for j, offset in enumerate(at):         # the second number gets another scale
            for i, block in enumerate(blocks):
                d = np.array([SCALES[(i + 3 * j) % len(SCALES)]], dtype="<u2")
                if offset == SPREAD:
                    scale = block[-8:].view("<u2")
                    scale[:] = scale & 0xfff | (d >> np.array([0, 4, 8, 12]) & 15) << 12
                else:
                    block[offset:offset + 2] = d.view(np.uint8)
        if not at:
            blocks[:, 0] = POWERS
        values = dequantize(blocks, kind).astype("<f4")
        assert np.isfinite(values).all()
        with open("%s/%s.bin" % (sys.argv[1], name), "wb") as f:
            for block, row in zip(blocks, values):
                f.write(block.tobytes())
                for group in row.reshape(-1, 32):
                    f.write(fnv(group.tobytes()).to_bytes(4, "little"))
    with open(sys.argv[1] + "/grids.txt", "w") as f:     # all points of the grids, as floats
        for name in "iq2_xxs", "iq2_xs", "iq2_s", "iq3_xxs", "iq3_s", "iq1_s":
            grid = getattr(gguf.quants, name.upper())
            grid.init_grid()
            f.write("%s %08x\n" % (name, fnv(grid.grid.astype("<f4").tobytes())))
    with open(sys.argv[1] + "/decode.txt", "w") as f:
        codes = np.arange(1 << 16, dtype="<u2")
        for name, exponent in (("f16", 0x7c00), ("bf16", 0x7f80)):
            some = codes[(codes & exponent) != exponent]
            values = dequantize(some.view(np.float16 if name == "f16" else np.uint8),
                                gguf.GGMLQuantizationType[name.upper()]).astype("<f4")
            f.write("%s %08x\n" % (name, fnv(values.tobytes())))
    # Uniform in [-1, 1), blocks of 32 times powers of two.
    x = (splitmix(N) >> 8).astype(np.float32) * np.float32(2**-23) - np.float32(1)
    x = x.reshape(-1, 32) * np.exp2(np.arange(N // 32) % 24 - 12).astype(np.float32)[:, None]
    with open(sys.argv[1] + "/encode.txt", "w") as f:
        for name, at in types.items():
            if name.startswith(("iq1", "iq2", "iq3", "tq")):      # we read these only
                continue
            try:
                made = quantize(x.reshape(-1), gguf.GGMLQuantizationType[name.upper()])
            except NotImplementedError:
                continue
            if at is not None:
                f.write("%s %08x\n" % (name, fnv(made.tobytes())))


if __name__ == "__main__":
    main()
