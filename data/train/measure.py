#!/usr/bin/env python3
"""Needles at lengths that a processor takes too long for: a quick look on the GPU, beside `gemkv eval`.

    python3 measure.py CKPT/weights.pt OUT NEEDLES.json TEXT.txt 4096,16384,32768,65536,131072 [samples]

hides each needle in TEXT at a depth drawn at random and asks for it, with attention to everything and with
the 1,024 tokens that the filter layer keeps. Right is an answer that contains a right one, as for `gemkv
eval niah`. Needles made by facts.py are measured, too ("made").
"""

import json
import random
import re
import sys
import time

import numpy as np
import torch

import gguf
from facts import Facts
from model import Model, Shape, from_gguf
from tokenizer import Tokenizer

KEEP = 1024


def plain(text):
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", re.sub(r"[^\w\s]", "", text.lower())).split())


def main():
    weights, folder, needles, text, lengths = sys.argv[1:6]
    samples = int(sys.argv[6]) if len(sys.argv) > 6 else 1
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    shape = Shape()
    if weights.endswith(".gguf"):
        reader = gguf.Reader(weights)
        shape.rope_base = reader.meta["llama.rope.freq_base"][1]
        model = from_gguf(reader, shape)
    else:
        model = Model(shape)
        model.load_state_dict({k: v.float() for k, v in torch.load(weights, map_location="cpu").items()})
    model.to(device)
    tok = Tokenizer(folder + "/vocabulary.json")
    e = tok.encode
    hay = np.array(e(open(text).read()), np.int64)
    hay = np.tile(hay, 1 + 140_000 // len(hay))
    stops = np.array([t.endswith((".", "!", "?")) for t in tok.tokens])
    rng = random.Random(3)
    facts = Facts(rng)
    written = json.load(open(needles))
    for length in map(int, lengths.split(",")):
        began = time.time()
        score = {}
        for _ in range(samples):
            for n in written:
                made, qas = facts.one()
                q, a = rng.choice(qas)
                for kind, said, question, answers in (
                    ("written", n["needle"], n["question"], n["answers"]),
                    ("made", made[0], q, [a]),
                ):
                    head, tail = [tok.bos, tok.turn] + e("user\n"), e("\n\nQuestion: " + question) + [tok.end] + e(
                        "\n"
                    ) + [tok.turn] + e("assistant\n")
                    fact = e(" " + said)
                    room = length - len(head) - len(tail) - len(fact) - 40
                    at = rng.randrange(len(hay) - room)
                    part = hay[at : at + room]
                    spots = np.flatnonzero(stops[part]) + 1
                    spot = int(spots[np.abs(spots - rng.random() * room).argmin()])
                    ids = torch.from_numpy(np.concatenate([head, part[:spot], fact, part[spot:], tail])).to(device)
                    for method in ("full", "gemfilter"):
                        prompt = ids if method == "full" else model.kept(ids, KEEP, dtype)
                        out = plain(tok.decode(model.answer(prompt, tok.end, dtype=dtype)))
                        right = any(f" {plain(x)} " in f" {out} " for x in answers)
                        score.setdefault((kind, method), []).append(right)
        print(
            length,
            {f"{k} {m}": f"{sum(v)}/{len(v)}" for (k, m), v in score.items()},
            f"{time.time() - began:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
