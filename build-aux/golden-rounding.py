#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What rounding may do to each golden case, and models whose weights and heads are like real ones.

    build-aux/golden-rounding.py ../shared/oracle tests/files/golden     (needs NumPy; ten minutes of one core)

Run it after golden.py and golden-arch.py.  Writes head64.gguf (q4_k), head128.gguf (q8_0, attention's output in
q4_k), heads.txt and heads.bin in the oracle's form, and rounding.txt for the cases of all three files.  Goes on where it was: remove
heads.txt or rounding.txt to have them made again.

The oracle computes each case some times over with errors of known size:

  attend  Attention in bfloat16 rounds q, k, v and the weights of the softmax to 8 bits: to nearest, so that
          the error is anything up to half a unit in the last place, 2^(floor(log2 |x|) - 8).  Errors of
          different numbers are taken to be independent and evenly spread (Higham and Mary 2019).
  gemm    Products with quantised weights round activations to 8 bits in blocks of 32: an error of up to half
          a step, and a step is max|x| / 127 of the block.

A line of rounding.txt: MODEL PROMPT METHOD FORM, the root mean square of what a logit moves while the selection
is the oracle's (0: never was), the same of a score, the mean and the largest number of tokens selected that the
oracle did not (over all layers and heads), the largest of all root mean squares of logits."""
import importlib.util
import os
import sys
from multiprocessing import Pool

os.environ["OPENBLAS_NUM_THREADS"] = "1"
ORACLE, DST = sys.argv[1], sys.argv[2]
sys.path.insert(0, ORACLE)
import numpy as np
import gen
import gguf_io as gg
import golden
import methods as M
import model as md

spec = importlib.util.spec_from_file_location("arch", os.path.dirname(os.path.abspath(__file__)) + "/golden-arch.py")
arch = importlib.util.module_from_spec(spec)
sys.modules["arch"] = arch                      # for other processes
spec.loader.exec_module(arch)

N_NEW, Q = 8, 24
HEADS = {
    "head64": dict(arch="llama", L=6, d=256, H=4, G=2, D=64, F=64, theta=500000.0, ctx=4096),
    "head128": dict(arch="llama", L=6, d=64, H=2, G=1, D=128, F=64, theta=500000.0, ctx=4096),
}
PROMPTS = [("a", 200), ("b", 333)]
SEEDS = 3
T_Q4_K = 12


# ---- quantised weights -------------------------------------------------------------------------

def q8_0(w):
    b = w.reshape(-1, 32).astype(np.float64)
    d = (np.abs(b).max(1) / 127).astype(np.float16)
    out = np.empty(len(b), np.dtype([("d", "<f2"), ("q", "i1", 32)]))
    out["d"] = d
    out["q"] = np.clip(np.rint(b / np.maximum(d.astype(float), 1e-30)[:, None]), -127, 127)
    return out.tobytes()


Q4_K = np.dtype([("d", "<f2"), ("m", "<f2"), ("s", "u1", 12), ("q", "u1", 128)])


def q4_k(w):
    b = w.reshape(-1, 8, 32).astype(np.float64)
    low = -np.minimum(b.min(2), 0)
    step = (b.max(2) + low) / 15
    d, m = (step.max(1) / 63).astype(np.float16), (low.max(1) / 63).astype(np.float16)
    s = np.clip(np.rint(step / d.astype(float)[:, None]), 1, 63).astype(np.uint8)
    o = np.clip(np.rint(low / m.astype(float)[:, None]), 0, 63).astype(np.uint8)
    ds, ms = d.astype(float)[:, None] * s, m.astype(float)[:, None] * o
    q = np.clip(np.rint((b + ms[:, :, None]) / ds[:, :, None]), 0, 15).astype(np.uint8)
    out = np.empty(len(b), Q4_K)
    out["d"], out["m"] = d, m
    out["s"][:, :4] = s[:, :4] | (s[:, 4:] >> 4) << 6
    out["s"][:, 4:8] = o[:, :4] | (o[:, 4:] >> 4) << 6
    out["s"][:, 8:] = (s[:, 4:] & 15) | (o[:, 4:] & 15) << 4
    out["q"] = (q[:, ::2] | q[:, 1::2] << 4).reshape(-1, 128)
    return out.tobytes()


def from_q4_k(raw, n):
    b = np.frombuffer(raw, Q4_K, n // 256)
    x = b["s"].astype(int)
    s = np.concatenate([x[:, :4] & 63, (x[:, 8:] & 15) | (x[:, :4] >> 6) << 4], 1)
    o = np.concatenate([x[:, 4:8] & 63, (x[:, 8:] >> 4) | (x[:, 4:8] >> 6) << 4], 1)
    q = b["q"].reshape(-1, 4, 1, 32)
    q = np.concatenate([q & 15, q >> 4], 2).reshape(-1, 8, 32)
    d, m = b["d"].astype(float)[:, None, None], b["m"].astype(float)[:, None, None]
    return (d * s[:, :, None] * q - m * o[:, :, None]).reshape(-1)


def write_quantised(path, meta, tensors):
    """Matrices in q4_k where their rows are long enough, in q8_0 otherwise: files that people run are mixed too."""
    h, off, blobs = b"GGUF" + gg.struct.pack("<IQQ", 3, len(tensors), len(meta)), 0, []
    for k, t, v in meta:
        h += gg._ws(k) + gg.struct.pack("<I", t) + gg._wv(t, v)
    for name, a in tensors:
        if a.dtype != np.float16:
            typ, raw = gg.T_F32, np.ascontiguousarray(a, "<f4").tobytes()
        elif a.shape[1] % 256:
            typ, raw = gg.T_Q8_0, q8_0(a)
        else:
            typ, raw = T_Q4_K, q4_k(a)
        h += gg._ws(name) + gg.struct.pack("<I", a.ndim)
        h += b"".join(gg.struct.pack("<Q", x) for x in a.shape[::-1]) + gg.struct.pack("<IQ", typ, off)
        blobs.append(raw + b"\0" * (-len(raw) % gg.ALIGN))
        off += len(blobs[-1])
    h += b"\0" * (-len(h) % gg.ALIGN)
    open(path, "wb").write(h + b"".join(blobs))


def read_more():
    """The oracle's reader, with q4_k."""
    deq, nbytes = gg._deq, gg._nbytes
    gg._deq = lambda raw, typ, n: from_q4_k(raw, n) if typ == T_Q4_K else deq(raw, typ, n)
    gg._nbytes = lambda typ, n: n // 256 * 144 if typ == T_Q4_K else nbytes(typ, n)


