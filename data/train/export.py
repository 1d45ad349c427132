#!/usr/bin/env python3
"""Step 5: weights as a GGUF file, matrices in Q8_0.

    python3 export.py CKPT/weights.pt[,MORE.pt...] BASE.gguf OUT.gguf [context length] [RoPE base]

Of several files of weights the mean is written.

The tokenizer, the chat template and all other metadata are those of BASE.gguf, but for the RoPE base and
the context length. For a model with a vocabulary of its own, BASE.gguf is any file with that vocabulary.
"""

import sys

import torch

import gguf
from model import Shape, to_tensors


def main():
    weights, base, out = sys.argv[1:4]
    shape = Shape(rope_base=float(sys.argv[5])) if len(sys.argv) > 5 else Shape()
    meta = gguf.Reader(base).meta
    meta["llama.rope.freq_base"] = (6, shape.rope_base)
    meta["llama.context_length"] = (4, int(sys.argv[4]) if len(sys.argv) > 4 else 131072)
    meta["gemkv.filter_layer"] = (4, shape.filter_layer)
    states = [torch.load(path, map_location="cpu") for path in weights.split(",")]
    mean = {name: sum(s[name].float() for s in states) / len(states) for name in states[0]}
    gguf.write(out, meta, to_tensors(mean, shape))


if __name__ == "__main__":
    main()
