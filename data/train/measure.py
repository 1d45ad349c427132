#!/usr/bin/env python3
"""Needles and questions at sizes that a processor takes too long for: a look on the GPU, beside `gemkv eval`.

    python3 measure.py CKPT/weights.pt OUT --needles NEEDLES.json --text TEXT.txt --lengths 4096,16384,131072
    python3 measure.py CKPT/weights.pt OUT --squad FILE.json ... --most 400

--needles hides each needle in TEXT at a depth drawn at random and asks for it, with attention to everything and
with the 1,024 tokens that the filter layer keeps. Right is an answer that contains a right one, as for `gemkv
eval niah`. Needles made by facts.py are measured, too ("made").

--filter looks at the filter layer alone: in how many prompts at least half of the needle's tokens are among the 2.5,
5, 10 and 20 % it keeps. With --squad, the needles are the answers' sentences, in paragraphs between those of other articles.

--squad asks questions on single paragraphs: F1, exact answers, and how many were answered with the sentence
that says that the text does not say it; FILE is in SQuAD's format, or OUT/held-out.jsonl.
"""

import argparse
import json
import random
import re
import time
from collections import Counter

import numpy as np
import torch

import gguf
from facts import Facts
from model import Model, Shape, from_gguf, named_shape
from tokenizer import Tokenizer

KEEP = 1024
SHARES = 0.025, 0.05, 0.1, 0.2
REFUSAL = "text does not say"


def plain(text):
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", re.sub(r"[^\w\s]", "", text.lower())).split())


def f1(out, right):
    a, b = out.split(), right.split()
    same = sum((Counter(a) & Counter(b)).values())
    return 2 * same / (len(a) + len(b)) if same else float(a == b)


def prompt(tok, document, question):
    """document: ids. As in the engine, but for the seam between tokens and text within a document."""
    drop, end = tok.ask(document, question)
    return np.concatenate(
        [
            [tok.bos, tok.turn],
            tok.encode("user\n"),
            document[: len(document) - drop],
            end,
            [tok.end],
            tok.encode("\n"),
            [tok.turn],
            tok.encode("assistant\n"),
        ]
    ).astype(np.int64)


def load(weights, device, rope_base):
    if weights.endswith(".gguf"):
        model = from_gguf(gguf.Reader(weights))
    else:
        state = torch.load(weights, map_location="cpu")
        shape = named_shape(state)[1]
        shape.rope_base = rope_base
        model = Model(shape)
        model.load_state_dict({k: v.float() for k, v in state.items()})
    return model.to(device).eval()


def hidden(tok, hay, said, question, depth):
    """A prompt with a needle (ids) at the sentence end of hay that is nearest to depth, and where the needle stands."""
    stops = np.array([t.endswith((".", "!", "?")) for t in tok.tokens])
    spots = np.flatnonzero(stops[hay]) + 1
    spot = int(spots[np.abs(spots - depth * len(hay)).argmin()])
    ids = prompt(tok, np.concatenate([hay[:spot], said, hay[spot:]]), question)
    first = spot + 2 + len(tok.encode("user\n"))
    return ids, (first, first + len(said))