# ---- errors ------------------------------------------------------------------------------------

class Exact:
    """Whatever attends goes by attend(); methods share what they all begin with."""
    def prefill(self, tokens, pos=None, last_layer=None, hook=None, seq_len=None):
        key = (tuple(tokens), seq_len)
        if key not in self.memo:
            at = []
            x, _ = super().prefill(tokens, pos, None, lambda *a: at.append(a), seq_len)
            self.memo[key] = at, [a[1] for a in at[1:]] + [x]
        at, xs = self.memo[key]
        cache, last = md.Cache(self.cfg.n_layers), self.cfg.n_layers - 1 if last_layer is None else last_layer
        for l, x, q, k, v, p in at[:last + 1]:
            if hook:
                hook(l, x, q, k, v, p)
            cache.set(l, k, v)
        return xs[last], cache

    def extend(self, tokens, pos, cache, seq_len=None):
        m, x = len(tokens), self.embed(tokens)
        for l in range(self.cfg.n_layers):
            q, k, v = self.qkv(l, x, pos, seq_len)
            cache.append(l, k, v)
            # Caches of different lengths: one mask each, head by head.
            att = [None] * self.cfg.n_heads
            for g, K in enumerate(cache.K[l]):
                per = self.cfg.n_heads // len(cache.K[l])
                vis = np.concatenate([np.ones((m, len(K) - m), bool), np.tril(np.ones((m, m), bool))], 1)
                a, _ = self.attend(q[g * per:(g + 1) * per], [K], [cache.V[l][g]], vis)
                att[g * per:(g + 1) * per] = a
            x = self.finish(l, x, np.stack(att))
        return x


