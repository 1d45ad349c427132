"""The model: a decoder of the Llama kind, the loss on its filter layer, and answering with a cache.

Everything but attention works on tokens in one long row, so that torch.compile sees one shape for
every length of documents.
"""

from dataclasses import dataclass, replace

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Shape:
    vocabulary: int = 16384
    width: int = 512
    layers: int = 16
    heads: int = 8
    kv_heads: int = 2
    head: int = 64
    ffn: int = 1536
    rope_base: float = 1e7
    eps: float = 1e-5
    filter_layer: int = 6


SHAPES = {
    "mini": Shape(),
    "reader": Shape(vocabulary=8192, width=384, layers=10, heads=6, ffn=896, filter_layer=4),
}
MATRICES = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")


def rope(positions, shape):
    """cos and sin [tokens, head / 2] for positions [tokens]."""
    f = shape.rope_base ** (-torch.arange(0, shape.head, 2, device=positions.device).float() / shape.head)
    angle = positions.reshape(-1, 1).float() * f
    return angle.cos(), angle.sin()


def rotate(x, cos, sin):
    """x [tokens, heads, head]; the two halves of a head are the two parts of each rotation."""
    a, b = x.float().chunk(2, -1)
    cos, sin = cos[:, None], sin[:, None]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1).to(x.dtype)


def norm(x, w, eps):
    f = x.float()
    return (f * torch.rsqrt(f.square().mean(-1, keepdim=True) + eps) * w).to(x.dtype)


def times(x, w):
    return F.linear(x, w.to(x.dtype))


def before_attention(x, cos, sin, n, wq, wk, wv, heads, kv_heads, head, eps):
    h = norm(x, n, eps)
    q = rotate(times(h, wq).view(-1, heads, head), cos, sin)
    k = rotate(times(h, wk).view(-1, kv_heads, head), cos, sin)
    return q, k, times(h, wv).view(-1, kv_heads, head)


def after_attention(x, a, wo, n, wg, wu, wd, eps, drop=0.0):
    """drop: how much of what the two halves of a layer add is left out by chance, at training."""
    x = x + F.dropout(times(a, wo), drop)
    h = norm(x, n, eps)
    return x + F.dropout(times(F.silu(times(h, wg)) * times(h, wu), wd), drop)


