#!/usr/bin/env python3
"""Step 2: the vocabulary, a byte-level BPE with the splitting rule of Qwen 2.

python3 tokenizer.py take MODEL.gguf vocabulary.json        that of an existing model
python3 tokenizer.py train OUT vocabulary.json [SIZE]       a new one, from step 1's documents
                                                            (needs the package tokenizers)
"""

import json
import sys

import regex

WORDS = regex.compile(
    r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
SPECIAL = ["<|begin_of_text|>", "<|im_start|>", "<|im_end|>", "<|end_of_text|>", "<|pad|>"]
SIZE = 16384


def byte_letters():
    """GPT-2's printable letter for each byte."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in printable]
    return {**{b: chr(b) for b in printable}, **{b: chr(256 + i) for i, b in enumerate(others)}}


LETTER = byte_letters()
BYTE = {c: b for b, c in LETTER.items()}


class Tokenizer:
    def __init__(self, path):
        d = json.load(open(path))
        self.tokens = d["tokens"]
        self.id = {t: i for i, t in enumerate(self.tokens)}
        self.rank = {tuple(m.split(" ")): i for i, m in enumerate(d["merges"])}
        self.bos, self.turn, self.end, self.eot = (self.id[s] for s in SPECIAL[:4])
        self.known = {}

    def word(self, word):
        """Ids of one word: the earliest merge first, until none applies."""
        parts = [LETTER[b] for b in word.encode("utf-8")]
        while len(parts) > 1:
            rank, i = min((self.rank.get(pair, 1 << 30), i) for i, pair in enumerate(zip(parts, parts[1:])))
            if rank == 1 << 30:
                break
            a, b = parts[i : i + 2]
            merged, i = [], 0
            while i < len(parts):
                if parts[i : i + 2] == [a, b]:
                    merged.append(a + b)
                    i += 2
                else:
                    merged.append(parts[i])
                    i += 1
            parts = merged
        return [self.id[p] for p in parts]

    def encode(self, text):
        out, known = [], self.known
        for w in WORDS.findall(text):
            ids = known.get(w)
            if ids is None:
                ids = self.word(w)
                if len(known) < 1_000_000:
                    known[w] = ids
            out += ids
        return out

    def ask(self, document, question, strip=True):
        """How a question follows a document (ids): how many of its last tokens go, and the ids in their place.

        As in the engine, punctuation at the end of the document and the line ends behind it are one piece.
        """
        n = 0
        while n < min(6, len(document)) and all(
            c in self.MARKS for c in self.tokens[int(document[len(document) - n - 1])]
        ):
            n += 1
        end = self.decode([int(t) for t in document[len(document) - n :]])
        return n, self.encode((end.rstrip("\n") if strip else end) + "\n\nQuestion: " + question)

    MARKS = set(".,;:!?'\"()[]-" + LETTER[10])

    def decode(self, ids):
        text = "".join(self.tokens[i] for i in ids if i < self.bos)
        return bytes(BYTE[c] for c in text).decode("utf-8", "replace")


def take(model, out):
    import gguf

    meta = gguf.Reader(model).meta
    json.dump(
        {"tokens": meta["tokenizer.ggml.tokens"][1], "merges": meta["tokenizer.ggml.merges"][1]},
        open(out, "w"),
        ensure_ascii=False,
    )


def train(folder, out, size=SIZE):
    from tokenizers import Regex, models, pre_tokenizers, trainers
    from tokenizers import Tokenizer as Bpe

    def texts():
        for name in ("wiki", "books", "qa"):
            for i, line in enumerate(open(f"{folder}/{name}.jsonl")):
                d = json.loads(line)
                if name == "qa":
                    yield " ".join([d["context"]] + [q["q"] for q in d["qas"]])
                elif i % 4 == 0:
                    yield d["text"]

    bpe = Bpe(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(WORDS.pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    special = SPECIAL + [f"<|reserved_{i}|>" for i in range(3)]
    bpe.train_from_iterator(
        texts(),
        trainers.BpeTrainer(vocab_size=int(size) - len(special), initial_alphabet=[LETTER[b] for b in range(256)]),
    )
    d = json.loads(bpe.to_str())["model"]
    merges = [m if isinstance(m, str) else " ".join(m) for m in d["merges"]]
    json.dump(
        {"tokens": sorted(d["vocab"], key=d["vocab"].get) + special, "merges": merges},
        open(out, "w"),
        ensure_ascii=False,
    )


if __name__ == "__main__":
    {"take": take, "train": train}[sys.argv[1]](*sys.argv[2:])
