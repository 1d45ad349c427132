#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""coverage.py run [-j JOBS] [-t SECONDS] [-k TESTS] DIR    runs tests, and keeps which lines and branches each reaches
coverage.py show [-b] DIR [FILES]                       those that some test reaches, by file; -b: which are not

DIR is made by testtree.py.  A test is unit-gguf, cli/ask-same or fuzz/json; those run that DIR/map does not have yet,
until SECONDS are over.  Exits with 1 when tests are left then, or failed.

DIR/map/TEST.json.gz has {"lines": {file: [line]}, "branches": {file: {line: [times that each was taken]}}, "all": {file:
[line]}}.  FILES is an expression that names of files have.  Kernels and what computes most (src/engine and the like) are
optimized, and their branches not all told apart.
"""
import argparse
import glob
import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys

import testtree

PARSERS = {
    "GGUF": "src/gguf/", "vocabulary, tokenizer": "src/token/", "template": "src/template/",
    "JSON, JSONL": r"src/cli/(json-parse|batch/(rows|answers))\.c",
    "HTTP, server": r"src/cli/(http|serve/\w+)\.c",
    "schema, grammar": r"src/cli/(schema|grammar)\.c|src/answer/(grammar|match)\.c",
    "segment, catalogue": r"src/library/|src/document-file\.c|src/first/index\.c",
    "options": r"src/cli/(args|options)\.c|src/base/param\.c",
    "pages, office": r"src/cli/(place|cite|input/\w+)\.c",
}


def kept(where, name):
    return os.path.join(where, "map", name.replace("/", "=") + ".json.gz")


def forget(where, name):
    if os.path.exists(kept(where, name)):
        os.unlink(kept(where, name))


def lines_reached(where, name, which="lines"):
    """{file: lines}, or nothing when it is not known.  which "all": those that are counted."""
    if not os.path.exists(kept(where, name)):
        return None
    with gzip.open(kept(where, name), "rt") as f:
        return {k: set(v) for k, v in json.load(f)[which].items()}


# A program that a signal ended dies of it, as servers always do, and readers of documents are processes that end by
# _exit: neither would write its counters.
ENDS = """#include <signal.h>
#include <unistd.h>
void __gcov_dump(void);
int __real_raise(int sig);
void __real__exit(int code) __attribute__((noreturn));
int __wrap_raise(int sig);
void __wrap__exit(int code);
int __wrap_raise(int sig)
{
    __gcov_dump();
    return __real_raise(sig);
}
void __wrap__exit(int code)
{
    __gcov_dump();
    __real__exit(code);
}
"""


def counted_tree(where, plan):
    """A tree whose objects count.  A program that has shut itself in could not write its counters."""
    at = os.path.join(where, "cover")
    if not os.path.isdir(at):
        shutil.copytree(os.path.join(where, "tree"), at, symlinks=True, ignore=testtree.what_is_built)
        path = os.path.join(at, "config.h")
        with open(path, encoding="utf-8") as f:
            text = f.read()
        with open(path, "w", encoding="utf-8") as f:
            f.write(re.sub(r"^#define (HAVE_LINUX_(LANDLOCK|SECCOMP)_H) 1", r"/* no \1 */", text, flags=re.M))
        subprocess.run(["gcc", "-c", "-o", "ends.o", "-x", "c", "-"], cwd=at, input=ENDS, text=True, check=True)
    return testtree.Tree(plan, at, True)


def run(args):
    where = os.path.abspath(args.dir)
    plan, workers = testtree.read_pack(where), testtree.Workers(where, args.jobs, args.seconds)
    tree = counted_tree(where, plan)
    needs = testtree.tests_in(tree.at, plan["programs"])
    names = testtree.slow_first(n for n in needs if re.search(args.tests, n) and not os.path.exists(kept(where, n)))
    workers.build(tree, [needs[n] for n in names])
    left, bad = set(names), []

    def test(n, home):
        good, said = one(n, tree.at, os.path.join(where, "seeds"), home, kept(where, n), 600)
        left.discard(n)
        if good is False:
            bad.append(n)
        print("%-30s %s  %s" % (n, {True: "", False: "FAILED", None: "skipped"}[good], said), flush=True)
    workers.each(names, test)
    if left:
        print("the time is over: %d tests are left" % len(left), flush=True)
    return 1 if left or bad else 0


def one(name, tree, seeds, home, to, limit):
    """Runs a test, and keeps what it reached.  The counters go to a folder of this worker."""
    counts = os.path.join(home, "counts")
    shutil.rmtree(counts, ignore_errors=True)
    os.makedirs(counts)
    os.makedirs(os.path.dirname(to), exist_ok=True)
    good, said = testtree.run_test(name, tree, seeds, home, limit, dict(GCOV_PREFIX=counts))
    if said != "time":                          # else it was stopped before it could write them
        with gzip.open(to + ".part", "wt") as f:
            json.dump(reached(counts, tree), f)
        os.rename(to + ".part", to)
    return good, said


def reached(counts, tree):
    """What the counters say, by gcov."""
    lines, branches, known = {}, {}, {}
    for d, _, names in os.walk(counts):
        there = d[len(counts):]
        gcda = [n for n in names if n.endswith(".gcda")]
        for n in gcda:
            os.symlink(os.path.join(there, n[:-5] + ".gcno"), os.path.join(d, n[:-5] + ".gcno"))
        for at in range(0, len(gcda), 100):
            said = subprocess.run(["gcov", "--json-format", "--branch-probabilities", "--stdout"] + gcda[at:at + 100],
                                  cwd=d, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
            for text in said.splitlines():
                for f in json.loads(text)["files"] if text.startswith("{") else ():
                    name = os.path.relpath(os.path.join(tree, f["file"]), tree)
                    if re.match(r"(src|simd|group)/", name):
                        add(f["lines"], lines.setdefault(name, set()), branches.setdefault(name, {}),
                            known.setdefault(name, set()))
    return dict(lines={k: sorted(v) for k, v in lines.items()}, branches=branches,
                all={k: sorted(v) for k, v in known.items()})


def add(found, lines, branches, known):
    for line in found:
        n = line["line_number"]
        known.add(n)
        if line["count"]:
            lines.add(n)
        if line["branches"]:
            b, had = [x["count"] for x in line["branches"]], branches.get(n)
            branches[n] = b if had is None else [x + y for x, y in zip(had, b)] if len(had) == len(b) else max(had, b)


def merged(where):
    lines, branches, known = {}, {}, {}
    for path in glob.glob(os.path.join(where, "map", "*.json.gz")):
        with gzip.open(path, "rt") as f:
            one = json.load(f)
        for k, v in one["lines"].items():
            lines.setdefault(k, set()).update(v)
        for k, v in one["all"].items():
            known.setdefault(k, set()).update(v)
        for k, v in one["branches"].items():
            for n, b in v.items():
                had = branches.setdefault(k, {}).setdefault(int(n), [0] * len(b))
                branches[k][int(n)] = [x + y for x, y in zip(had, b)] if len(had) == len(b) else had
    return lines, branches, known


def show(where, which, missing):
    lines, branches, known = merged(where)

    def row(name, files):
        n, a = sum(len(lines.get(f, ())) for f in files), sum(len(known[f]) for f in files)
        b = [x for f in files for v in branches.get(f, {}).values() for x in v]
        print("%-34s %6d %6.1f%% %8d %6.1f%%" %
              (name, a, 100 * n / max(a, 1), len(b), 100 * sum(map(bool, b)) / max(len(b), 1)))
    print("%-34s %6s %7s %8s %7s" % ("", "lines", "", "branches", ""))
    files = [f for f in sorted(known) if re.search(which, f)]
    for f in files:
        row(f, [f])
        if missing:
            for n in sorted(known[f]):
                b = branches.get(f, {}).get(n, [])
                if n not in lines.get(f, ()):
                    print("    %d: not reached" % n)
                elif not all(b):
                    print("    %d: branches %s" % (n, " ".join("-" if not x else "+" for x in b)))
    print()
    for name, expression in PARSERS.items():
        row(name, [f for f in files if re.search(expression, f)])
    row("library", [f for f in files if re.match(r"src/(?!cli/)", f)])
    row("program", [f for f in files if f.startswith("src/cli/")])
    row("kernels", [f for f in files if f.startswith("simd/")])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", choices=["run", "show"])
    p.add_argument("-j", dest="jobs", type=int, default=os.cpu_count())
    p.add_argument("-t", dest="seconds", type=float)
    p.add_argument("-k", dest="tests", default="")
    p.add_argument("-b", dest="missing", action="store_true")
    p.add_argument("dir")
    p.add_argument("files", nargs="?", default="")
    args = p.parse_args()
    if args.what == "run":
        signal.signal(signal.SIGTERM, testtree.stop)
        signal.signal(signal.SIGINT, testtree.stop)
        return run(args)
    show(args.dir, args.files, args.missing)
    return 0


if __name__ == "__main__":
    sys.exit(main())
