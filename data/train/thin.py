#!/usr/bin/env python3
"""Weights and data small enough to be sent, and back.

    python3 thin.py pack MODEL.gguf START.z 0.36     # levels so many standard deviations of a matrix apart
    python3 thin.py unpack START.z MODEL.gguf
    python3 thin.py pack-data SMALL/data.npz DATA.xz
    python3 thin.py unpack-data DATA.xz SMALL/data.npz

A matrix becomes whole numbers of one step, which are packed near their entropy. The tokenizer and all other
metadata go along. Of numbers that mostly grow in data.npz, the differences are packed.
"""

import lzma
import pickle
import sys
import zlib

import numpy as np

import gguf

def pack(model, out, apart):
    reader, tensors = gguf.Reader(model), {}
    for name in reader.where:
        x = reader.tensor(name)
        if x.ndim == 1:
            tensors[name] = (x, 1.0)
        else:
            step = float(apart) * float(x.std())
            tensors[name] = (np.clip(np.rint(x / step), -127, 127).astype(np.int8), step)
    packer = zlib.compressobj(9, zlib.DEFLATED, 15, 9, zlib.Z_HUFFMAN_ONLY)  # such numbers hardly repeat
    with open(out, "wb") as f:
        f.write(packer.compress(pickle.dumps((reader.meta, tensors))) + packer.flush())


def unpack(start, out):
    with open(start, "rb") as f:
        meta, tensors = pickle.loads(zlib.decompress(f.read()))
    gguf.write(out, meta, {n: x.astype(np.float32) * np.float32(step) for n, (x, step) in tensors.items()})


GROWING = ("doc", "title", "ask")
TWO_BYTES = [{"id": lzma.FILTER_LZMA2, "preset": 6, "lp": 1, "pb": 1}]  # most of it is token numbers


def pack_data(data, out):
    d = dict(np.load(data))
    for name in GROWING:
        d[name] = np.diff(d[name], axis=0, prepend=np.zeros_like(d[name][:1])).astype(np.int32).T.copy()
    with lzma.open(out, "wb", filters=TWO_BYTES) as f:
        pickle.dump(d, f)


def unpack_data(packed, out):
    with lzma.open(packed) as f:
        d = pickle.load(f)
    for name in GROWING:
        d[name] = np.cumsum(d[name].T, axis=0)
    np.savez(out, **d)


if __name__ == "__main__":
    {"pack": pack, "unpack": unpack, "pack-data": pack_data, "unpack-data": unpack_data}[sys.argv[1]](*sys.argv[2:])
