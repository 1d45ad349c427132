#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Make small vocabularies of the kinds that byte-level BPE has in recent models, and ids by the reference tokenizers.

    build-aux/bpe-vectors.py LLAMA_CPP tests/files/token         (needs tokenizers, tiktoken, a checkout of llama.cpp)

Tokens are learnt from this repository's documentation without cutting it into words, so that a word that is cut
elsewhere has other ids.  The ids are those of `tiktoken` where the model was published for it, else of `tokenizers`, set
up as in the model's tokenizer.json (but for qwen35's Unicode normalisation, which GGUF files do not ask for).  Writes
NAME.gguf, and NAME.vec with the texts of mini.vec; vectors.py says what a line is."""
import importlib.util
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location("pre", HERE + "/pre-vectors.py")
pre = importlib.util.module_from_spec(spec)
spec.loader.exec_module(pre)
LLAMA, DST = sys.argv[1:]
sys.path.insert(0, LLAMA + "/gguf-py")
import gguf
import tiktoken
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

N = 600
SPECIAL = ["<s>", "</s>", "<unk>", "<pad>", "<|im_start|>", "<|im_end|>", "<|endoftext|>"]
WHOLE = ["Library", "\u0120quickstart"]          # tokens that no merge gives
# Words that kinds cut differently: learnt as whole ones.
WORDS = ["getName", "iPhone", "HTTPServer", "o'CLOCK", "don't", "x\u0301y", "12345", "//\n", " a/b", "\u0915\u093f\u0928"]
TEXTS = ["README.md", "CONTRIBUTING.md", "NEWS", "man/gemkv.1"]
# The stages that cut words; whether tiktoken is the reference, whether a word that is a token is taken as it is
# before any merge, and whether texts begin with <s>.
KINDS = {
    "qwen35": ("qwen35", False, False, False),
    "gpt-4o": ("gpt-4o", True, False, False),
    "llama4": ("gpt-4o", True, False, True),
    "tekken": ("tekken", True, True, True),
    "lfm2": ("llama-bpe", False, True, True),
    "smollm": ("smollm", False, False, False),
}


def cut(stages):
    """The stages as tokenizer.json has them."""
    if stages == pre.STAGES["smollm"]:
        return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    (expression,) = stages
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(expression), "isolated"),
                                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def lines():
    for name in TEXTS:
        text = open(HERE + "/../" + name).read()
        yield from (text[i:i + 400] for i in range(0, min(len(text), 40000), 400))
    for line in open(DST + "/mini.vec"):
        text = line.split()[1]
        yield "" if text == "-" else bytes.fromhex(text).decode(errors="ignore")
    for word in WORDS:
        yield from [word] * 50


def train(whole):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    t.train_from_iterator(lines(), trainers.BpeTrainer(
        vocab_size=N, show_progress=False, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet())))
    m = json.loads(t.to_str())["model"]
    words = [w for w, _ in sorted(m["vocab"].items(), key=lambda x: x[1])]
    words += [w for w in WHOLE if whole and w not in words]
    return words, [tuple(x) for x in m["merges"]]


def of_tokenizers(stages, whole, words, merges):
    def encode(special):
        t = Tokenizer(models.BPE(vocab={w: i for i, w in enumerate(words + SPECIAL)}, merges=merges,
                                 ignore_merges=whole))
        t.pre_tokenizer = cut(stages)
        if special:
            t.add_special_tokens(SPECIAL)
        return lambda text: t.encode(text, add_special_tokens=False).ids
    return encode(False), encode(True)


def of_tiktoken(stages, whole, words, merges):
    letters = {c: bytes([b]) for b, c in bytes_to_letters().items()}
    ranks = {b"".join(letters[c] for c in w): i for i, w in enumerate(words)}
    t = tiktoken.Encoding("made", pat_str=stages[0], mergeable_ranks=ranks,
                          special_tokens={s: len(words) + i for i, s in enumerate(SPECIAL)})
    return t.encode_ordinary, lambda text: t.encode(text, allowed_special="all")


def bytes_to_letters():
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in plain]
    return {**{b: chr(b) for b in plain}, **{b: chr(256 + i) for i, b in enumerate(rest)}}


def main():
    for name, (words_of, by_tiktoken, whole, bos) in KINDS.items():
        stages = pre.STAGES[words_of]
        words, merges = train(whole)
        plain, special = (of_tiktoken if by_tiktoken else of_tokenizers)(stages, whole, words, merges)
        w = gguf.GGUFWriter("%s/%s.gguf" % (DST, name), "llama")
        w.add_tokenizer_model("gpt2")
        w.add_tokenizer_pre(name)
        w.add_token_list(words + SPECIAL)
        w.add_token_types([1] * len(words) + [3] * len(SPECIAL))
        w.add_token_merges(["%s %s" % m for m in merges])
        w.add_bos_token_id(len(words))
        w.add_eos_token_id(len(words) + 1)
        if bos != whole:                        # else the kind says it
            w.add_add_bos_token(bos)
        w.write_header_to_file()
        w.write_kv_data_to_file()
        w.close()
        with open("%s/%s.vec" % (DST, name), "w") as out:
            for line in open(DST + "/mini.vec"):
                what, text = line.split()[:2]
                text = "" if text == "-" else bytes.fromhex(text).decode(errors="ignore")
                print(what, text.encode().hex() or "-", *plain(text), "|", *[len(words)] * bos, *special(text), file=out)
            text = " ".join(WORDS) + " quickstartLibrary quickstart Library: " + "".join(SPECIAL) + "<|im_start|>user's\n"
            print("whole", text.encode().hex(), *plain(text), "|", *[len(words)] * bos, *special(text), file=out)


if __name__ == "__main__":
    main()
