#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Write tests/files/token/words.txt: how published expressions split texts into words.

    pip install regex
    build-aux/pre-vectors.py > tests/files/token/words.txt

A line is a pre-tokenizer, a text in hexadecimal, and the number of bytes of each word.  The
expressions are those of the models' tokenizers (tiktoken's o200k_base, Mistral's tekken), and lists
of expressions that llama.cpp applies one after the other; the module regex runs them.  All
characters are older than any Unicode table in use."""
import random

import regex

GPT2 = (r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
U, W = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
C = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
P = r"[^\r\n\p{L}\p{N}]?"
REST = r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
MODERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|" + P + r"\p{L}+|%s| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
STAGES = {
    "gpt-2": [GPT2],
    "llama-bpe": [MODERN % r"\p{N}{1,3}"],
    "qwen2": [MODERN % r"\p{N}"],
    "qwen35": [r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
               r"|\s*[\r\n]+|\s+(?!\S)|\s+"],
    "gpt-4o": ["|".join([P + U + "*" + W + "+" + C, P + U + "+" + W + "*" + C,
                         r"\p{N}{1,3}", REST])],
    "tekken": ["|".join([P + U + "*" + W + "+", P + U + "+" + W + "*", r"\p{N}", REST])],
    "smollm": [r"\p{N}", GPT2],
    "default": [r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"],
}
ALPHABETS = [
    "aB1 '\n", "aAbBcC", "sStTmMdDrReEvVlL'' x", "0123456789 \u0663\u00bd", " \t\r\n a/",
    "!$+<=>^~|.,'\"-_#/ a1", "A\u0301\u0300aE\u4e00\u01c5\u02b0\u00aa '", "\u05d0\u0915\u093f\u0e01\u0e34 1",
    "\u00e9\u00c9\u0416\u0436\u03b1\u0391 '1.", "\u00a0\u3000\u2003\u2028 \n\ra", "\U0001f600\u200d\ufe0f\u2019\u201c a'",
]


def words(name, text):
    pieces = [text]
    for stage in STAGES[name]:
        cut = []
        for piece in pieces:
            at = 0
            for m in regex.finditer(stage, piece):
                if m.end() == m.start():
                    continue
                cut += [piece[at:m.start()], m.group()]
                at = m.end()
            cut.append(piece[at:])
        pieces = [p for p in cut if p]
    assert "".join(pieces) == text
    return pieces


def main():
    rng = random.Random(1)
    texts = ["It's 12345 o'CLOCK, don't you'LL see? HTTPServer iPhone's  x\n\n  y = [1,2]; // end\n"]
    for alphabet in ALPHABETS:
        texts += ["".join(rng.choices(alphabet, k=rng.randrange(1, 40))) for _ in range(12)]
    texts += ["".join(rng.choices("".join(ALPHABETS), k=60)) for _ in range(20)]
    for name in STAGES:
        for text in texts:
            print(name, text.encode().hex(), *(len(w.encode()) for w in words(name, text)))


if __name__ == "__main__":
    main()
