#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Make golden vectors of models whose layers have a state, with the modules of `transformers`.

    build-aux/golden-hybrid.py ../shared/oracle tests/files/golden       (needs torch, transformers)

Writes MODEL.gguf, hybrid.txt and hybrid.bin.  Weights are random, as the module names them; they are rounded to
float16 where the file has that, and the module computes in float64.  The module's chunked delta rule computes in
float32 whatever it is given, so the rule itself takes its place here, in float64, and the two are compared first."""
import math
import sys

ORACLE, DST = sys.argv[1], sys.argv[2]
sys.path.insert(0, ORACLE)
import numpy as np
import torch
import gen
import gguf_io as gg
import transformers.models.qwen3_5.modeling_qwen3_5 as q35
import transformers.models.qwen3_5_moe.modeling_qwen3_5_moe as moe
import transformers.models.qwen3_next.modeling_qwen3_next as nxt
from transformers.models.qwen3_5.configuration_qwen3_5 import Qwen3_5TextConfig
from transformers.models.qwen3_5_moe.configuration_qwen3_5_moe import Qwen3_5MoeTextConfig
from transformers.models.qwen3_next.configuration_qwen3_next import Qwen3NextConfig

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)                         # small matrices
N_VOCAB = 256
# d, heads, KV heads, head_dim, ff; heads of keys and values, their dimensions, width of the convolution
MODELS = {
    "qwen35": dict(L=8, d=32, H=4, G=2, D=16, F=48, hk=2, hv=4, dk=16, dv=16, width=4, rot=0.25, tied=True),
    "qwen35odd": dict(L=4, d=48, H=2, G=1, D=32, F=32, hk=1, hv=3, dk=24, dv=40, width=3, rot=0.5, tied=False),
    "qwen35moe": dict(arch="qwen35moe", L=4, d=32, H=4, G=2, D=16, F=24, hk=2, hv=4, dk=16, dv=16, width=4, rot=0.25,
                      tied=False, experts=6, used=2),
    "qwen3next": dict(arch="qwen3next", L=4, d=32, H=4, G=2, D=16, F=24, hk=2, hv=6, dk=16, dv=16, width=4, rot=0.5,
                      tied=False, experts=5, used=3),
}
KINDS = {"qwen35": (q35, "Qwen3_5ForCausalLM", Qwen3_5TextConfig),
         "qwen35moe": (moe, "Qwen3_5MoeForCausalLM", Qwen3_5MoeTextConfig),
         "qwen3next": (nxt, "Qwen3NextForCausalLM", Qwen3NextConfig)}
PROMPTS = {"qwen35": [("a", 200), ("b", 333)], "qwen35odd": [("a", 150)], "qwen35moe": [("a", 130)],
           "qwen3next": [("a", 130)]}
N_NEW, LAYER, KEEP = 8, 3, 64
LIMIT = 2e-4                                     # between two forms of the delta rule, the one in float32


def rule(query, key, value, g, beta, initial_state=None, output_final_state=False, **kw):
    """The delta rule, token by token."""
    q, k, v = (x[0].double() for x in (query, key, value))
    q = q / torch.sqrt((q * q).sum(-1, keepdim=True) + 1e-6) / math.sqrt(q.shape[-1])
    k = k / torch.sqrt((k * k).sum(-1, keepdim=True) + 1e-6)
    n, heads = v.shape[:2]
    q, k = (x.repeat_interleave(heads // x.shape[1], dim=1) for x in (q, k))
    s = torch.zeros(heads, q.shape[-1], v.shape[-1]) if initial_state is None else initial_state[0].double()
    out = torch.empty_like(v)
    for t in range(n):
        s = s * torch.exp(g[0, t].double())[:, None, None]
        u = beta[0, t].double()[:, None] * (v[t] - torch.einsum("hkv,hk->hv", s, k[t]))
        s = s + torch.einsum("hk,hv->hkv", k[t], u)
        out[t] = torch.einsum("hkv,hk->hv", s, q[t])
    return out[None], s[None] if output_final_state else None


def make(v, seed):
    torch.manual_seed(seed)
    n_period = 4
    module, which, config = KINDS[v.get("arch", "qwen35")]
    more = dict(num_experts=v["experts"], num_experts_per_tok=v["used"], moe_intermediate_size=v["F"],
                shared_expert_intermediate_size=v["F"], norm_topk_prob=True, experts_implementation="eager") if "experts" in v else {}
    config = config(
        vocab_size=N_VOCAB, hidden_size=v["d"], intermediate_size=v["F"], num_hidden_layers=v["L"],
        num_attention_heads=v["H"], num_key_value_heads=v["G"], head_dim=v["D"], rms_norm_eps=1e-6,
        tie_word_embeddings=v["tied"], linear_conv_kernel_dim=v["width"], linear_key_head_dim=v["dk"],
        linear_value_head_dim=v["dv"], linear_num_key_heads=v["hk"], linear_num_value_heads=v["hv"],
        layer_types=["full_attention" if (i + 1) % n_period == 0 else "linear_attention" for i in range(v["L"])],
        rope_parameters=dict(rope_type="default", rope_theta=1e4, partial_rotary_factor=v["rot"],
                             mrope_section=[1, 1, 0], mrope_interleaved=True),
        attn_implementation="eager", **more)
    m = getattr(module, which)(config).double().eval()
    for name, p in m.named_parameters():
        def put(x):
            p.data.copy_(x)
        r = torch.randn(p.shape)
        if name.endswith("A_log"):
            put(torch.log(0.02 + 2 * torch.rand(p.shape)).float().double())
        elif name.endswith("dt_bias"):
            put((0.5 * r).float().double())
        elif name.endswith("conv1d.weight"):
            put((0.6 * r).float().double())
        elif name.endswith(("mlp.gate.weight", "shared_expert_gate.weight")):
            put((r * (3 if "mlp.gate" in name else 0.3)).float().double())
        elif "norm" in name and p.dim() == 1:
            base = 1 if "linear_attn" in name else 0
            put((base + 0.1 * r).float().double())
        elif "embed_tokens" in name:
            put(r.half().double())
        else:
            gain = {"experts.down_proj": 3, "lm_head": 4, "q_proj": 1.5, "k_proj": 1.5, "o_proj": 3, "out_proj": 3, "down_proj": 3}
            g = next((x for k, x in gain.items() if k in name), 1)
            put((g * r * p.shape[-1] ** -0.5).half().double())
    return m


def tiled(x, v, size, dim=0):
    """Heads of values side by side for each key's head become every hk-th."""
    shape = x.shape
    x = x.reshape(shape[:dim] + (v["hk"], v["hv"] // v["hk"], size) + shape[dim + 1:])
    return x.swapaxes(dim, dim + 1).reshape(shape)


def write(m, v, path):
    a, keys = v.get("arch", "qwen35"), v["hk"] * v["dk"]
    half = lambda x: x.astype(np.float16)
    f32 = lambda x: x.astype(np.float32)
    w = {k: p.detach().numpy() for k, p in m.named_parameters()}
    one = lambda k: f32(w[k] + 1)
    T = [("token_embd.weight", half(w["model.embed_tokens.weight"])), ("output_norm.weight", one("model.norm.weight"))]
    if not v["tied"]:
        T.append(("output.weight", half(w["lm_head.weight"])))
    for i in range(v["L"]):
        p, s, at = "blk.%d." % i, "model.layers.%d." % i, "model.layers.%d.self_attn." % i
        lin = s + "linear_attn."
        T += [(p + "attn_norm.weight", one(s + "input_layernorm.weight")),
              (p + "post_attention_norm.weight", one(s + "post_attention_layernorm.weight"))]
        if "experts" in v:
            both = w[s + "mlp.experts.gate_up_proj"]
            T += [(p + "ffn_gate_inp.weight", f32(w[s + "mlp.gate.weight"])),
                  (p + "ffn_gate_exps.weight", half(both[:, :v["F"]])), (p + "ffn_up_exps.weight", half(both[:, v["F"]:])),
                  (p + "ffn_down_exps.weight", half(w[s + "mlp.experts.down_proj"])),
                  (p + "ffn_gate_inp_shexp.weight", f32(w[s + "mlp.shared_expert_gate.weight"][0]))]
            T += [(p + "ffn_%s_shexp.weight" % x, half(w[s + "mlp.shared_expert.%s_proj.weight" % x]))
                  for x in ("gate", "up", "down")]
        else:
            T += [(p + "ffn_%s.weight" % x, half(w[s + "mlp.%s_proj.weight" % x])) for x in ("gate", "up", "down")]
        if (i + 1) % 4 == 0:
            T += [(p + "attn_%s.weight" % x, half(w[at + "%s_proj.weight" % x])) for x in "qkv"]
            T += [(p + "attn_output.weight", half(w[at + "o_proj.weight"])),
                  (p + "attn_q_norm.weight", one(at + "q_norm.weight")), (p + "attn_k_norm.weight", one(at + "k_norm.weight"))]
            continue
        conv = w[lin + "conv1d.weight"][:, 0]
        if a == "qwen3next":        # per head of keys: q, k, its values, their gates
            cut = np.cumsum([v["dk"], v["dk"], v["hv"] // v["hk"] * v["dv"]])
            q, k, val, z = np.split(w[lin + "in_proj_qkvz.weight"].reshape(v["hk"], -1, v["d"]), cut, axis=1)
            flat = lambda x: x.reshape(-1, v["d"])
            T += [(p + "attn_qkv.weight", half(np.concatenate([flat(q), flat(k), flat(val)]))),
                  (p + "attn_gate.weight", half(flat(z))), (p + "ssm_conv1d.weight", f32(conv)),
                  (p + "ssm_ba.weight", half(w[lin + "in_proj_ba.weight"])), (p + "ssm_a", f32(-np.exp(w[lin + "A_log"]))),
                  (p + "ssm_dt.bias", f32(w[lin + "dt_bias"])), (p + "ssm_norm.weight", f32(w[lin + "norm.weight"])),
                  (p + "ssm_out.weight", half(w[lin + "out_proj.weight"]))]
            continue
        qkv = w[lin + "in_proj_qkv.weight"]
        parts = lambda x: np.concatenate([x[:2 * keys], tiled(x[2 * keys:], v, v["dv"])])
        T += [(p + "attn_qkv.weight", half(parts(qkv))), (p + "ssm_conv1d.weight", f32(parts(conv))),
              (p + "attn_gate.weight", half(tiled(w[lin + "in_proj_z.weight"], v, v["dv"]))),
              (p + "ssm_beta.weight", half(tiled(w[lin + "in_proj_b.weight"], v, 1))),
              (p + "ssm_alpha.weight", half(tiled(w[lin + "in_proj_a.weight"], v, 1))),
              (p + "ssm_a", f32(tiled(-np.exp(w[lin + "A_log"]), v, 1))),
              (p + "ssm_dt.bias", f32(tiled(w[lin + "dt_bias"], v, 1))),
              (p + "ssm_norm.weight", f32(w[lin + "norm.weight"])),
              (p + "ssm_out.weight", half(np.ascontiguousarray(tiled(w[lin + "out_proj.weight"], v, v["dv"], 1))))]
    T = [(n, np.ascontiguousarray(x)) for n, x in T]
    key = lambda k, t, x: (a + "." + k, t, x)
    M = [("general.architecture", gg.STR, a), ("general.name", gg.STR, "gemkv-tiny-hybrid"),
         key("context_length", gg.U32, 4096), key("embedding_length", gg.U32, v["d"]), key("block_count", gg.U32, v["L"]),
         key("feed_forward_length", gg.U32, v["F"]), key("attention.head_count", gg.U32, v["H"]),
         key("attention.head_count_kv", gg.U32, v["G"]), key("attention.key_length", gg.U32, v["D"]),
         key("attention.value_length", gg.U32, v["D"]), key("rope.dimension_count", gg.U32, int(v["D"] * v["rot"])),
         key("rope.dimension_sections", gg.ARR, (gg.I32, [1, 1, 0, 0])), key("rope.freq_base", gg.F32, 1e4),
         key("attention.layer_norm_rms_epsilon", gg.F32, 1e-6), key("vocab_size", gg.U32, N_VOCAB),
         key("ssm.conv_kernel", gg.U32, v["width"]), key("ssm.state_size", gg.U32, v["dk"]),
         key("ssm.group_count", gg.U32, v["hk"]), key("ssm.time_step_rank", gg.U32, v["hv"]),
         key("ssm.inner_size", gg.U32, v["hv"] * v["dv"]), key("full_attention_interval", gg.U32, 4)]
    if "experts" in v:
        M = [x for x in M if not x[0].endswith(".feed_forward_length")]
        M += [key("expert_count", gg.U32, v["experts"]), key("expert_used_count", gg.U32, v["used"]),
              key("expert_feed_forward_length", gg.U32, v["F"]), key("expert_shared_feed_forward_length", gg.U32, v["F"])]
    M += [("tokenizer.ggml.model", gg.STR, "llama"),
          ("tokenizer.ggml.tokens", gg.ARR, (gg.STR, ["<0x%02X>" % i for i in range(256)])),
          ("tokenizer.ggml.scores", gg.ARR, (gg.F32, [0.0] * 256)),
          ("tokenizer.ggml.token_type", gg.ARR, (gg.I32, [6] * 256)),
          ("tokenizer.ggml.bos_token_id", gg.U32, 1), ("tokenizer.ggml.eos_token_id", gg.U32, 2),
          ("tokenizer.ggml.add_bos_token", gg.BOOL, False)]
    gg.write_gguf(path, M, T)


def forward(m, t, layer):
    """Logits of all rows, the last row of each layer's output, and the scores at the filter layer."""
    box = {}

    def grab(module, args, kw):
        box["h"] = kw.get("hidden_states", args[0] if args else None)
        box["rope"] = kw["position_embeddings"]
    a = m.model.layers[layer].self_attn
    hook = a.register_forward_pre_hook(grab, with_kwargs=True)
    with torch.no_grad():
        out = m(input_ids=torch.tensor([t]), output_hidden_states=True, use_cache=False)
        hook.remove()
        h, (cos, sin) = box["h"], box["rope"]
        q = a.q_norm(torch.chunk(a.q_proj(h).view(1, len(t), -1, 2 * a.head_dim), 2, dim=-1)[0]).transpose(1, 2)
        k = a.k_norm(a.k_proj(h).view(1, len(t), -1, a.head_dim)).transpose(1, 2)
        q, k = q35.apply_rotary_pos_emb(q, k, cos, sin)
        s = torch.einsum("hd,hjd->j", q[0, :, -1], k[0].repeat_interleave(q.shape[1] // k.shape[1], 0))
    return out.logits[0].numpy(), s.numpy()


class Bin:
    def __init__(self):
        self.b = bytearray()

    def put(self, a, dt="<f4"):
        at = len(self.b)
        self.b += np.ascontiguousarray(a, dt).tobytes()
        return "%d %d" % (at, np.size(a))


def greedy(m, t, n_new):
    t, gap = list(t), 1e9
    for _ in range(n_new):
        y = forward(m, t, LAYER)[0][-1]
        gap = min(gap, np.diff(np.sort(y))[-1])
        t.append(int(np.argmax(y)))
    return t[-n_new:], gap


def main():
    out, data = [], Bin()
    mods = [k[0] for k in KINDS.values()]
    theirs = [x.torch_chunk_gated_delta_rule for x in mods]
    for i, (name, v) in enumerate(MODELS.items()):
        m = make(v, 4000 + i)
        write(m, v, "%s/%s.gguf" % (DST, name))
        for pn, n in PROMPTS[name]:
            t = gen.prompt(name, n, 77 * n + i)
            before = forward(m, t, LAYER)[0]
            for x in mods:
                x.torch_chunk_gated_delta_rule = rule
            logits, score = forward(m, t, LAYER)
            apart = np.abs(logits - before).max() / np.abs(logits).max()
            print("%s %s: logits %.2f, the module's own form is off by %.2g" % (name, pn, np.abs(logits).max(), apart))
            assert 0 < apart < LIMIT, apart
            s = np.convolve(score, np.ones(5) / 5, "same")
            best = np.argsort(-s, kind="stable")
            kept = sorted(int(x) for x in best[:KEEP])
            margin = (s[best[KEEP - 1]] - s[best[KEEP]]) / np.abs(s).max()
            again = forward(m, [t[j] for j in kept], LAYER)[0]
            tokens, gap = greedy(m, t, N_NEW)
            for x, y in zip(mods, theirs):
                x.torch_chunk_gated_delta_rule = y
            print("margin %.2g, gap %.2g" % (margin, gap))
            out.append("model %s %s %d layer=%d keep=%d new=%d\n" % (name, pn, n, LAYER, KEEP, N_NEW))
            out.append("tokens %s\n" % " ".join(map(str, t)))
            out.append("answer %s\n" % " ".join(map(str, tokens)))
            out.append("kept %s\n" % " ".join(map(str, kept)))
            out.append("logits %s\n" % data.put(logits))
            out.append("scores %s\n" % data.put(score))
            out.append("second %s\n" % data.put(again[-1]))
            out.append("end\n")
    open(DST + "/hybrid.txt", "w").writelines(out)
    open(DST + "/hybrid.bin", "wb").write(data.b)


if __name__ == "__main__":
    main()
