#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Is --memory ever exceeded?  Models x methods x schedules x lengths, each with limits at and below what it predicts.

    bench/memory.py [--gemkv FILE] [--mkmodel FILE] [--models a,b] [--lengths 1000,8000] [--every N] [--seconds N]
                    [--rows FILE]

For each, gemkv runs without a limit, then with --memory at what it has predicted, and at 70 % and 40 % of that, where it
may take another schedule or refuse.  The peak is what the kernel says of the process that has ended (ru_maxrss), less
nothing: the program, its libraries and the model's pages are in it.  Prints each run that took more than 5 % beyond its
limit, and the worst of all.

Each run is a line of --rows, and those that are there are not run again: --seconds ends it between two, and the same command
goes on.  --every N is each Nth combination; N should have no divisor in common with their numbers."""
import argparse
import csv
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time

METHODS = ["gemfilter", "full", "truncate", "bm25", "snapkv", "h2o", "streamingllm", "pyramidinfer", "fastkv", "finch"]
SCHEDULES = ["auto", "layer", "chunk", "stream"]
ARCHS = ["llama", "qwen3", "gemma3", "qwen3moe", "qwen35", "phi3", "lfm2", "granitehybrid", "gpt-oss"]
SHARES = [0, 1.0, 0.7, 0.4]             # of what was predicted; 0: no limit
FIELDS = ["model", "text", "method", "schedule", "share", "code", "peak", "limit"]

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("--gemkv", default="./gemkv")
parser.add_argument("--mkmodel", default="tests/mkmodel")
parser.add_argument("--models", default=",".join(ARCHS + ["mini"]))
parser.add_argument("--lengths", default="1000,8000")
parser.add_argument("--threads", default="2")
parser.add_argument("--every", type=int, default=1)
parser.add_argument("--seconds", type=float, default=1e9)
parser.add_argument("--rows")
args = parser.parse_args()
root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")


def run(command, text):
    """Exit status, JSON or None, peak in bytes."""
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, stdin=open(text, "rb"), stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        said = out.read()
    return process.returncode, json.loads(said) if process.returncode == 0 else None, usage.ru_maxrss * 1024


def write_text(path, name):
    with open(path, "w") as f:
        if name == "word":                                      # one long word
            f.write("a" * 20000)
            return
        words = 0
        while words < int(name):
            words += f.write("Line %d: the cat and the hat sat on mat number %d.\n" % (words, words * 37 % 101)) // 4


def write_model(path, name):
    """Whether there is such a model."""
    large = ["--embd=512", "--layers=6", "--heads=8", "--head-dim=64", "--ff=1536", "--context=65536"]
    return any(subprocess.run([args.mkmodel, "--arch=" + name] + more + [path], stderr=subprocess.DEVNULL).returncode == 0
               for more in (large, []))


class Rows:
    def __init__(self):
        self.all, self.f = [], None
        if args.rows and os.path.exists(args.rows):
            with open(args.rows, newline="") as f:
                self.all = [dict(r, code=int(r["code"]), peak=int(r["peak"]), limit=int(r["limit"])) for r in csv.DictReader(f)]
        if args.rows:
            self.f = open(args.rows, "a", newline="")
            self.out = csv.DictWriter(self.f, FIELDS, lineterminator="\n")
            if not self.all:
                self.out.writeheader()

    def of(self, what):
        return [r for r in self.all if (r["model"], r["text"], r["method"], r["schedule"]) == what]

    def add(self, what, share, code, peak, limit):
        self.all.append(dict(zip(FIELDS, what + (str(share), code, peak, limit))))
        if self.f:
            self.out.writerow(self.all[-1])
            self.f.flush()


def measure(rows, what, path, text):
    """The four runs of a combination, or one if it is refused without a limit, too."""
    base = [args.gemkv, "ask", "--json", "-m", path, "-t", args.threads, "-k", "200", "-n", "2", "--device", "cpu",
            "--method", what[2], "--schedule", what[3]]
    code, said, peak = run(base + ["Where is the cat?"], text)
    told = said["memory"]["predicted"] if said else 0
    rows.add(what, 0, code, peak, told)
    for share in SHARES[1:] if said else []:
        limit = int(told * share)
        code, said, peak = run(base + ["--memory", str(limit), "Where is the cat?"], text)
        rows.add(what, share, code, peak, limit)


def report(rows):
    def over(r):
        return r["peak"] / r["limit"] if r["limit"] else 0

    for r in rows.all:
        said = "%.2f: %s, %s, %s, %s, %s: %.1f MB of %.1f MB" % (
            over(r), r["model"], r["text"], r["method"], r["schedule"],
            "limit %.0f %%" % (100 * float(r["share"])) if float(r["share"]) else "no limit", r["peak"] / 1e6, r["limit"] / 1e6)
        if r["code"] == 0 and over(r) > 1.05 or r["code"] == 4 and over(r) > 1.05 and float(r["share"]) == 1:
            print(said)
        elif r["code"] not in (0, 4) and r["limit"]:
            print("%s: exit status %d" % (said, r["code"]))
    done = [r for r in rows.all if r["code"] == 0 and r["limit"]]
    worst = max(done, key=over)
    print("%d runs, %d refused; the worst %.3f: %s" % (len(rows.all), sum(r["code"] == 4 for r in rows.all), over(worst),
                                                       ", ".join(worst[f] for f in FIELDS[:5])))


def main():
    rows, end = Rows(), time.time() + args.seconds
    with tempfile.TemporaryDirectory() as folder:
        made, left = "", 0
        texts = args.lengths.split(",") + ["word"]
        all = itertools.product(args.models.split(","), texts, METHODS, SCHEDULES)
        for what in itertools.islice(all, 0, None, args.every):
            if len(rows.of(what)) in (1, len(SHARES)) and (len(rows.of(what)) > 1 or rows.of(what)[0]["code"]):
                continue
            if time.time() > end:
                left += 1
                continue
            model = os.path.join(folder, "model.gguf") if what[0] != "mini" else os.path.join(root, "data/gemkv-mini-q8_0.gguf")
            if what[0] not in ("mini", made) and not write_model(model, what[0]):
                sys.exit("%s: not made" % what[0])
            made = what[0]
            text = os.path.join(folder, what[1])
            if not os.path.exists(text):
                write_text(text, what[1])
            rows.all = [r for r in rows.all if r not in rows.of(what)]          # one that was begun
            measure(rows, what, model, text)
    if left:
        print("%d combinations are left" % left)
    report(rows)


sys.exit(main())
