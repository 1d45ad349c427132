#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Make golden vectors of architectures from the `transformers` library, with models of random weights.

    build-aux/golden-hf.py LLAMA_CPP tests/files/hf [NAME...]   (needs torch, transformers, a checkout of llama.cpp)

Each model is made by transformers, saved, and written as GGUF by llama.cpp's converter, which gets a vocabulary
without text.  So nothing here but the sizes of the models is ours.  Weights are rounded to what the file
holds before they are used.  The models run in float64 as far as transformers allows.  Writes NAME.gguf and
NAME.txt: tokens, then the logits after the prompts of the lengths that a line names (numbers in
NAME.bin, f32), the hidden states of the last token before each layer and after the last, and greedy tokens."""
import json
import os
import sys
import tempfile

LLAMA, DST, NAMES = sys.argv[1], sys.argv[2], sys.argv[3:]
sys.path[:0] = [LLAMA + "/gguf-py", LLAMA]
import numpy as np
import torch
import transformers as tf

V, N, NEW = 128, 150, 6
GAP, SEEDS = 0.03, 8                            # greedy tokens must not depend on rounding
SMALL = dict(vocab_size=V, hidden_size=32, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2,
             intermediate_size=48, max_position_embeddings=4096, bos_token_id=1, eos_token_id=2, pad_token_id=0)
YARN = dict(rope_type="yarn", rope_theta=10000.0, factor=4.0, original_max_position_embeddings=64,
            beta_fast=32.0, beta_slow=1.0)
HYBRID = dict(SMALL, vocab_size=256, embedding_multiplier=5.0, residual_multiplier=0.4, attention_multiplier=0.2,
              logits_scaling=1.5, mamba_expand=2, mamba_d_conv=4, mamba_chunk_size=64)
LOCAL = ["sliding_attention"] * 3 + ["full_attention"]
GEMMA4 = dict(SMALL, vocab_size=256, num_hidden_layers=6,
              layer_types=(["sliding_attention"] * 2 + ["full_attention"]) * 2, sliding_window=40, head_dim=8, global_head_dim=16,
              final_logit_softcapping=20.0, hidden_size_per_layer_input=0, tie_word_embeddings=True)
MODELS = {
    "smollm3": (tf.SmolLM3Config, dict(SMALL, rope_parameters=dict(rope_type="default", rope_theta=10000.0))),
    "olmo2": (tf.Olmo2Config, dict(SMALL, head_dim=8)),
    "olmo3": (tf.Olmo3Config, dict(SMALL, sliding_window=40, layer_types=LOCAL, rope_parameters=dict(
        full_attention=YARN, sliding_attention=dict(rope_type="default", rope_theta=10000.0)))),
    "mistral3": (tf.Ministral3Config, dict(SMALL, head_dim=16, rope_parameters=dict(
        YARN, mscale=1.0, mscale_all_dim=1.0, llama_4_scaling_beta=0.1))),
    "granite": (tf.GraniteConfig, dict(SMALL, embedding_multiplier=5.0, residual_multiplier=0.4,
                                       attention_multiplier=0.2, logits_scaling=3.0)),
    "granitemoe": (tf.GraniteMoeConfig, dict(SMALL, embedding_multiplier=5.0, residual_multiplier=0.4,
                                             attention_multiplier=0.2, logits_scaling=3.0,
                                             num_local_experts=6, num_experts_per_tok=2)),
    "granitemoeshared": (tf.GraniteMoeSharedConfig, dict(
        SMALL, embedding_multiplier=5.0, residual_multiplier=0.4, attention_multiplier=0.2, logits_scaling=3.0,
        num_local_experts=6, num_experts_per_tok=2, shared_intermediate_size=64)),
    "glm4": (tf.Glm4Config, dict(SMALL, head_dim=16, attention_bias=True)),
    "exaone4": (tf.Exaone4Config, dict(SMALL, head_dim=8, sliding_window=40, sliding_window_pattern=4,
                                       layer_types=LOCAL)),
    "phi4mini": (tf.Phi3Config, dict(
        SMALL, hidden_size=64, tie_word_embeddings=True, original_max_position_embeddings=100, sliding_window=None,
        rope_parameters=dict(rope_type="longrope", rope_theta=10000.0, partial_rotary_factor=0.75,
                             original_max_position_embeddings=100,
                             short_factor=[1.0, 1.1, 1.2, 1.3, 1.4, 1.5],
                             long_factor=[1.0, 1.5, 2.0, 3.0, 5.0, 8.0]))),
    "llama4": (tf.Llama4TextConfig, dict(
        SMALL, head_dim=8, intermediate_size_mlp=64, num_local_experts=4, num_experts_per_tok=1,
        interleave_moe_layer_step=2, rope_parameters=dict(
            rope_type="llama3", rope_theta=10000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
            original_max_position_embeddings=64))),
    "gpt-oss": (tf.GptOssConfig, dict(
        SMALL, head_dim=16, num_local_experts=6, num_experts_per_tok=2, sliding_window=40,
        rope_parameters=dict(YARN, truncate=False))),
    "gpt-oss-mxfp4": (tf.GptOssConfig, dict(
        SMALL, hidden_size=64, intermediate_size=96, head_dim=16, num_local_experts=4, num_experts_per_tok=2,
        sliding_window=40, rope_parameters=dict(YARN, truncate=False))),
    "lfm2": (tf.Lfm2Config, dict(SMALL, vocab_size=256, norm_eps=1e-5, block_auto_adjust_ff_dim=False, conv_L_cache=3,
                                 layer_types=["conv", "conv", "full_attention", "conv"])),
    "lfm2moe": (tf.Lfm2MoeConfig, dict(
        SMALL, norm_eps=1e-5, conv_L_cache=4, moe_intermediate_size=40, num_experts=6, num_experts_per_tok=3,
        num_dense_layers=1, layer_types=["conv", "full_attention", "conv", "full_attention"])),
    "gemma4": (tf.Gemma4TextConfig, dict(GEMMA4, num_key_value_heads=4, num_global_key_value_heads=2,
                                         attention_k_eq_v=True)),
    "gemma4e": (tf.Gemma4TextConfig, dict(GEMMA4, hidden_size_per_layer_input=16, vocab_size_per_layer_input=256,
                                          num_kv_shared_layers=3, use_double_wide_mlp=True)),
    "gemma4moe": (tf.Gemma4TextConfig, dict(GEMMA4, num_hidden_layers=3, layer_types=GEMMA4["layer_types"][:3],
                                            num_key_value_heads=4, num_global_key_value_heads=2, attention_k_eq_v=True,
                                            enable_moe_block=True, num_experts=6, top_k_experts=2,
                                            moe_intermediate_size=40)),
    "granitehybrid": (tf.GraniteMoeHybridConfig, dict(
        HYBRID, num_local_experts=0, shared_intermediate_size=48, mamba_n_heads=8, mamba_n_groups=2, mamba_d_state=16,
        layer_types=["mamba", "mamba", "attention", "mamba"])),
    "granitehybridmoe": (tf.GraniteMoeHybridConfig, dict(
        HYBRID, num_local_experts=6, num_experts_per_tok=2, shared_intermediate_size=40, mamba_n_heads=4,
        mamba_n_groups=1, mamba_d_state=24, mamba_conv_bias=False, attention_bias=True,
        layer_types=["mamba", "attention", "mamba", "attention"])),
}

torch.set_num_threads(1)


def build(name, seed):
    kind, options = MODELS[name]
    torch.manual_seed(sum(name.encode()) + seed)
    config = kind(**options)
    model = tf.AutoModelForCausalLM.from_config(config, attn_implementation="eager",
                                                 experts_implementation="eager").eval()
    with torch.no_grad():
        for key, p in model.named_parameters():
            if p.dim() == 1 and "norm" in key:
                p.copy_(1 + 0.1 * torch.randn(p.shape))
            elif p.dim() == 1 or key.endswith("bias") or "sinks" in key:
                p.copy_(0.5 * torch.randn(p.shape))
            else:
                p.copy_(torch.randn(p.shape) * 1.2 * p.shape[-1] ** -0.5)
                p.copy_(p.half().float())
        for key, p in model.named_buffers():
            if key.endswith("expert_bias"):
                p.copy_(0.3 * torch.randn(p.shape))
            elif key.endswith("layer_scalar"):
                p.copy_(0.5 + torch.rand(p.shape))
    return model


def experts(model):
    return [(k, p) for k, p in model.named_parameters() if k.endswith(("gate_up_proj", "down_proj"))]


def round_mxfp4(model):
    from gguf.quants import dequantize, quantize
    from gguf import GGMLQuantizationType as T
    with torch.no_grad():
        for _, p in experts(model):                             # [expert][n_in][n_out]
            w = np.ascontiguousarray(p.transpose(1, 2).numpy())
            w = dequantize(quantize(w, T.MXFP4), T.MXFP4).reshape(w.shape)
            p.copy_(torch.tensor(w).transpose(1, 2))


def rename_layers(path):
    """The converter knows Granite's layers by other names."""
    c = json.load(open(path))
    if c["model_type"] == "granitemoehybrid":
        names = {"linear_attention": "mamba", "full_attention": "attention"}
        c["layer_types"] = [names[x] for x in c["layer_types"]]
        json.dump(c, open(path, "w"))


