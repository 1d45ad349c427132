#!/usr/bin/env python3
"""Step 4: training on one or more GPUs.

    torchrun --nproc-per-node 2 train.py --data OUT --init MODEL.gguf --out CKPT

OUT holds data.npz and vocabulary.json. --init takes a GGUF file, an earlier CKPT/weights.pt, or
CKPT/state.pt, which has the optimizer's state, too, and how long was trained; without it the model starts from random
weights. --shape names one of model.py's. --phases says what to train on when: "until:length*weight,..." with
until a fraction of the time; each step takes one length, drawn by weight. CKPT receives state.pt (weights
and optimizer) and weights.pt (bfloat16) at every --save seconds and at the end, and log.txt. From the fraction
--mean of the time on it also receives mean.pt, the mean of the weights since then (float32), and at --checkpoints
moments, evenly until the end, weights-1.pt, weights-2.pt ..., of which other means can be made.

Where the machine comes for a part of the time only, --pause ends the training early: it goes on with --init
CKPT/state.pt. --held names a folder like OUT whose documents are not trained on: the losses on four batches of
their questions are in the log at every --save.

One step is --tokens tokens on every GPU, whatever the length. Matrices are trained by Muon, the rest by
AdamW. The loss is that of the answers, of the questions, of a sample of the text, and of the filter layer.
"""

import argparse
import os
import random
import time
from dataclasses import replace

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, IterableDataset

import gguf
from model import MATRICES, SHAPES, Model, Shape, from_gguf
from rows import ANSWER, QUESTION, TEXT, Rows

MEAN_STEPS = 10  # steps between two moments of the mean
HELD_LENGTH, HELD_BATCHES = 4096, 4
HELD_KINDS = {"human": (0.5,) * 3, "planted": (0.5,) * 3}


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("--data", required=True)
    p.add_argument("--init")
    p.add_argument("--out", required=True)
    p.add_argument("--shape", choices=SHAPES, default="mini")
    p.add_argument("--held")
    p.add_argument("--minutes", type=float, default=20, help="of all parts together")
    p.add_argument("--until", type=float, help="the end, in seconds since 1970, instead of --minutes")
    p.add_argument("--done", type=float, default=0, help="seconds trained before, where --init does not know")
    p.add_argument("--pause", type=float, help="the end of this part, in seconds since 1970")
    p.add_argument(
        "--phases",
        default="0.35:1024*3,4096*2 0.6:1024*4,4096*4,16384*2,32768 1:1024*9,4096*8,16384*4,32768*3,65536*1.5,131072",
    )
    p.add_argument("--text", type=float, default=0.15, help="share of the tokens of text that the loss looks at")
    p.add_argument("--text-weight", type=float, default=0.25)
    p.add_argument("--question-weight", type=float, default=0.03)
    p.add_argument("--drop", type=float, default=0.1, help="dropout in rows of up to 4,096 tokens")
    p.add_argument("--tokens", type=int, default=131072)
    p.add_argument("--workers", type=int, default=2, help="processes that make rows, for each length")
    p.add_argument("--matrix-rate", type=float, default=0.01)
    p.add_argument("--rate", type=float, default=1e-3)
    p.add_argument("--warmup", type=int, default=60)
    p.add_argument("--level", type=float, default=0.4, help="fraction of the time before the rates fall")
    p.add_argument("--filter-weight", type=float, default=0.15)
    p.add_argument("--rope-base", type=float, default=Shape.rope_base)
    p.add_argument("--save", type=float, default=100)
    p.add_argument("--mean", type=float, default=0.5, help="fraction of the time from which on the mean is taken")
    p.add_argument("--refusals", type=float, default=1, help="questions without an answer, times the usual share")
    p.add_argument("--checkpoints", type=int, default=0)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--plain", action="store_true", help="no torch.compile, float32: for a test without a GPU")
    return p.parse_args()