def needle_prompts(tok, a, length, rng):
    hay = np.array(tok.encode(open(a.text).read()), np.int64)
    hay = np.tile(hay, 1 + 140_000 // len(hay))
    for n in json.load(open(a.needles)) * a.samples:
        said = np.array(tok.encode(" " + n["needle"]))
        room = length - len(said) - 80
        at = rng.randrange(len(hay) - room)
        yield hidden(tok, hay[at : at + room], said, n["question"], rng.random())


def squad_prompts(tok, path, most, length, rng):
    """Questions on a paragraph that stands among paragraphs of other articles, and the sentence that answers each."""
    data = json.load(open(path))["data"]
    asks = [(i, p, q) for i, d in enumerate(data) for p in d["paragraphs"] for q in p["qas"] if q["answers"]]
    encoded = [[tok.encode(p["context"] + "\n\n") for p in d["paragraphs"]] for d in data]
    for i, p, q in rng.sample(asks, most):
        text, at = p["context"], q["answers"][0]["answer_start"]
        ends = [0, *(m.end() - 1 for m in re.finditer(r"[.!?]['\")]? (?=[A-Z\"'(])", text)), len(text)]
        a, b = next((a, b) for a, b in zip(ends, ends[1:]) if a <= at < b)
        begin, said, end = (tok.encode(x) for x in (text[:a], text[a:b], text[b:] + "\n\n"))
        parts, n = [], len(begin + said + end)
        while n < length - 80:
            k = rng.randrange(len(data))
            if k != i:
                parts.append(rng.choice(encoded[k]))
                n += len(parts[-1])
        before = rng.randrange(len(parts) + 1)
        hay = sum(parts[:before], []) + begin
        ids = prompt(tok, np.array(hay + said + end + sum(parts[before:], [])), q["question"])
        first = len(hay) + 2 + len(tok.encode("user\n"))
        yield ids, (first, first + len(said))


def filtered(model, tok, a, device, dtype):
    for kind in [a.needles] * bool(a.needles) + a.squad:
        for length in map(int, a.lengths.split(",")):
            began, rng, score = time.time(), random.Random(length), []
            prompts = needle_prompts(tok, a, length, rng)
            if kind != a.needles:
                prompts = squad_prompts(tok, kind, a.most, length, rng)
            for ids, (first, last) in prompts:
                best = model.ranked(torch.from_numpy(ids).to(device), dtype)
                place = torch.empty_like(best)
                place[best] = torch.arange(len(best), device=device)
                needed = place[first:last].sort().values[(last - first) // 2]  # so many are kept with half of the needle
                score.append([float(needed) < share * len(ids) for share in SHARES])
                if time.time() - began > a.seconds:
                    break
            kept = ", ".join(f"{100 * s:g} %: {int(n)}" for s, n in zip(SHARES, np.sum(score, axis=0)))
            print(f"{kind} {length}: of {len(score)}, kept at {kept}; {time.time() - began:.0f} s", flush=True)


def needles(model, tok, a, device, dtype):
    hay = np.array(tok.encode(open(a.text).read()), np.int64)
    hay = np.tile(hay, 1 + 140_000 // len(hay))
    stops = np.array([t.endswith((".", "!", "?")) for t in tok.tokens])
    written = json.load(open(a.needles))
    for length in map(int, a.lengths.split(",")):
        began, score, rng = time.time(), {}, random.Random(length)
        facts = Facts(rng)
        for n in written * a.samples:
            made, qas = facts.one()
            q, answer = rng.choice(qas)
            for kind, said, question, answers in (
                ("written", n["needle"], n["question"], n["answers"]),
                ("made", made[0], q, [answer]),
            ):
                if kind == "made" and a.written:
                    continue
                fact = np.array(tok.encode(" " + said))
                room = length - len(fact) - 80
                at = rng.randrange(len(hay) - room)
                part = hay[at : at + room]
                spots = np.flatnonzero(stops[part]) + 1
                spot = int(spots[np.abs(spots - rng.random() * room).argmin()])
                ids = torch.from_numpy(prompt(tok, np.concatenate([part[:spot], fact, part[spot:]]), question))
                ids = ids.to(device)
                for method in ("full", "gemfilter"):
                    asked = ids if method == "full" else model.kept(ids, KEEP, dtype)
                    out = plain(tok.decode(model.answer(asked, tok.end, dtype=dtype)))
                    right = any(f" {plain(x)} " in f" {out} " for x in answers)
                    score.setdefault((kind, method), []).append(right)
                    if a.show and not right:
                        print("   ", length, method, question, "=>", out, "<=", answers[0])
            if time.time() - began > a.seconds:
                break
        print(
            length,
            {f"{k} {m}": f"{sum(v)}/{len(v)}" for (k, m), v in score.items()},
            f"{time.time() - began:.0f} s",
            flush=True,
        )


def questions_of(path):
    """(kind, context, question, right answers)"""
    if path.endswith(".jsonl"):
        for line in open(path):
            d = json.loads(line)
            if d["task"] == "paragraph":
                yield "answered", d["context"], d["question"], d["answers"]
        return
    for article in json.load(open(path))["data"]:
        for p in article["paragraphs"]:
            for q in p["qas"]:
                right = [x["text"] for x in q["answers"]]
                kind = "unanswered" if q.get("is_impossible") else "answered"
                if right or kind == "unanswered":
                    yield kind, p["context"], q["question"], right


def paragraphs(model, tok, path, a, dtype):
    began, by = time.time(), {}
    for kind, *row in questions_of(path):
        by.setdefault(kind, []).append(row)
    for kind, rows in by.items():
        rows = random.Random(5).sample(rows, min(a.most, len(rows)))
        rows = sorted(
            ((prompt(tok, np.array(tok.encode(c)), q).tolist(), q, right) for c, q, right in rows), key=lambda r: len(r[0])
        )
        score = []
        for i in range(0, len(rows), a.batch):
            part = rows[i : i + a.batch]
            for (_, q, right), ids in zip(part, model.answers([r[0] for r in part], tok.end, 24, dtype)):
                out = plain(tok.decode(ids))
                refused = out == REFUSAL
                score.append(
                    (
                        max((f1(out, plain(x)) for x in right), default=0),
                        max((float(out == plain(x)) for x in right), default=0),
                        float(refused),
                    )
                )
                if a.show and len(score) % 10 == 0:
                    print("   ", kind, q, "=>", out, "<=", right[:1])
        m = 100 * np.mean(score, axis=0)
        print(f"{path} {kind}: {len(score)} rows, F1 {m[0]:.1f}, exact {m[1]:.1f}, refused {m[2]:.1f} %", end="; ")
        print(f"{time.time() - began:.0f} s", flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("weights")
    p.add_argument("folder")
    p.add_argument("--needles")
    p.add_argument("--text")
    p.add_argument("--lengths", default="4096,16384,32768,65536,131072")
    p.add_argument("--samples", type=int, default=1)
    p.add_argument("--seconds", type=float, default=1e9, help="at most so long for one length")
    p.add_argument("--squad", nargs="*", default=[])
    p.add_argument("--most", type=int, default=400, help="rows of each kind")
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--filter", action="store_true", help="only the filter layer")
    p.add_argument("--written", action="store_true", help="no made needles")
    p.add_argument("--rope-base", type=float, default=Shape.rope_base, help="of CKPT/weights.pt; a GGUF file says its own")
    p.add_argument("--show", action="store_true", help="print some answers")
    a = p.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    model = load(a.weights, device, a.rope_base)
    tok = Tokenizer(a.folder + "/vocabulary.json")
    if a.filter:
        filtered(model, tok, a, device, dtype)
        return
    for path in a.squad:
        with torch.no_grad():
            paragraphs(model, tok, path, a, dtype)
    if a.needles:
        needles(model, tok, a, device, dtype)


if __name__ == "__main__":
    main()
