#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The table of README: method x length x task on one model: accuracy, seconds, memory.

    bench/table.py measure -m MODEL --squad SQUAD.json -o ROWS.jsonl [-j 12] [--seconds 600]
    bench/table.py print ROWS.jsonl

`measure` asks one row at a time by programs of their own, on so many processors (-j) at once, and appends each answer
to ROWS.jsonl.  Given again, it asks what is missing.  All cells are filled alike, so that after --seconds each has its
share of its rows.  Programs at one length have the same number of threads, whatever the method, and run
beside others: seconds compare methods, and are no speed of the machine.  SQUAD is a file of SQuAD 2.0's form; its
paragraphs are put together in random order until the text is long enough.

`print` writes the table.  A cell has the score in percent and the number of rows; what was not measured says so."""
import argparse
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict

import rows as sets

HERE = os.path.dirname(os.path.abspath(__file__))
LENGTHS = 4096, 16384, 65536, 131072
DEPTHS = "10,30,50,70,90"
THREADS = dict(zip(LENGTHS, (1, 1, 2, 4)))
METHODS = {
    "full": ("full",),
    "gemfilter, layer": ("gemfilter", "--schedule", "layer"),
    "gemfilter, stream": ("gemfilter", "--schedule", "stream"),
    "bm25": ("bm25",),
    "window": ("window",),
    "random": ("random",),
}
TASKS = "needles", "in other words", "key-value", "RULER", "SQuAD"
RULER = "niah_single_2", "niah_multikey_1", "niah_multivalue", "niah_multiquery", "vt"
# Rows of each task: few where one takes minutes.
FEW = {
    ("full", 65536): (3, 3, 1, 2, 3), ("full", 131072): (2, 1, 0, 0, 0),
    ("gemfilter, layer", 65536): (5, 5, 2, 3, 5), ("gemfilter, layer", 131072): (2, 2, 1, 1, 2),
}
ROWS = {4096: (20, 20, 8, 10, 24), 16384: (12, 12, 6, 10, 16), 65536: (8, 8, 4, 5, 8), 131072: (6, 6, 3, 5, 6)}
# Seconds of one thread for one row, roughly: only the order depends on them.
COST = {"full": (1.5, 11, 130, 530), "gemfilter, layer": (0.8, 5, 55, 220), "gemfilter, stream": (0.8, 3, 12, 25)}


def wanted(method, length):
    few = FEW.get((method, length), ROWS[length])
    return [min(n, m) for n, m in zip(few, ROWS[length])]


# ---- rows ----------------------------------------------------------------------------------------


def gemkv_rows(path, *command):
    hay = ["--haystack", a.haystack] if a.haystack and command[0] != "kv" else []
    subprocess.run([a.gemkv, "eval", *command, *hay, "-m", a.model, "--rows", path, "--force"], check=True,
                   stdout=subprocess.DEVNULL)
    return list(sets.lines(path))


def squad_rows(length, count, seed):
    """Questions on a paragraph of SQuAD that stands among those of other articles; about length tokens."""
    rng, words = random.Random(seed), int(length * 0.66)
    data = [(d["title"].replace("_", " "), d["paragraphs"]) for d in json.load(open(a.squad, encoding="utf-8"))["data"]]
    asked = [(i, j, q) for i, (_, ps) in enumerate(data) for j, p in enumerate(ps) for q in p["qas"] if q["answers"]]
    others = [(i, j) for i, (_, ps) in enumerate(data) for j in range(len(ps))]
    for n, (i, j, q) in enumerate(rng.sample(asked, count)):
        chosen, size = [(i, j)], len(data[i][1][j]["context"].split())
        for k, m in rng.sample(others, len(others)):
            if size >= words:
                break
            if k != i:
                chosen.append((k, m))
                size += len(data[k][1][m]["context"].split())
        rng.shuffle(chosen)
        yield {"id": "squad-%d-%d" % (length, n), "context": "\n\n".join(data[k][1][m]["context"] for k, m in chosen),
               "question": q["question"].strip(), "answers": list(dict.fromkeys(x["text"] for x in q["answers"])),
               "metric": "squad-f1", "max_tokens": 32}


def made(task, length, path):
    count = ROWS[length][TASKS.index(task)]
    at = "--lengths", str(length)
    if task in ("needles", "in other words"):
        bundled = os.path.join(os.path.dirname(HERE), "data", "needles.json")
        needles = ["--needles", os.path.join(HERE, "needles.json") if task != "needles" else a.needles or bundled]
        samples = str(-(-count // len(DEPTHS.split(","))))
        return gemkv_rows(path, "niah", *at, "--depths", DEPTHS, "--samples", samples, *needles)
    if task == "key-value":
        return gemkv_rows(path, "kv", *at, "--kinds", "kv", "--depths", "50", "--samples", str(count))
    if task == "RULER":
        samples = str(-(-count // len(RULER)))
        return gemkv_rows(path, "ruler", *at, "--tasks", ",".join(RULER), "--samples", samples, "--no-begin")
    return list(squad_rows(length, count, length)) if a.squad else []


def spread(rows, count):
    """So many rows, of different depths or kinds first."""
    rng = random.Random(1)
    rows = rng.sample(rows, len(rows))
    groups = defaultdict(list)
    for r in rows:
        groups[r.get("depth", r.get("task"))].append(r)
    out = []
    while len(out) < count and any(groups.values()):
        out += [g.pop() for g in groups.values() if g]
    return out[:count]


# ---- measuring -----------------------------------------------------------------------------------


class Slots:
    """So many processors; whoever wants several waits until they are free."""

    def __init__(self, count):
        self.free, self.changed = count, threading.Condition()

    def take(self, n):
        with self.changed:
            self.changed.wait_for(lambda: self.free >= n)
            self.free -= n

    def give(self, n):
        with self.changed:
            self.free += n
            self.changed.notify_all()


def measure():
    began = time.time()
    os.makedirs(a.work, exist_ok=True)
    done = {(r["method"], r["id"]) for r in sets.lines(a.out)} if os.path.exists(a.out) else set()
    slots, threads, lock = Slots(a.j), [], threading.Lock()
    lengths = [int(n) for n in a.lengths.split(",")]
    out = open(a.out, "a", encoding="utf-8")

    def by_threads(jobs):
        """Each (processors, seconds expected, function), in order, as soon as there is room, if there is time."""
        for n, expected, job, *args in jobs:
            n = min(n, a.j)
            slots.take(n)
            if time.time() - began + expected > a.seconds:
                slots.give(n)
                continue
            t = threading.Thread(target=lambda job=job, args=args, n=n: (job(*args), slots.give(n)))
            t.start()
            threads.append(t)
        for t in threads:
            t.join()
        threads.clear()

    found = {}

    def make(task, length):
        name = os.path.join(a.work, "%s-%d" % (task.replace(" ", "-"), length))
        rows = spread(made(task, length, name + ".jsonl"), ROWS[length][TASKS.index(task)])
        for i, r in enumerate(rows):
            r["file"] = "%s-%d.jsonl" % (name, i)
            with open(r["file"], "w", encoding="utf-8") as f:
                f.write(json.dumps({k: v for k, v in r.items() if k != "file"}, ensure_ascii=False) + "\n")
        found[task, length] = rows

    by_threads([(1, 0, make, task, length) for length in reversed(lengths) for task in TASKS])
    print("rows after %.0f s" % (time.time() - began), flush=True)

    def ask(method, task, length, row):
        n = THREADS[length]
        command = [a.gemkv, "eval", "qa", "-m", a.model, "--data", row["file"], "-k", a.keep, "-t", str(n), "--json",
                   "-q", "--methods", *METHODS[method]]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=lower)
        try:
            text, error = child.communicate(timeout=max(1, a.seconds - (time.time() - began)))
            told = json.loads(text)["rows"][0]
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            return
        except (ValueError, LookupError):
            print("%s: %s" % (" ".join(command), error.strip()), file=sys.stderr, flush=True)
            return
        line = {"method": method, "task": task, "length": length, "id": row["id"], "score": told["score"],
                "tokens": told["tokens"], "ttft": told["seconds"]["ttft"], "memory": told["memory"], "threads": n,
                "processors": a.j}
        with lock:
            out.write(json.dumps(line) + "\n")
            out.flush()

    jobs = []
    for method in a.methods.split(";") if a.methods else METHODS:
        for length in lengths:
            for task, count in zip(TASKS, wanted(method, length)):
                cost = COST.get(method, (0.7,) * 4)[LENGTHS.index(length)]
                for r, row in enumerate(found.get((task, length), ())[:count]):
                    if (method, row["id"]) not in done:
                        n = THREADS[length]
                        jobs.append((r / count, -cost, n, cost / n, ask, method, task, length, row))
    jobs.sort(key=lambda j: j[:2])
    print("%d answers are missing, about %.0f s of one processor" % (len(jobs), -sum(j[1] for j in jobs)), flush=True)
    by_threads([j[2:] for j in jobs])
    print("ended after %.0f s, %d answers" % (time.time() - began, sum(1 for _ in open(a.out))), flush=True)


def lower():
    """A child ends with this program."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})
    os.nice(a.nice)


