#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Make a small vocabulary of the kind of Gemma 4, and ids by the tokenizers library.

    build-aux/gemma-vectors.py LLAMA_CPP tests/files/token       (needs transformers, a checkout of llama.cpp)

Merges are learnt from this repository's documentation.  Writes gemma4.gguf, and gemma4.vec with the texts of mini.vec;
vectors.py says what a line is."""
import json
import os
import sys

LLAMA, DST = sys.argv[1:]
sys.path.insert(0, LLAMA + "/gguf-py")
import gguf
from tokenizers import Tokenizer, models, normalizers, trainers
from transformers import GemmaTokenizer

N = 700
FIRST = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"]
TEXTS = ["README.md", "CONTRIBUTING.md", "NEWS", "man/gemkv.1"]


def train():
    t = Tokenizer(models.BPE())
    t.normalizer = normalizers.Replace(" ", "\u2581")
    here = os.path.dirname(os.path.abspath(sys.argv[0])) + "/../"
    lines = [open(here + x).read()[i:i + 400] for x in TEXTS for i in range(0, 40000, 400)]
    t.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=N, show_progress=False, special_tokens=[]))
    m = json.loads(t.to_str())["model"]
    words = [w for w, _ in sorted(m["vocab"].items(), key=lambda x: x[1])]
    return words, [tuple(x) for x in m["merges"]]


def main():
    words, merges = train()
    tokens = FIRST + ["<0x%02X>" % i for i in range(256)] + words
    ref = GemmaTokenizer(vocab={w: i for i, w in enumerate(tokens)}, merges=merges)
    plain = Tokenizer(ref.backend_tokenizer.model)
    plain.normalizer = ref.backend_tokenizer.normalizer
    w = gguf.GGUFWriter(DST + "/gemma4.gguf", "gemma4")
    w.add_tokenizer_model("gemma4")
    w.add_token_list(tokens)
    w.add_token_types([3] * 3 + [2, 3] + [6] * 256 + [1] * len(words))
    w.add_token_merges(["%s %s" % m for m in merges])
    w.add_bos_token_id(2)
    w.add_eos_token_id(1)
    w.add_add_bos_token(True)
    w.add_add_space_prefix(False)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.close()
    with open(DST + "/gemma4.vec", "w") as out:
        for line in open(DST + "/mini.vec"):
            name, text = line.split()[:2]
            text = "" if text == "-" else bytes.fromhex(text).decode(errors="ignore")
            a = plain.encode(text, add_special_tokens=False).ids
            b = ref.encode(text, add_special_tokens=False)
            print(name, text.encode().hex() or "-", *a, "|", 2, *b, file=out)


if __name__ == "__main__":
    main()
