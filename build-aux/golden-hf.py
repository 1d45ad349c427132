#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Make golden vectors of architectures from the `transformers` library, with models of random weights.

    build-aux/golden-hf.py LLAMA_CPP tests/files/hf [NAME...]   (needs torch, transformers, a checkout of llama.cpp)
    build-aux/golden-hf.py LLAMA_CPP /tmp/varied qwen2~1 gemma3~7 ...
    srcdir=/tmp tests/unit-logits.test varied qwen2~1 gemma3~7 ...

NAME~SEED is the architecture with other numbers of layers, heads, experts and so on, drawn at random; those of MORE
have no vectors in the repository (golden-arch.py and golden-hybrid.py made theirs) and are made in this way only.

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

ROPE = dict(rope_parameters=dict(rope_type="default", rope_theta=10000.0))
STATES = dict(SMALL, head_dim=16, linear_conv_kernel_dim=4, linear_key_head_dim=16, linear_value_head_dim=16,
              linear_num_key_heads=2, linear_num_value_heads=4,
              layer_types=["linear_attention"] * 3 + ["full_attention"],
              rope_parameters=dict(rope_type="default", rope_theta=1e4, partial_rotary_factor=0.5,
                                   mrope_section=[1, 1, 0], mrope_interleaved=True))
EXPERTS = dict(num_experts=6, num_experts_per_tok=2, moe_intermediate_size=24)
MORE = {
    "llama": (tf.LlamaConfig, dict(SMALL, head_dim=8, rope_parameters=dict(
        rope_type="llama3", rope_theta=10000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
        original_max_position_embeddings=64))),
    "mistral": (tf.MistralConfig, dict(SMALL, head_dim=8, sliding_window=None, **ROPE)),
    "qwen2": (tf.Qwen2Config, dict(SMALL, **ROPE)),
    "qwen3": (tf.Qwen3Config, dict(SMALL, head_dim=8, rope_parameters=YARN)),
    "qwen3moe": (tf.Qwen3MoeConfig, dict(SMALL, head_dim=8, norm_topk_prob=True, **EXPERTS, **ROPE)),
    "phi3": (tf.Phi3Config, dict(SMALL, sliding_window=None, **ROPE)),
    "gemma2": (tf.Gemma2Config, dict(
        SMALL, head_dim=8, sliding_window=40, query_pre_attn_scalar=8, tie_word_embeddings=True, **ROPE)),
    "gemma3": (tf.Gemma3TextConfig, dict(
        SMALL, head_dim=8, sliding_window=40, query_pre_attn_scalar=8, num_hidden_layers=7, tie_word_embeddings=True,
        layer_types=["sliding_attention"] * 5 + ["full_attention", "sliding_attention"], rope_parameters=dict(
            full_attention=dict(rope_type="linear", rope_theta=1e6, factor=8.0),
            sliding_attention=dict(rope_type="default", rope_theta=10000.0)))),
    "qwen35": (tf.Qwen3_5TextConfig, STATES),
    "qwen35moe": (tf.Qwen3_5MoeTextConfig, dict(STATES, shared_expert_intermediate_size=40, **EXPERTS)),
    "qwen3next": (tf.Qwen3NextConfig, dict(STATES, shared_expert_intermediate_size=40, norm_topk_prob=True, **EXPERTS)),
}

torch.set_num_threads(1)


def varied(options, seed):
    """The same kind of model with other sizes; a number in options may be drawn anew, what is not there stays away."""
    rng, o = np.random.default_rng(seed), json.loads(json.dumps(options))

    def draw(key, *choices):
        if o.get(key) is not None:
            o[key] = type(o[key])(rng.choice(choices))
    kv, d = int(rng.choice([1, 2, 3])), int(rng.choice([8, 16, 24, 40]))
    o["num_key_value_heads"] = kv
    o["num_attention_heads"] = kv * int(rng.choice([1, 2, 3, 5]))
    if "head_dim" in o:
        o["head_dim"] = d
        o["hidden_size"] = o["num_attention_heads"] * int(rng.choice([8, 12, 16]))
        draw("query_pre_attn_scalar", d)        # files do not say it
    else:
        o["hidden_size"] = o["num_attention_heads"] * d
    draw("vocab_size", 128, 200, 256, 320)
    draw("intermediate_size", 32, 48, 88, 128)
    draw("intermediate_size_mlp", 40, 64)
    draw("moe_intermediate_size", 16, 40)
    draw("shared_intermediate_size", 24, 40)
    draw("shared_expert_intermediate_size", 24, 48)
    draw("sliding_window", 9, 40, 100)
    draw("linear_num_key_heads", 1, 2)
    if "linear_num_key_heads" in o:
        o["linear_num_value_heads"] = o["linear_num_key_heads"] * int(rng.choice([1, 2, 3]))
    draw("linear_key_head_dim", 16, 24, 64)
    draw("linear_value_head_dim", 16, 40, 64)
    draw("linear_conv_kernel_dim", 2, 4)
    for key in ("num_local_experts", "num_experts"):
        draw(key, 4, 6, 9)
    draw("num_experts_per_tok", 1, 2, 3)
    for key in ("embedding_multiplier", "residual_multiplier", "attention_multiplier", "logits_scaling"):
        draw(key, 0.3, 1.0, 2.5)
    if "layer_types" in o:
        o["layer_types"] = (o["layer_types"] * int(rng.choice([1, 2])))[:8]
        o["num_hidden_layers"] = len(o["layer_types"])
    else:
        draw("num_hidden_layers", 2, 4, 6)
    if "tie_word_embeddings" not in o:
        o["tie_word_embeddings"] = bool(rng.integers(2))
    o["rms_norm_eps"] = float(rng.choice([1e-5, 1e-6]))
    return o


def build(name, seed):
    name, _, variation = name.partition("~")
    kind, options = {**MODELS, **MORE}[name]
    if variation:
        options = varied(options, int(variation))
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
        cls.no_mtp = True                                       # no layers that predict further tokens
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