# ---- the table -----------------------------------------------------------------------------------


def mean(values):
    return sum(values) / len(values)


def print_table():
    cells = defaultdict(list)
    for r in sets.lines(a.rows):
        cells[r["method"], r["length"], r["task"]].append(r)
        cells[r["method"], r["length"]].append(r)
    print("| tokens | method | %s | seconds | memory, MB |" % " | ".join(TASKS))
    print("|" + "---|" * (len(TASKS) + 4))
    for length in LENGTHS:
        for method in METHODS:
            line = []
            for task in TASKS:
                c = cells.get((method, length, task))
                line.append("%.0f of %d" % (100 * mean([r["score"] for r in c]), len(c)) if c else "not measured")
            c = cells.get((method, length))
            seconds, peak = (mean([r["ttft"] for r in c]), max(r["memory"] for r in c) / 1e6) if c else (None, None)
            line += ["%.1f" % seconds, "%.0f" % peak] if c else ["", ""]
            print("| %s | %s | %s |" % (format(length, ","), method, " | ".join(line)))


p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
sub = p.add_subparsers(dest="what", required=True)
m = sub.add_parser("measure")
m.add_argument("--gemkv", default=os.environ.get("GEMKV", "gemkv"))
m.add_argument("-m", dest="model", required=True)
m.add_argument("-k", dest="keep", default="1024", help="tokens to keep (1024)")
m.add_argument("--haystack", help="as of `gemkv eval niah` (the bundled book)")
m.add_argument("--needles", help="those of the first column (data/needles.json beside this folder)")
m.add_argument("--squad", help="a file of SQuAD 2.0's form; without it the column is left out")
m.add_argument("--lengths", default=",".join(map(str, LENGTHS)), help="of these (all)")
m.add_argument("--methods", help="of these: names as in the table, with ; between them (all)")
m.add_argument("-o", dest="out", required=True, help="answers are appended to this file")
m.add_argument("-j", type=int, default=len(os.sched_getaffinity(0)), help="processors")
m.add_argument("--seconds", type=float, default=1e9)
m.add_argument("--nice", type=int, default=0)
m.add_argument("--work", default="/tmp/gemkv-table", help="folder for the rows")
sub.add_parser("print").add_argument("rows")
a = p.parse_args()
measure() if a.what == "measure" else print_table()