class Source(IterableDataset):
    def __init__(self, folder, length, rows, seed, refusals):
        self.args = folder, length, rows, seed, refusals

    def __iter__(self):
        folder, length, n, seed, refusals = self.args
        worker = torch.utils.data.get_worker_info()
        os.nice(10)  # the process that feeds the GPU goes before those that make rows
        made = Rows(folder, seed * 1000 + (worker.id if worker else 0), refusals)
        while True:
            yield stacked([made.row(length) for _ in range(n)])


def stacked(rows):
    return tuple(torch.from_numpy(np.stack(column)) for column in zip(*rows))


class Muon:
    """Momentum, made orthogonal (Jordan et al. 2024), for matrices of equal size together."""

    def __init__(self, matrices):
        self.groups = {}
        for p in matrices:
            self.groups.setdefault(tuple(p.shape), []).append(p)
        self.momentum = {s: torch.zeros(len(ps), *s, device=ps[0].device) for s, ps in self.groups.items()}

    @staticmethod
    def orthogonal(g):
        x = g.bfloat16()
        tall = x.shape[-2] > x.shape[-1]
        x = x.mT if tall else x
        x = x / (x.norm(dim=(-2, -1), keepdim=True) * 1.02 + 1e-6)
        for _ in range(5):
            s = x @ x.mT
            x = 3.4445 * x + (2.0315 * s @ s - 4.7750 * s) @ x
        return (x.mT if tall else x).float()

    @torch.no_grad()
    def step(self, rate):
        for shape, ps in self.groups.items():
            g, m = torch.stack([p.grad for p in ps]), self.momentum[shape]
            m.lerp_(g, 0.05)
            for p, u in zip(ps, self.orthogonal(g.lerp(m, 0.95))):
                p.mul_(1 - 0.01 * rate).add_(u, alpha=-rate * max(1, shape[0] / shape[1]) ** 0.5)


class Mean:
    """The mean of the weights at all moments that were added, on their device."""

    def __init__(self, model):
        self.named = dict(model.named_parameters())
        self.values = {n: torch.zeros_like(p, dtype=torch.float32) for n, p in self.named.items()}
        self.count = 0

    @torch.no_grad()
    def add(self):
        self.count += 1
        for n, p in self.named.items():
            self.values[n].lerp_(p.float(), 1 / self.count)

    def state(self):
        return {n: v.cpu() for n, v in self.values.items()}


def parse_phases(text):
    out = []
    for phase in text.split():
        until, lengths = phase.split(":")
        pairs = [(x.split("*") + ["1"])[:2] for x in lengths.split(",")]
        out.append((float(until), [int(n) for n, _ in pairs], [float(w) for _, w in pairs]))
    return out


