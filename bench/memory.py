#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Is --memory ever exceeded?  Models x methods x schedules x lengths, each with limits at and below what it predicts.

    bench/memory.py [--gemkv FILE] [--mkmodel FILE] [--models a,b] [--lengths 1000,8000] [--quick]

For each, gemkv runs without a limit, then with --memory at what it has predicted, and at 70 % and 40 % of that, where it
may take another schedule or refuse.  The peak is what the kernel says of the process that has ended (ru_maxrss), less
nothing: the program, its libraries and the model's pages are in it.  Prints each run that took more than 5 % beyond its
limit, and the worst of all."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

METHODS = ["gemfilter", "full", "truncate", "bm25", "snapkv", "h2o", "streamingllm", "pyramidinfer", "fastkv", "finch"]
SCHEDULES = ["auto", "layer", "chunk", "stream"]
ARCHS = ["llama", "qwen3", "gemma3", "qwen3moe", "qwen35", "phi3", "lfm2", "granitehybrid", "gpt-oss"]

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("--gemkv", default="./gemkv")
parser.add_argument("--mkmodel", default="tests/mkmodel")
parser.add_argument("--models", default=",".join(ARCHS + ["mini"]))
parser.add_argument("--lengths", default="1000,8000")
parser.add_argument("--threads", default="2")
parser.add_argument("--quick", action="store_true", help="methods with schedule auto, schedules with gemfilter only")
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


def main():
    worst, n, refused = (0, ""), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        texts = {}
        for length in map(int, args.lengths.split(",")):
            texts["%d" % length] = os.path.join(folder, "%d" % length)
            with open(texts["%d" % length], "w") as f:
                words = 0
                while words < length:
                    words += f.write("Line %d: the cat and the hat sat on mat number %d.\n" % (words, words * 37 % 101)) // 4
        texts["word"] = os.path.join(folder, "word")            # one long word
        with open(texts["word"], "w") as f:
            f.write("a" * 20000)
        for model in args.models.split(","):
            path = os.path.join(root, "data/gemkv-mini-q8_0.gguf")
            if model != "mini":
                path = os.path.join(folder, "model.gguf")
                made = subprocess.run([args.mkmodel, "--arch=" + model, "--embd=512", "--layers=6", "--heads=8", "--head-dim=64",
                                       "--ff=1536", "--context=65536", path], stderr=subprocess.DEVNULL)
                if made.returncode:
                    made = subprocess.run([args.mkmodel, "--arch=" + model, path], stderr=subprocess.DEVNULL)
                if made.returncode:
                    print("%s: not made" % model)
                    continue
            for length, text in texts.items():
                for method in METHODS:
                    for schedule in SCHEDULES:
                        if args.quick and schedule != "auto" and method != "gemfilter":
                            continue
                        base = [args.gemkv, "ask", "--json", "-m", path, "-t", args.threads, "-k", "200", "-n", "2", "--device", "cpu",
                                "--method", method, "--schedule", schedule]
                        code, said, peak = run(base + ["Where is the cat?"], text)
                        if code:
                            continue
                        told = said["memory"]["predicted"]
                        for share in (None, 1.0, 0.7, 0.4):
                            limit = told
                            if share:
                                limit = int(told * share)
                                code, said, peak = run(base + ["--memory", str(limit), "Where is the cat?"], text)
                                refused += code == 4
                                if code not in (0, 4):
                                    print("%s, %s, %s, %s: exit status %d" % (model, length, method, schedule, code))
                            n += 1
                            what = "%s, %s tokens, %s, %s, %s: %.1f MB of %.1f MB%s" % (
                                model, length, method, schedule, "limit %.0f %%" % (100 * share) if share else "no limit",
                                peak / 1e6, limit / 1e6, ", refused" if code else "")
                            worst = max(worst, (peak / limit, what)) if not code else worst
                            if peak > 1.05 * limit and not (code == 4 and share < 1):
                                print("%.2f: %s" % (peak / limit, what), flush=True)
    print("%d runs, %d refused; the worst %.3f: %s" % (n, refused, worst[0], worst[1]))


sys.exit(main())