def attention(q, k, v, rows):
    """Causal attention within each of so many rows. q [tokens, heads, head] -> [tokens, heads * head]."""
    heads, kv_heads = q.shape[1], k.shape[1]
    split = lambda x: x.view(rows, -1, *x.shape[1:]).transpose(1, 2)
    k, v = (split(x).repeat_interleave(heads // kv_heads, 1) for x in (k, v))
    if hasattr(F, "scaled_dot_product_attention"):
        out = F.scaled_dot_product_attention(split(q), k, v, is_causal=True)
    else:
        n = k.shape[2]
        s = split(q) @ k.transpose(2, 3) * q.shape[-1] ** -0.5
        out = s.masked_fill(torch.ones(n, n, dtype=torch.bool, device=q.device).triu(1), -1e30).softmax(-1) @ v
    return out.transpose(1, 2).reshape(q.shape[0], -1)


class Block(nn.Module):
    def __init__(self, s):
        super().__init__()
        matrix = lambda *size: nn.Parameter(torch.randn(*size) * 0.02)
        self.attn_norm, self.ffn_norm = nn.Parameter(torch.ones(s.width)), nn.Parameter(torch.ones(s.width))
        self.attn_q, self.attn_k = matrix(s.heads * s.head, s.width), matrix(s.kv_heads * s.head, s.width)
        self.attn_v, self.attn_output = matrix(s.kv_heads * s.head, s.width), matrix(s.width, s.heads * s.head)
        self.ffn_gate, self.ffn_up, self.ffn_down = (
            matrix(s.ffn, s.width),
            matrix(s.ffn, s.width),
            matrix(s.width, s.ffn),
        )
        with torch.no_grad():
            self.attn_output.mul_((2 * s.layers) ** -0.5)
            self.ffn_down.mul_((2 * s.layers) ** -0.5)


class Model(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        self.token_embd = nn.Parameter(torch.randn(shape.vocabulary, shape.width) * 0.02)
        self.blk = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.output_norm = nn.Parameter(torch.ones(shape.width))
        self.before, self.after = before_attention, after_attention

    def qkv(self, x, cos, sin, b):
        s = self.shape
        return self.before(x, cos, sin, b.attn_norm, b.attn_q, b.attn_k, b.attn_v, s.heads, s.kv_heads, s.head, s.eps)

    def hidden(self, ids, positions, marks=None, dtype=torch.bfloat16, drop=0.0):
        """ids and positions [rows, length] -> [rows * length, width], and with marks the filter layer's loss and hits."""
        s, rows = self.shape, ids.shape[0]
        cos, sin = rope(positions, s)
        x = F.embedding(ids.reshape(-1), self.token_embd).to(dtype)
        filtered = None
        for i, b in enumerate(self.blk):
            q, k, v = self.qkv(x, cos, sin, b)
            if marks is not None and i == s.filter_layer:
                filtered = filter_loss(q, k, marks, rows, s)
            x = self.after(
                x, attention(q, k, v, rows), b.attn_output, b.ffn_norm, b.ffn_gate, b.ffn_up, b.ffn_down, s.eps, drop
            )
        x = norm(x, self.output_norm, s.eps)
        return x if marks is None else (x, *filtered)

    # ---- answering ---------------------------------------------------------------------------

    @torch.no_grad()
    def read(self, ids, dtype=torch.bfloat16, layers=None):
        """One prompt [length]: the cache, and the last token's logits; or with layers only the filter layer's scores."""
        s = self.shape
        cos, sin = rope(torch.arange(len(ids), device=ids.device), s)
        x, cache = F.embedding(ids, self.token_embd).to(dtype), []
        for i, b in enumerate(self.blk):
            q, k, v = self.qkv(x, cos, sin, b)
            if layers is not None and i == layers:
                q = q[-1].float().view(s.kv_heads, -1, s.head).sum(1)
                return (q * k.float()).sum((1, 2))
            cache.append((k, v))
            x = self.after(x, attention(q, k, v, 1), b.attn_output, b.ffn_norm, b.ffn_gate, b.ffn_up, b.ffn_down, s.eps)
        return cache, self.logits(x[-1:])

    def logits(self, x):
        return norm(x, self.output_norm, self.shape.eps).float() @ self.token_embd.float().T

    @torch.no_grad()
    def answer(self, ids, stop, most=32, dtype=torch.bfloat16):
        """Greedy continuation of one prompt."""
        s, out = self.shape, []
        cache, logits = self.read(ids, dtype)
        while len(out) < most:
            token = logits.argmax(-1)
            if int(token) == stop:
                break
            out.append(int(token))
            cos, sin = rope(torch.tensor([len(ids) + len(out) - 1], device=ids.device), s)
            x = F.embedding(token, self.token_embd).to(dtype)
            for i, b in enumerate(self.blk):
                q, k, v = self.qkv(x, cos, sin, b)
                k, v = torch.cat([cache[i][0], k]), torch.cat([cache[i][1], v])
                cache[i] = k, v
                g = q.view(s.kv_heads, -1, s.head)
                p = (torch.einsum("ghd,tgd->ght", g, k).float() * s.head**-0.5).softmax(-1).to(dtype)
                a = torch.einsum("ght,tgd->ghd", p, v).reshape(1, -1)
                x = self.after(x, a, b.attn_output, b.ffn_norm, b.ffn_gate, b.ffn_up, b.ffn_down, s.eps)
            logits = self.logits(x)
        return out

    @torch.no_grad()
    def answers(self, prompts, stop, most=32, dtype=torch.bfloat16):
        """Greedy continuations of several short prompts (lists of ids), without a cache."""
        device = self.token_embd.device
        longest = max(map(len, prompts)) + most
        ids = torch.full((len(prompts), longest), stop, device=device)
        for i, p in enumerate(prompts):
            ids[i, : len(p)] = torch.tensor(p, device=device)
        row, end = torch.arange(len(prompts), device=device), torch.tensor([len(p) for p in prompts], device=device)
        positions = torch.arange(longest, device=device).expand(len(prompts), -1)
        going = torch.ones(len(prompts), dtype=torch.bool, device=device)
        for _ in range(most):
            x = self.hidden(ids, positions, dtype=dtype).view(len(prompts), longest, -1)[row, end - 1]
            token = (x.float() @ self.token_embd.float().T).argmax(-1)
            going &= token != stop
            if not going.any():
                break
            ids[row[going], end[going]] = token[going]
            end += going
        return [ids[i, len(p) : end[i]].tolist() for i, p in enumerate(prompts)]

    @torch.no_grad()
    def ranked(self, ids, dtype=torch.bfloat16):
        """GemFilter: places of ids, the one that the last attends to most at the filter layer first; scores are
        smoothed over 5."""
        score = self.read(ids, dtype, self.shape.filter_layer)
        return F.avg_pool1d(score[None, None], 5, 1, 2)[0, 0].sort(descending=True).indices

    def kept(self, ids, k, dtype=torch.bfloat16):
        """The first k of ranked(), in the order of the text."""
        return ids[self.ranked(ids, dtype)[:k].sort().values]


def filter_loss(q, k, marks, rows, s):
    """How far GemFilter's score puts the evidence and the question above everything else, and the share of
    evidence tokens that are above all else together.

    The score of a token is the sum over heads of its key times the query of the prompt's last token. marks
    [rows, questions, 6]: the last token of the prompt (-1: no question), where the question begins, and the
    two stretches of evidence. The loss pulls a token's score over the log of the summed exponentials of all
    that is neither.
    """
    n = q.shape[0] // rows
    last = marks[..., 0].clamp(min=0)
    q = q.view(rows, n, s.kv_heads, -1, s.head).sum(3).flatten(2)
    k = k.reshape(rows, n, -1)
    q = torch.gather(q, 1, last[..., None].expand(-1, -1, q.shape[-1]))
    score = (q.float() @ k.float().transpose(1, 2)) * s.head**-0.5  # [rows, questions, n]
    at = torch.arange(n, device=q.device)
    m = [marks[..., i : i + 1] for i in range(6)]
    asked = m[0] >= 0
    evidence = (((at >= m[2]) & (at < m[3])) | ((at >= m[4]) & (at < m[5]))) & asked
    question = (at >= m[1]) & (at <= m[0]) & asked
    other = (at < m[0]) & ~evidence & ~question
    bar = torch.logsumexp(score.masked_fill(~other, -1e30), -1, keepdim=True)
    short = F.softplus(bar - score)
    mean = lambda x, where: (x * where).sum(-1) / where.sum(-1).clamp(min=1)
    asked = asked[..., 0]
    count = asked.sum().clamp(min=1)
    loss = ((mean(short, evidence) + 0.3 * mean(short, question)) * asked).sum() / count
    hits = (mean((score > bar).float(), evidence) * asked).sum() / count
    return loss, hits.detach()


# ---- GGUF -------------------------------------------------------------------------------------------


def named_shape(state):
    """The name of the shape that a state dictionary has, and a copy of it."""
    size = tuple(state["token_embd"].shape)
    return next((name, replace(s)) for name, s in SHAPES.items() if (s.vocabulary, s.width) == size)


def from_gguf(reader, shape=None):
    """The model of a file; its shape is found if none is given, with the file's RoPE base."""
    tensors = {name: torch.from_numpy(reader.tensor(name).copy()) for name in reader.where}
    if shape is None:
        shape = named_shape({n.removesuffix(".weight"): x for n, x in tensors.items()})[1]
        shape.rope_base = reader.meta["llama.rope.freq_base"][1]
    model = Model(shape)
    state = {}
    for name, x in tensors.items():
        if name.endswith(("attn_q.weight", "attn_k.weight")):  # GGUF interleaves the two halves
            x = x.view(-1, shape.head // 2, 2, x.shape[1]).transpose(1, 2).reshape(x.shape)
        state[name.removesuffix(".weight")] = x
    model.load_state_dict(state)
    return model


def to_tensors(state, shape):
    """GGUF's tensors, float32, of a state dictionary."""
    out = {}
    for name, x in state.items():
        x = x.float()
        if name.endswith(("attn_q", "attn_k")):
            x = x.view(-1, 2, shape.head // 2, x.shape[1]).transpose(1, 2).reshape(x.shape)
        out[name + ".weight"] = x.numpy()
    order = ["token_embd.weight", "output_norm.weight"]
    return {n: out[n] for n in order + [n for n in out if n not in order]}
