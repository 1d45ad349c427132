#!/usr/bin/env python3
"""Step 5: weights as a GGUF file, matrices in Q8_0.

    python3 export.py CKPT/weights.pt[,MORE.pt...] BASE.gguf OUT.gguf [context length] [RoPE base]
    python3 export.py CKPT/weights.pt[,MORE.pt...] vocabulary.json OUT.gguf [context length] [RoPE base]

Of several files of weights the mean is written. Their size says which shape of model.py they have.

The tokenizer, the chat template and all other metadata are those of BASE.gguf, but for the RoPE base and
the context length; with vocabulary.json they are made here.
"""

import json
import sys

import torch

import gguf
from model import named_shape, to_tensors
from tokenizer import SPECIAL

CHAT = (
    "{{ bos_token }}{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content']"
    " + '<|im_end|>' + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
UINT, FLOAT, BOOL, STRING = 4, 6, 7, 8
TEXTS, INTS = (gguf.ARRAY, STRING), (gguf.ARRAY, 5)
NORMAL, CONTROL = 1, 3  # kinds of tokens


def metadata(vocabulary, name, s):
    """What a file of shape s says of itself, with the vocabulary of a file that tokenizer.py wrote."""
    with open(vocabulary) as f:
        words = json.load(f)
    tokens, first = words["tokens"], words["tokens"].index(SPECIAL[0])
    return {
        "general.architecture": (STRING, "llama"),
        "general.name": (STRING, name),
        "general.license": (STRING, "cc-by-sa-4.0"),
        "general.file_type": (UINT, 7),
        "general.quantization_version": (UINT, 2),
        "llama.block_count": (UINT, s.layers),
        "llama.context_length": (UINT, 0),
        "llama.embedding_length": (UINT, s.width),
        "llama.feed_forward_length": (UINT, s.ffn),
        "llama.attention.head_count": (UINT, s.heads),
        "llama.attention.head_count_kv": (UINT, s.kv_heads),
        "llama.rope.freq_base": (FLOAT, s.rope_base),
        "llama.rope.dimension_count": (UINT, s.head),
        "llama.attention.layer_norm_rms_epsilon": (FLOAT, s.eps),
        "llama.vocab_size": (UINT, len(tokens)),
        "gemkv.filter_layer": (UINT, s.filter_layer),
        "tokenizer.ggml.model": (STRING, "gpt2"),
        "tokenizer.ggml.pre": (STRING, "qwen2"),
        "tokenizer.ggml.tokens": (TEXTS, tokens),
        "tokenizer.ggml.token_type": (INTS, [NORMAL if i < first else CONTROL for i in range(len(tokens))]),
        "tokenizer.ggml.merges": (TEXTS, words["merges"]),
        "tokenizer.ggml.bos_token_id": (UINT, first),
        "tokenizer.ggml.eos_token_id": (UINT, tokens.index("<|im_end|>")),
        "tokenizer.ggml.padding_token_id": (UINT, tokens.index("<|pad|>")),
        "tokenizer.ggml.add_bos_token": (BOOL, True),
        "tokenizer.chat_template": (STRING, CHAT),
    }


def main():
    weights, base, out = sys.argv[1:4]
    states = [torch.load(path, map_location="cpu") for path in weights.split(",")]
    mean = {name: sum(s[name].float() for s in states) / len(states) for name in states[0]}
    name, shape = named_shape(mean)
    if len(sys.argv) > 5:
        shape.rope_base = float(sys.argv[5])
    meta = metadata(base, "gemkv-" + name, shape) if base.endswith(".json") else gguf.Reader(base).meta
    meta["llama.rope.freq_base"] = (FLOAT, shape.rope_base)
    meta["llama.context_length"] = (UINT, int(sys.argv[4]) if len(sys.argv) > 4 else 131072)
    meta["gemkv.filter_layer"] = (UINT, shape.filter_layer)
    gguf.write(out, meta, to_tensors(mean, shape))


if __name__ == "__main__":
    main()