class Attend(Exact):
    def noise(self, x):
        x = np.asarray(x)
        u = self.rng.random(x.shape, np.float32) - np.float32(0.5)
        return x + np.where(x == 0, 0, np.exp2(np.frexp(x)[1] - 8.0)) * u       # frexp's mantissa is below 1

    def probs(self, q, K, mask=None):
        return super().probs(self.noise(q), [self.noise(k) for k in K], mask)

    def attend(self, q, K, V, mask=None):
        p, V = self.probs(q, K, mask), [self.noise(v) for v in V]
        return np.stack([self.noise(a) @ v for a, v in zip(p, md.expand(V, len(q)))]), p


class Gemm(Exact):
    def noise(self, x):
        b = np.asarray(x).reshape(x.shape[:-1] + (-1, 32))
        u = self.rng.random(b.shape) - 0.5
        return (b + np.abs(b).max(-1, keepdims=True) / 127 * u).reshape(x.shape)

    def qkv_raw(self, l, x):
        c, w, n = self.cfg, self.w, len(x)
        h = self.noise(md.rmsnorm(x, w["%d.attn_norm" % l], c.eps))
        return [(h @ w["%d.w%s" % (l, s)].T).reshape(n, heads, c.head_dim).transpose(1, 0, 2)
                for s, heads in (("q", c.n_heads), ("k", c.n_kv), ("v", c.n_kv))]

    def finish(self, l, x, att):
        w = self.w
        y = x + self.noise(att.transpose(1, 0, 2).reshape(len(x), -1)) @ w["%d.wo" % l].T
        h = self.noise(md.rmsnorm(y, w["%d.ffn_norm" % l], self.cfg.eps))
        return y + self.noise(md.silu(h @ w["%d.wg" % l].T) * (h @ w["%d.wu" % l].T)) @ w["%d.wd" % l].T

    def logits(self, x):
        return self.noise(md.rmsnorm(x, self.w["out_norm"], self.cfg.eps)) @ self.w["head"].T


FORMS = {"attend": Attend, "gemm": Gemm}
MEMBERS = {200: 8, 333: 8, 600: 4}


def run(m, fn, kw, t, n_new=1):
    if golden.is_ctx(fn):
        return fn(m, t[:-Q], t[-Q:], n_new=n_new, **kw)
    return fn(m, t, n_new=n_new, **kw)


def sets(r):
    return [set(map(int, g)) for L in golden.sel_lists(r["selected"]) for g in L]


def other(a, b):
    """Tokens of a that are not in b, over all sets."""
    return sum(len(x - y) for x, y in zip(a, b)) if len(a) == len(b) else 1000000


def spread(a, b):
    return float(np.sqrt(np.mean((np.asarray(a) - np.asarray(b)) ** 2)))


def job(a):
    path, load, model, prompt, t, cases, form = a
    m = load(path)
    plain = m.__class__

    def all_of(cls, seed):
        m.__class__, m.memo, m.rng = type("Model", (cls, plain), {}), {}, np.random.default_rng(seed)
        rs = [run(m, fn, kw, t) for _, fn, kw in cases]
        return [(sets(r), r["logits"], r.get("scores")) for r in rs]
    base, out = all_of(Exact, 0), ""
    members = [all_of(FORMS[form], i) for i in range(MEMBERS[len(t)])]

    def rms(x):
        return np.sqrt(np.mean(np.square(x))) if x else 0
    for i, (name, _, _) in enumerate(cases):
        b, rs = base[i], [r[i] for r in members]
        swaps = [other(r[0], b[0]) for r in rs]
        far = [spread(r[1], b[1]) for r in rs]
        near = [x for x, n in zip(far, swaps) if not n]
        score = [spread(r[2], b[2]) for r in rs if r[2] is not None]
        out += "%s %s %s %s %.3e %.3e %.2f %d %.3e\n" % (model, prompt, name, form, rms(near), rms(score),
                                                         np.mean(swaps), max(swaps), max(far))
    return out