def convert(model, name, path):
    import conversion.base as base
    from conversion import get_model_class
    import gguf
    with tempfile.TemporaryDirectory() as d:
        model.save_pretrained(d)
        rename_layers(d + "/config.json")
        with open(d + "/tokenizer.json", "w") as f:             # Gemma's number of tokens is read from there
            json.dump(dict(model=dict(vocab=list(range(model.config.vocab_size))), added_tokens=[]), f)
        arch = model.config.architectures[0] if model.config.architectures else type(model).__name__
        cls = get_model_class(arch)

        def vocab(self):
            w = self.gguf_writer
            w.add_tokenizer_model("none")
            w.add_vocab_size(model.config.vocab_size)
        cls.set_vocab = vocab
        cls.tensor_force_quant = lambda self, _, new, *rest: \
            gguf.GGMLQuantizationType.MXFP4 if "mxfp4" in name and "_exps.weight" in new else False
        import pathlib
        with torch.no_grad():
            m = cls(pathlib.Path(d), gguf.LlamaFileType.MOSTLY_F16, pathlib.Path(path))
            impl = getattr(m, "impl", m)
            impl.set_vocab = vocab.__get__(impl)
            m.write()


def run(model, name):
    out, data = [], bytearray()

    def put(label, a):
        out.append("%s %d %d\n" % (label, len(data), a.numel()))
        data.extend(a.detach().double().numpy().astype("<f4").tobytes())
    ids = np.random.default_rng(len(name)).integers(3, model.config.vocab_size, N)
    model = model.double()
    with torch.no_grad():
        out.append("tokens %s\n" % " ".join(map(str, ids)))
        for n in (N, 50):
            r = model(input_ids=torch.tensor(ids[None, :n]), output_hidden_states=True, use_cache=False)
            put("logits %d" % n, r.logits[0, -1])
            if n == N:
                hidden = []
                hooks = [l.register_forward_hook(lambda _, i, o: hidden.append(
                    (o[0] if isinstance(o, tuple) else o)[0, -1])) for l in model.model.layers]
                model(input_ids=torch.tensor(ids[None, :n]), use_cache=False)
                for h in hooks:
                    h.remove()
                for i, h in enumerate(hidden):
                    put("hidden %d" % i, h)
        t, gap = list(ids), 1e9
        for _ in range(NEW):
            y = model(input_ids=torch.tensor([t]), use_cache=False).logits[0, -1]
            best = torch.topk(y, 2)
            gap = min(gap, float(best.values[0] - best.values[1]))
            t.append(int(best.indices[0]))
        out.append("greedy %s\n" % " ".join(map(str, t[N:])))
    print("%s: gap %.4f, logits to %.2f" % (name, gap, float(r.logits.abs().max())))
    if gap < GAP:
        return False
    open("%s/%s.txt" % (DST, name), "w").writelines(out)
    open("%s/%s.bin" % (DST, name), "wb").write(data)
    return True


def main():
    os.makedirs(DST, exist_ok=True)
    for name in NAMES or MODELS:
        for seed in range(SEEDS):
            model = build(name, seed)
            if "mxfp4" in name:
                round_mxfp4(model)
            convert(model, name, "%s/%s.gguf" % (DST, name))
            if run(model, name):
                break


if __name__ == "__main__":
    main()