def main():
    a = arguments()
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0))) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    if world > 1:
        dist.init_process_group("nccl" if cuda else "gloo")
    torch.manual_seed(a.seed)
    torch.set_float32_matmul_precision("high")
    os.makedirs(a.out, exist_ok=True)
    log_file = open(a.out + "/log.txt", "a") if rank == 0 else None

    def log(*words):
        if rank == 0:
            print(*words, flush=True)
            print(*words, file=log_file, flush=True)

    shape = replace(SHAPES[a.shape], rope_base=a.rope_base)
    state = {}
    if a.init and a.init.endswith(".gguf"):
        model = from_gguf(gguf.Reader(a.init), shape)
    else:
        model = Model(shape)
        if a.init:
            state = torch.load(a.init, map_location="cpu")
            model.load_state_dict({k: v.float() for k, v in state.get("model", state).items()})
    done = state.get("done", {"seconds": a.done, "step": 0, "tokens": 0, "checkpoints": 0})
    model.to(device)
    if not a.plain:
        model.before, model.after = torch.compile(model.before, dynamic=False), torch.compile(
            model.after, dynamic=False
        )
    dtype = torch.float32 if a.plain else torch.bfloat16

    matrices = [p for n, p in model.named_parameters() if n.split(".")[-1] in MATRICES]
    others = [p for n, p in model.named_parameters() if n.split(".")[-1] not in MATRICES]
    muon = Muon(matrices)
    adam = torch.optim.AdamW(others, lr=a.rate, betas=(0.9, 0.95), weight_decay=0.0)
    if state.get("muon"):
        for s, m in muon.momentum.items():
            m.copy_(state["muon"][s])
        adam.load_state_dict(state["adam"])
    mean, checkpoints = Mean(model), done["checkpoints"]
    if "mean" in state:
        mean.count = state["mean"]["count"]
        for n, v in mean.values.items():
            v.copy_(state["mean"]["values"][n])
    log(
        f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters, {world} processes, rope base {shape.rope_base:g}"
    )

    def chunk_loss(h, y, w):
        loss = F.cross_entropy((h @ model.token_embd.to(h.dtype).T).float(), y, reduction="none")
        parts = [(w == kind).float() for kind in (TEXT, ANSWER, QUESTION)]
        return (*((loss * x).sum() for x in parts), *(x.sum() for x in parts))

    def losses(ids, weights, positions, marks, training=True):
        drop = a.drop if training and ids.shape[1] <= 4097 else 0.0
        h, filtered, hits = model.hidden(ids[:, :-1], positions, marks, dtype, drop)
        y, w = ids[:, 1:].reshape(-1), weights[:, 1:].reshape(-1)
        at = torch.nonzero((w >= ANSWER) | ((w == TEXT) & (torch.rand(w.shape, device=device) < a.text)))[:, 0]
        h, y, w = h[at], y[at], w[at]
        total = [0.0] * 6
        for i in range(0, len(y), 16384):
            part = checkpoint(chunk_loss, h[i : i + 16384], y[i : i + 16384], w[i : i + 16384], use_reentrant=False)
            total = [x + p for x, p in zip(total, part)]
        return *(x / n.clamp(min=1) for x, n in zip(total, total[3:])), filtered, hits

    def write(name, what):
        torch.save(what, a.out + "/" + name + ".tmp")
        os.replace(a.out + "/" + name + ".tmp", a.out + "/" + name)

    def weights():
        return {k: v.detach().cpu() for k, v in model.state_dict().items()}

    def half(state):
        return {k: v.bfloat16() for k, v in state.items()}

    def save():
        if rank == 0:
            model_state = weights()
            write("weights.pt", half(model_state))
            far = {"seconds": time.time() - began, "step": step, "tokens": tokens, "checkpoints": checkpoints}
            whole = {"model": model_state, "muon": muon.momentum, "adam": adam.state_dict(), "done": far}
            if mean.count:
                write("mean.pt", mean.state())
                whole["mean"] = {"count": mean.count, "values": mean.state()}
            write("state.pt", whole)

    if cuda:
        from torch.nn.attention import SDPBackend, sdpa_kernel

        kernels = sdpa_kernel([SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION])
        kernels.__enter__()
    phases, draw = parse_phases(a.phases), random.Random(a.seed)
    loaders = {}

    def batch(length):
        if length not in loaders:
            seed = a.seed * 100 + rank * 10 + len(loaders) + 7919 * done["step"]
            source = Source(a.data, length, max(1, a.tokens // length), seed, a.refusals)
            loaders[length] = iter(
                DataLoader(source, batch_size=None, num_workers=a.workers, prefetch_factor=4, pin_memory=cuda)
            )
        return sent(next(loaders[length]))

    def sent(rows):
        ids, weights, positions, marks = (x.to(device, non_blocking=True) for x in rows)
        return ids.long(), weights, positions, marks

    held = []
    if a.held and rank == 0:
        rows = Rows(a.held, 1)
        rows.KINDS = HELD_KINDS
        for _ in range(HELD_BATCHES):
            held.append(stacked([rows.row(HELD_LENGTH) for _ in range(max(1, a.tokens // HELD_LENGTH))]))

    def look():
        """The losses on documents that are not trained on, in the log."""
        if held:
            sums = sum(torch.stack([x.detach().float() for x in losses(*sent(rows), False)]) for rows in held)
            t, x, q, f, h = (sums / len(held)).tolist()
            log(f"held out at step {step}: text {t:.3f} answers {x:.3f} questions {q:.3f} filter {f:.2f} hits {h:.3f}")

    for _, lengths, _ in phases:  # start all that makes rows
        for length in lengths:
            batch(length)
    saved = last = time.time()
    began = saved - done["seconds"]
    duration = a.until - began if a.until else a.minutes * 60
    step, tokens = done["step"], done["tokens"]
    means, by_length, seconds = {}, {}, {}
    while True:
        paused = a.pause is not None and time.time() >= a.pause
        now = torch.tensor(1.0 if paused else (time.time() - began) / duration, device=device)
        if world > 1:
            dist.broadcast(now, 0)
        fraction = float(now)
        if fraction >= 1:
            break
        _, lengths, shares = next(p for p in phases if fraction < p[0])
        length = draw.choices(lengths, shares)[0]
        rate = min(1, (step + 1) / a.warmup) * (1 if fraction < a.level else max(0.02, (1 - fraction) / (1 - a.level)))
        for group in adam.param_groups:
            group["lr"] = a.rate * rate
        text, answer, question, filtered, hits = losses(*batch(length))
        (a.text_weight * text + answer + a.question_weight * question + a.filter_weight * filtered).backward()
        if world > 1:
            for p in model.parameters():
                dist.all_reduce(p.grad, op=dist.ReduceOp.AVG if cuda else dist.ReduceOp.SUM)
                if not cuda:
                    p.grad /= world
        size = torch.nn.utils.clip_grad_norm_(others, 1.0)
        if torch.isfinite(size):
            muon.step(a.matrix_rate * rate)
            adam.step()
        else:
            log("a step that is not finite is left out")
        model.zero_grad(set_to_none=True)
        step += 1
        if fraction >= a.mean and step % MEAN_STEPS == 0:
            mean.add()
        if rank == 0 and fraction >= a.mean + (1 - a.mean) * (checkpoints + 1) / (a.checkpoints + 1):
            checkpoints += 1
            write(f"weights-{checkpoints}.pt", half(weights()))
        tokens += a.tokens * world
        by_length[length] = by_length.get(length, 0) + a.tokens * world
        seconds[length] = seconds.get(length, 0) + time.time() - last
        last = time.time()
        means.setdefault(length, []).append(torch.stack([x.detach().float() for x in (text, answer, question, filtered, hits)]))
        if step in (1, 2, 5, 20) or step % 50 == 0:
            for n, rows in sorted(means.items()):
                t, x, q, f, h = torch.stack(rows).mean(0).tolist()
                log(
                    f"step {step} at {fraction:.3f} ({time.time() - began:.0f} s) length {n}: text {t:.3f} answers {x:.3f} "
                    f"questions {q:.3f} filter {f:.2f} hits {h:.3f}; {tokens / 1e6:.0f} M tokens"
                )
            means = {}
        due = torch.tensor(float(time.time() - saved > a.save), device=device)
        if world > 1:
            dist.broadcast(due, 0)
        if float(due):
            save()
            look()
            saved = time.time()
    if not paused:
        mean.add()
    save()
    look()
    log(f"mean of {mean.count} moments, {checkpoints} checkpoints")
    log("by length:", {n: f"{t / 1e6:.1f} M tokens, {seconds[n]:.0f} s" for n, t in sorted(by_length.items())})
    log(f"done: {step} steps, {tokens} tokens, {time.time() - began:.0f} s")
    if world > 1:
        dist.barrier()
    os._exit(0)  # without waiting for the processes that make rows


if __name__ == "__main__":
    main()