# ---- cases -------------------------------------------------------------------------------------

def write_case(out, data, model, pn, n, name, kw, r):
    out.append("case %s %s %s n=%d n_new=%d margin=%.3e gap=%.6f %s\n" % (
        model, pn, name, n, N_NEW, r["margin"], r["gap"],
        " ".join("%s=%s" % (k, int(v) if isinstance(v, bool) else v) for k, v in kw.items())))
    out.append("logits %s\n" % data.put(r["logits"], "<f4"))
    out.append("tokens %s\n" % " ".join(map(str, r["tokens"])))
    for l, L in enumerate(golden.sel_lists(r["selected"])):
        for g, s in enumerate(L):
            out.append("sel %d %d %s\n" % (l, g, data.put(s, "<u2")))
    if r.get("scores") is not None:
        out.append("scores %s\n" % data.put(r["scores"], "<f4"))
    out.append("end\n")


def choose(m, name, n):
    """The prompt whose closest call is the least close."""
    best = (-1, None)
    for seed in range(SEEDS):
        t = gen.prompt(name, n, 1000 * seed + n)
        m.memo = {}
        rs = [run(m, fn, kw, t, N_NEW) for _, fn, kw in golden.CASES]
        good = min(r["margin"] for r in rs)
        if good > best[0]:
            best = (good, t, rs)
        if good > 1e-5:
            break
    print("%s %d: %.1e" % (name, n, best[0]), flush=True)
    return best[1:]


def heads():
    out, data = [], arch.Bin()
    for i, name in enumerate(HEADS):
        path = "%s/%s.gguf" % (DST, name)
        gen.VARIANTS = HEADS
        write, gg.write_gguf = gg.write_gguf, write_quantised
        gen.build(name, path, 3000 + i)
        gg.write_gguf = write
        m = md.load(path)
        m.__class__ = type("Model", (Exact, md.Model), {})
        for pn, n in PROMPTS:
            t, rs = choose(m, name, n)
            out.append("prompt %s %s %d %s\n" % (name, pn, n, " ".join(map(str, t))))
            for (method, _, kw), r in zip(golden.CASES, rs):
                write_case(out, data, name, pn, n, method, kw, r)
    open(DST + "/heads.txt", "w").writelines(out)
    open(DST + "/heads.bin", "wb").write(data.b)


def prompts_of(name):
    for line in open("%s/%s.txt" % (DST, name)):
        f = line.split()
        if f[0] == "prompt":
            yield f[1], f[2], [int(x) for x in f[4:]]


def main():
    read_more()
    if not os.path.exists(DST + "/heads.txt"):
        heads()
    tasks, done = [], []
    for file, forms in (("heads", FORMS), ("arch", ["attend"]), ("cases", ["attend"])):
        for model, pn, t in prompts_of(file):
            load, cases = (arch.load, arch.cases_of(model)) if file == "arch" else (md.load, golden.CASES)
            tasks += [("%s/%s.gguf" % (DST, model), load, model, pn, t, cases, form) for form in forms]
    if os.path.exists(DST + "/rounding.txt"):
        done = open(DST + "/rounding.txt").readlines()
    there = {(f[0], f[1], f[3]) for f in map(str.split, done)}
    tasks = [a for a in tasks if (a[2], a[3], a[6]) not in there]
    tasks.sort(key=lambda a: len(a[4]))
    with Pool(int(os.environ.get("JOBS", "2"))) as pool, open(DST + "/rounding.txt", "a") as f:
        for lines in pool.imap(job, tasks):
            f.write(lines)
            f.flush()


if __name__ == "__main__":
    main()
