#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Make golden vectors of layers that predict a further token.

    build-aux/golden-mtp.py ../shared/oracle tests/mkmodel tests/files/golden        (needs NumPy)

Writes mtp.txt and mtp.bin.  tests/mkmodel writes the models, whose bytes are the same on any machine, so that they are
not kept.  All is computed here in float64 from their tensors: the model, its layers with a state, the further layer.
Pair p of the further layer is the model's row p after the last norm, and the token after it."""
import os
import subprocess
import sys
import tempfile

ORACLE, MKMODEL, DST = sys.argv[1:4]
sys.path.insert(0, ORACLE)
import numpy as np
import gguf_io as gg

MODELS = ["--arch=qwen35",
          "--arch=qwen35 --without=blk.4.nextn.shared_head_norm.weight --k-heads=1 --v-heads=3 --state-dim=16 --seed=2",
          "--arch=glm4 --heads=4 --heads-kv=1 --seed=3"]
PROMPTS = [9, 150]                               # the second is more than what is computed together
N_CHAIN, N_BYTE = 4, 256


def norm(x, w, eps):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * w


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def silu(x):
    return x * sigmoid(x)


class Model:
    def __init__(self, path):
        meta, t = gg.read_gguf(path)
        self.arch = a = meta["general.architecture"]
        self.m = {k[len(a) + 1:]: v for k, v in meta.items() if k.startswith(a + ".")}
        self.t = {k: v.astype(np.float64) for k, v in t.items()}
        self.n = self.m["block_count"] - self.m["nextn_predict_layers"]
        self.eps = self.m["attention.layer_norm_rms_epsilon"]
        self.n_vocab = self.t["token_embd.weight"].shape[0]

    def get(self, il, name, other=None):
        return self.t.get("blk.%d.%s.weight" % (il, name), other)

    def rope(self, x):
        """x [n, heads, dim] at positions 0 .. n - 1."""
        n_rot = self.m["rope.dimension_count"]
        angle = np.arange(len(x))[:, None] * self.m["rope.freq_base"] ** (-np.arange(0, n_rot, 2) / n_rot)
        c, s = np.cos(angle)[:, None], np.sin(angle)[:, None]
        y = x.copy()
        one, two = ((slice(0, n_rot, 2), slice(1, n_rot, 2)) if self.arch == "glm4" else
                    (slice(0, n_rot // 2), slice(n_rot // 2, n_rot)))
        y[..., one] = x[..., one] * c - x[..., two] * s
        y[..., two] = x[..., two] * c + x[..., one] * s
        return y

    def attention(self, il, h):
        heads, kv, dim = (self.m["attention." + x] for x in ("head_count", "head_count_kv", "key_length"))
        n = len(h)
        q, k, v = (h @ self.get(il, "attn_" + x).T for x in "qkv")
        gate = None
        if self.arch == "qwen35":
            both = q.reshape(n, heads, 2, dim)
            q, gate = both[:, :, 0], both[:, :, 1]
            q = norm(q, self.get(il, "attn_q_norm"), self.eps)
            k = norm(k.reshape(n, kv, dim), self.get(il, "attn_k_norm"), self.eps)
        q, k = self.rope(q.reshape(n, heads, dim)), self.rope(k.reshape(n, kv, dim))
        k, v = (np.repeat(x.reshape(n, kv, dim), heads // kv, 1) for x in (k, v))
        s = np.einsum("ihd,jhd->hij", q, k) / np.sqrt(dim)
        s = np.where(np.tril(np.ones((n, n), bool)), s, -np.inf)
        p = np.exp(s - s.max(-1, keepdims=True))
        o = np.einsum("hij,jhd->ihd", p / p.sum(-1, keepdims=True), v)
        o = o * sigmoid(gate) if gate is not None else o
        return o.reshape(n, -1) @ self.get(il, "attn_output").T

    def state(self, il, h):
        n, hk, hv = len(h), self.m["ssm.group_count"], self.m["ssm.time_step_rank"]
        dk, dv, width = self.m["ssm.state_size"], self.m["ssm.inner_size"] // hv, self.m["ssm.conv_kernel"]
        x = np.concatenate([np.zeros((width - 1, 2 * hk * dk + hv * dv)), h @ self.get(il, "attn_qkv").T])
        w = self.get(il, "ssm_conv1d")
        x = silu(sum(x[i:i + n] * w[:, i] for i in range(width)))
        q, k, v = np.split(x, [hk * dk, 2 * hk * dk], 1)
        q, k = (y.reshape(n, hk, dk) for y in (q, k))
        q, k = (y / np.sqrt((y * y).sum(-1, keepdims=True) + 1e-6) for y in (q, k))
        v = v.reshape(n, hv, dv)
        alpha = h @ self.get(il, "ssm_alpha").T + self.t["blk.%d.ssm_dt.bias" % il]
        decay = np.exp(self.t["blk.%d.ssm_a" % il].reshape(-1) * np.log1p(np.exp(alpha)))
        rate = sigmoid(h @ self.get(il, "ssm_beta").T)
        z = silu(h @ self.get(il, "attn_gate").T).reshape(n, hv, dv)
        out, s = np.empty((n, hv, dv)), np.zeros((hv, dk, dv))
        for t in range(n):
            for i in range(hv):
                kt, qt = k[t, i % hk], q[t, i % hk]
                s[i] *= decay[t, i]
                s[i] += np.outer(kt, rate[t, i] * (v[t, i] - s[i].T @ kt))
                out[t, i] = s[i].T @ qt / np.sqrt(dk)
        out = norm(out, self.get(il, "ssm_norm"), self.eps) * z
        return out.reshape(n, -1) @ self.get(il, "ssm_out").T

    def layer(self, il, x):
        g = lambda name: self.get(il, name)
        mixer = self.state if g("attn_qkv") is not None else self.attention
        y = mixer(il, norm(x, g("attn_norm"), self.eps))
        if self.arch == "glm4":
            x = x + norm(y, g("post_attention_norm"), self.eps)
            gate, up = np.split(norm(x, g("ffn_norm"), self.eps) @ g("ffn_up").T, 2, 1)
            return x + norm((silu(gate) * up) @ g("ffn_down").T, g("post_ffw_norm"), self.eps)
        x = x + y
        h = norm(x, g("post_attention_norm"), self.eps)
        return x + (silu(h @ g("ffn_gate").T) * (h @ g("ffn_up").T)) @ g("ffn_down").T

    def rows(self, ids):
        """Rows after the last norm."""
        x = self.t["token_embd.weight"][ids]
        for il in range(self.n):
            x = self.layer(il, x)
        return norm(x, self.t["output_norm.weight"], self.eps)

    def head(self, h):
        return h @ self.t.get("output.weight", self.t["token_embd.weight"]).T

    def further(self, h, after):
        """Normalised rows and logits for rows h and the tokens after them."""
        g = lambda name, other=None: self.get(self.n, "nextn." + name, other)
        e = g("embed_tokens", self.t["token_embd.weight"])[after]
        both = np.concatenate([norm(e, g("enorm"), self.eps), norm(h, g("hnorm"), self.eps)], 1)
        y = self.layer(self.n, both @ g("eh_proj").T)
        y = norm(y, g("shared_head_norm", self.t["output_norm.weight"]), self.eps)
        head = g("shared_head_head")
        return y, self.head(y) if head is None else y @ head.T


def chain(m, h, ids):
    """Tokens guessed behind the next one, each with its logits."""
    after, out = list(ids[1:]) + [int(np.argmax(m.head(h[-1:])[0]))], []
    for _ in range(N_CHAIN):
        y, logits = m.further(h, after)
        out.append(logits[-1])
        h = np.concatenate([h, y[-1:]])
        after.append(int(np.argmax(out[-1])))
    return after[-N_CHAIN - 1:], np.array(out)


def main():
    text, data = [], bytearray()

    def put(name, a):
        a = np.ascontiguousarray(a, "<f4")
        text.append("%s %d %d\n" % (name, len(data), a.size))
        data.extend(a.tobytes())
    for i, options in enumerate(MODELS):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.gguf")
            subprocess.run([MKMODEL, "--nextn=1"] + options.split() + [path], check=True)
            m = Model(path)
        for n in PROMPTS:
            ids = np.random.default_rng(100 * i + n).integers(0, N_BYTE, n)
            h = m.rows(ids)
            logits = m.further(h[:-1], ids[1:])[1]
            at = sorted({0, 1, 2, n // 2, n - 3, n - 2} | {p for p in (63, 64, 65) if p < n - 1})
            tokens, guessed = chain(m, h, ids)
            gap = min(np.diff(np.sort(g))[-1] for g in list(guessed) + [m.head(h[-1])])
            print("%s, %d: logits up to %.2f, chain %s, gap %.3f" % (options, n, np.abs(logits).max(), tokens, gap))
            text.append("model %d %s\n" % (n, options))
            text.append("tokens %s\n" % " ".join(map(str, ids)))
            text.append("pairs %s\n" % " ".join(map(str, at)))
            text.append("chain %s\n" % " ".join(map(str, tokens)))
            put("last", m.head(h[-1]))
            put("logits", logits[at])
            put("guessed", guessed)
            text.append("end\n")
    open(DST + "/mtp.txt", "w").writelines(text)
    open(DST + "/mtp.bin", "wb").write(data)


if __name__ == "__main__":
    main()
