#!/usr/bin/env python3
"""Step 8 after sittings.sh: means of the start and of the sittings, each measured, on all GPUs at once.

    python3 means.py WORK [--until TIME]

WORK has start.gguf, out/vocabulary.json and ckpt/NUMBER/mean.pt, and in dev what is asked: squad.json, a file in SQuAD's
format, and for needles needles.json and text.txt. Every other article of squad.json is for the choice, the others are for
the report, so that what is reported has chosen nothing.

First the start and the mean of all sittings with so much of the start; then, with the share that was best, three of the
sittings; then each sitting alone. The name of the best is written to WORK/means/best. Last, the start and the best three
answer the report's questions and find needles in up to 131,072 tokens. One line for each candidate; WORK/means/NAME.pt has
its weights (bfloat16), of which export.py makes the file. The score is F1 + 0.3 x the percentage of unanswerable questions
that are refused.
"""

import argparse
import contextlib
import io
import itertools
import json
import os
import re
import sys
import time
from multiprocessing import get_context


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("work")
    p.add_argument("--gpus", type=int, default=4)
    p.add_argument("--most", type=int, default=1000, help="rows of each kind for the choice")
    p.add_argument("--until", type=float, default=1e12, help="no measurement begins later")
    p.add_argument("--lengths", default="4096,16384,32768,65536,131072")
    p.add_argument("--seconds", type=float, default=40, help="at most so long for the needles of one length")
    p.add_argument("--best", type=int, default=3, help="so many are reported, and the start")
    return p.parse_args()


def worker(gpu, a, sittings, tasks, done):
    os.environ["CUDA_VISIBLE_DEVICES"] = str(gpu)
    sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), a.work + "/site"]
    import torch

    import measure
    from tokenizer import Tokenizer

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    model = measure.load(a.work + "/start.gguf", device, 0)
    parts = {0: {k: v.clone() for k, v in model.state_dict().items()}}
    for n in sittings:
        state = torch.load(f"{a.work}/ckpt/{n}/mean.pt", map_location=device)
        parts[n] = {k: v.float() for k, v in state.items()}
    tok = Tokenizer(a.work + "/out/vocabulary.json")
    a.batch, a.show, a.samples, a.written = 64, False, 1, True
    a.needles, a.text = a.work + "/dev/needles.json", a.work + "/dev/text.txt"
    choice = a.most
    for name, shares, what in iter(tasks.get, None):
        began, said = time.time(), io.StringIO()
        mix = {k: sum(w * parts[n][k] for n, w in shares.items()) for k in parts[0]}
        model.load_state_dict(mix)
        with torch.no_grad(), contextlib.redirect_stdout(said):
            if what == "needles":
                measure.needles(model, tok, a, device, dtype)
            else:
                torch.save({k: v.bfloat16().cpu() for k, v in mix.items()}, f"{a.work}/means/{name}.pt")
                a.most = choice if what == "choice" else 10**9
                measure.paragraphs(model, tok, f"{a.work}/dev/{what}.json", a, dtype)
        done.put((name, said.getvalue(), time.time() - began))


def main():
    a = arguments()
    os.makedirs(a.work + "/means", exist_ok=True)
    with open(a.work + "/dev/squad.json") as f:
        articles = json.load(f)["data"]
    for i, what in enumerate(("choice", "report")):
        with open(f"{a.work}/dev/{what}.json", "w") as f:
            json.dump({"data": articles[i::2]}, f)
    sittings = [n for n in (1, 2, 3, 4) if os.path.exists(f"{a.work}/ckpt/{n}/mean.pt")]
    context = get_context("spawn")
    tasks, done = context.Queue(), context.Queue()
    workers = [context.Process(target=worker, args=(g, a, sittings, tasks, done), daemon=True) for g in range(a.gpus)]
    for w in workers:
        w.start()
    shares, scores = {}, {}

    def measured(names, what="choice"):
        """Measures candidates by name, prints a line for each; those for the choice get a score."""
        names = [n for n in dict.fromkeys(names) if what != "choice" or n not in scores]
        if time.time() > a.until:
            return
        for n in names:
            tasks.put((n, shares[n], what))
        for _ in names:
            name, said, seconds = done.get()
            if what == "needles":
                rows = re.findall(r"^(\d+) \{'written full': '([\d/]+)', 'written gemfilter': '([\d/]+)'", said, re.M)
                print(f"{name}: needles all, kept:", ", ".join(f"{n}: {f}, {k}" for n, f, k in rows), f"{seconds:.0f} s", flush=True)
                continue
            rows = dict(re.findall(r" (answered|unanswered): (.*?);", said))
            number = lambda kind, name: float(re.search(name + r" ([\d.]+)", rows[kind])[1])
            f1, exact, wrongly = (number("answered", x) for x in ("F1", "exact", "refused"))
            refused = number("unanswered", "refused")
            score = f1 + 0.3 * refused
            if what == "choice":
                scores[name] = score
            print(
                f"{name}, {what}: F1 {f1:.1f}, exact {exact:.1f}, wrongly refused {wrongly:.1f} %; unanswerable refused"
                f" {refused:.1f} %; score {score:.1f}; {seconds:.0f} s",
                flush=True,
            )

    def mix(name, start, of):
        shares[name] = {0: start, **{n: (1 - start) / len(of) for n in of}}
        return name

    best = lambda names: max(names, key=lambda n: scores.get(n, -1))
    shares["start"] = {0: 1.0}
    whole = {mix(f"all-{s:g}", s, sittings): s for s in (0.0, 0.2, 0.4)}
    measured(["start", *whole])
    share = whole[best(whole)]
    if len(sittings) > 3:
        some = itertools.combinations(sittings, 3)
        measured(mix("of-" + "".join(map(str, c)) + f"-{share:g}", share, c) for c in some)
    measured(mix(f"only-{n}", 0.0, [n]) for n in sittings)
    ranked = sorted(scores, key=scores.get, reverse=True)
    with open(a.work + "/means/best", "w") as f:
        f.write(ranked[0])
    print("best:", ", ".join(f"{n} {scores[n]:.1f}" for n in ranked[:10]), flush=True)
    measured(["start", *ranked[: a.best]], "report")
    measured(["start", *ranked[: a.best]], "needles")
    for w in workers:
        tasks.put(None)
    for w in workers:
        w.join(10)


if __name__ == "__main__":
    main()
