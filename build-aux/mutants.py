#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""mutants.py list [-n N] [-s SEED] DIR    the candidates, in the order in which a run takes them
mutants.py run  [-n N] [-s SEED] [-j JOBS] [-t SECONDS] [-w FILES] [-k TESTS] [-m] [-o] [-a] DIR ROWS
mutants.py show ROWS                    what survived

Changes one place of src/, group/ or simd/ at a time (a mutant), and runs the tests that reach it until one fails.  A
mutant that no test fails on survives: a test lacks, or the change makes no difference.  DIR is made by testtree.py.

For a mutant the objects that it changes are compiled again, and linked before the library, whose members of the same
name are then left out.  A mutant that does not compile, or compiles to the same bytes, is replaced by the next
candidate.  ROWS (CSV) gets a row for each as it ends; the same command goes on after the last row.  First each mutant
gets the quick tests, then those that survived get the rest.

-t: begins no test after so many seconds, and exits with 1 when something is left.  -w, -k: only files and tests with
this expression in their name.  -m: asks coverage.py which lines each test reaches, and runs only tests that reach the
change; without it, all whose program has a changed object.  -o: runs only the tests that are meant for a file (MEANT).
-a: tries no new mutants, but those that survived against the tests of -k.  GOLDEN_* and KERNELS_LEVEL of the
environment are passed on.
"""
import argparse
import csv
import hashlib
import json
import os
import random
import re
import shutil
import signal
import sys
import time

import coverage
import testtree

QUICK = 4.0             # seconds: longer tests are of the second stage
SLOWER = 8              # times what a test takes without a change, before it is stopped
COUNTED, PLAIN = 100, 150       # seconds without a change, with counters and without; longer tests are left out
TOO_WIDE = 12           # a header that more objects include is left out
MEANT = [               # which tests are meant for which files: the first that fits
    (r"simd/(x86/amx|impl/gemm_tiles)", r"^(kernels.*|unit-gemm|unit-attend)-emulated$"),
    (r"simd/", r"^kernels"),
    (r"src/(base/(snap|unicode)|document|prompt)", r"^unit-(leaks|stats|reader|document|token|session|place)$"),
    (r"src/base/", r"^unit-(base|leaks|cores|team|near|rank|place|file|sparse|reader|calibrate)$"),
    (r"src/token/", r"^unit-(leaks|token|bm25)$"),
    (r"src/gguf/", r"^unit-(leaks|gguf|arch)$"),
    (r"src/quant/", r"^(unit-(quant|gguf)|kernels)$"),
    (r"src/template/", r"^unit-(leaks|template)$"),
    (r"src/model/", r"^unit-(weights|leaks|arch|layers|mtp|gguf|repack)$"),
    (r"src/library/", r"^unit-(leaks|library|library-damage)$"),
    (r"src/(answer/(grammar|match))", r"^unit-(leaks|grammar|schema)$"),
    (r"src/answer/", r"^unit-(leaks|stats|draft|guess|sample|chance|think|device|session|mtp|logits)$"),
    (r"src/engine/", r"^(unit-(leaks|attend|gemm|repack|hadamard|sparse|logits|mtp|device|eval|arch|draft)|hybrid|golden)$"),
    (r"src/(first|select)/", r"^(unit-(leaks|calibrate|refine|rank|bm25|index|sparse|session|group)|golden)$"),
    (r"src/", r"^unit-(leaks|stats|session|document|index|group|eval|draft|think|reader|progress|mtp|gguf)$"),
]

TOKEN = re.compile(r'''
    (?P<comment>/\*.*?\*/|//[^\n]*)
  | (?P<directive>^[ \t]*\#(?:\\\n|[^\n])*)
  | (?P<string>"(?:\\.|[^"\\])*")
  | (?P<char>'(?:\\.|[^'\\])*')
  | (?P<number>\.?[0-9](?:[eEpP][+-]|[\w.])*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<op><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[^\s\w])
''', re.X | re.S | re.M)
SWAP = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&", "+=": "-=",
        "-=": "+=", "++": "--", "--": "++", "<<": ">>", ">>": "<<", "|=": "&=", "&=": "|="}
BINARY = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "/", "&": "|", "|": "&"}
NOT_FIRST = set("""return if for while do else case default goto break continue switch sizeof static const struct enum
    union typedef extern unsigned signed int char long short float double void bool""".split())


# ---- what can be changed --------------------------------------------------------------
def lines_of(text):
    """The tokens of each line that has code: {line: [(kind, text, start)]}."""
    lines, at, line = {}, 0, 1
    for m in TOKEN.finditer(text):
        line += text.count("\n", at, m.start())
        at = m.start()
        if m.lastgroup not in ("comment", "directive"):
            lines.setdefault(line, []).append((m.lastgroup, m.group(), m.start()))
    return lines


def balanced(words):
    depth = 0
    for w in words:
        depth += (w in "([") - (w in ")]")
        if depth < 0:
            return False
    return depth == 0


def changes(tokens, before):
    """What can be changed in a line: [(start, length, new, what)].  before: the last word of the code before it."""
    words = [t[1] for t in tokens]
    kinds = [t[0] for t in tokens]
    start, end = tokens[0][2], tokens[-1][2] + len(words[-1])
    found = []
    if all(k in ("number", "string", "char") or w in ",{}-&" for k, w in zip(kinds, words)):
        return []                                                       # a row of a table
    for i, (kind, w, at) in enumerate(tokens):
        last, after = words[i - 1] if i else "", words[i + 1] if i + 1 < len(words) else ""
        operand = i and (kinds[i - 1] in ("name", "number") or last in ")]") and last not in NOT_FIRST
        if kind == "op" and w in SWAP and (w not in "<>" or operand):
            found.append((at, len(w), SWAP[w], "comparison" if w in ("<", "<=", ">", ">=", "==", "!=") else "operator"))
        elif kind == "op" and w in BINARY and operand and alone(tokens, i):
            found.append((at, 1, BINARY[w], "operator"))
        elif kind == "op" and w == "!" and after != "=":
            found.append((at, 1, "", "negation"))
        elif kind == "number" and re.fullmatch(r"(0[xX][0-9a-fA-F]+|[0-9]+)[uUlL]*", w) and last not in ("{", "case"):
            digits = re.match(r"0[xX][0-9a-fA-F]+|[0-9]+", w).group()
            value = int(digits, 16 if digits[:2] in ("0x", "0X") else 10)
            form = hex if digits[:2] in ("0x", "0X") else str
            found.append((at, len(digits), form(value + 1), "constant"))
            if value:
                found.append((at, len(digits), form(value - 1), "constant"))
        elif w in ("true", "false") and last in ("return", "="):
            found.append((at, len(w), "false" if w == "true" else "true", "constant"))
    if words[0] == "return" and words[2:] == [";"] and re.match(r"GKV_(?!OK$)", words[1]):
        found.append((start, end - start, "return GKV_OK;", "returned status"))
    simple = words[-1] == ";" and words.count(";") == 1 and balanced(words) and not set(words) & {"{", "}"}
    if simple and before in (";", "{", "}", ")", ":", "else") and "string" not in kinds:
        name = kinds[0] == "name" and words[0] not in NOT_FIRST and kinds[1] == "op" and \
            not (words[1] == "*" and kinds[2] == "name")
        if name or words[0] in ("*", "++", "--") or words[0] in ("break", "continue") and before != ":":
            found += [(start, end - start, ";", "statement dropped")] * 2
    if words[0] == "if" and "(" in words:
        depth, close = 0, None
        for i, w in enumerate(words):
            depth += (w == "(") - (w == ")")
            if w == ")" and not depth:
                close = i
                break
        if close and (close + 1 == len(words) or words[close + 1] in ("return", "goto", "continue", "break")):
            a, b = tokens[1][2], tokens[close][2] + 1
            found += [(a, b - a, None, "check removed")] * 2
    return found


def alone(tokens, i):
    """Whether there is a blank before and behind a token: no sign of what follows, no pointer's star."""
    before, at = tokens[i - 1][2] + len(tokens[i - 1][1]), tokens[i][2]
    return before < at and i + 1 < len(tokens) and at + 1 < tokens[i + 1][2]


def candidates(plan, tree, seed, which):
    """All lines that can be changed, each with one change, in the order in which they are tried."""
    rng = random.Random(seed)
    touched = {}
    for o in plan["objects"].values():
        if not o["source"].startswith("tests/"):
            for f in [o["source"]] + o["deps"]:
                touched.setdefault(f, []).append(o["source"])
    found = []
    for f in sorted(touched):
        if not re.match(r"(src|group|simd)/", f) or f.endswith("-data.h") or len(touched[f]) > TOO_WIDE:
            continue
        with open(os.path.join(tree, f), encoding="utf-8") as g:
            text = g.read()
        before = ""
        for line, tokens in sorted(lines_of(text).items()):
            choice = changes(tokens, before)
            before = tokens[-1][1]
            if choice:
                at, length, new, what = choice[rng.randrange(len(choice))]
                old = text[at:at + length]
                found.append(dict(file=f, line=line, at=at, old=old, new="(0 && %s)" % old if new is None else new,
                                  what=what, text=text.splitlines()[line - 1].strip()))
    rng.shuffle(found)
    return [c for c in found if re.search(which, c["file"])]


# ---- run ------------------------------------------------------------------------------
FIELDS = ["number", "file", "line", "what", "old", "new", "state", "by", "passed", "seconds", "text"]
INVALID = ("unbuildable", "same", "no processor", "no program")


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).digest()


def processor():
    """The flags of gcc for what this processor has."""
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        found = re.search(r"^flags\s*:(.*)", f.read(), re.M)
    return {"-m" + w.replace("_", by) for w in (found.group(1).split() if found else []) for by in ("", "-")}


class Run:
    def __init__(self, args):
        self.args, self.dir = args, os.path.abspath(args.dir)
        self.plan, self.seeds = testtree.read_pack(self.dir), os.path.join(self.dir, "seeds")
        self.tree = testtree.Tree(self.plan, os.path.join(self.dir, "tree"))
        self.workers = testtree.Workers(self.dir, args.jobs, args.time)
        self.list = candidates(self.plan, self.tree.at, args.seed, args.which)
        needs = testtree.tests_in(self.tree.at, self.plan["programs"])
        self.needs = {k: v for k, v in needs.items() if re.search(args.tests, k)}
        self.seconds, self.reach, self.counted, self.rows = {}, {}, {}, {}
        self.processor = processor()
        if os.path.exists(args.rows):
            with open(args.rows, newline="", encoding="utf-8") as f:
                for r in csv.DictReader(f):
                    self.rows[int(r["number"])] = r
        else:
            with open(args.rows, "w", newline="", encoding="utf-8") as f:
                csv.DictWriter(f, FIELDS).writeheader()

    def place(self, home):
        """A worker's tree: hard links, in which its mutant and programs are files of its own."""
        at = os.path.join(home, "tree")
        if not os.path.isdir(at):
            shutil.copytree(self.tree.at, at, copy_function=os.link, symlinks=True, ignore=testtree.what_is_built)
        return at

    def parts(self, c):
        """The objects that a mutant changes, in the groups in which they are tried: one level of simd/ after another,
        without those that this processor cannot run, unless tests/emulated/ does."""
        found = [n for n, o in self.plan["objects"].items() if c["file"] == o["source"] or
                 c["file"] in o["deps"] and re.match("(?!tests/)|tests/emulated/", o["source"])]
        if not c["file"].startswith("simd/"):
            return [found]
        return [[n] for n in sorted(found, key=lambda n: "avx2" not in n) if self.can_run(self.plan["objects"][n])]

    def can_run(self, o):
        emulated = "-mamx" if o["source"].startswith("tests/emulated/") else " "
        return all(f in self.processor for f in o["flags"] if f.startswith("-m") and not f.startswith(emulated))

    def make(self, c, objects, home):
        """Compiles these objects of a mutant: those that differ, or why there are none."""
        at = self.place(home)
        path, original = os.path.join(at, c["file"]), os.path.join(self.tree.at, c["file"])
        with open(original, encoding="utf-8") as f:
            text = f.read()
        os.unlink(path)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text[:c["at"]] + c["new"] + text[c["at"] + len(c["old"]):])
        changed, objects = {}, [n for n in objects if os.path.exists(self.tree.path(n))]
        try:
            for name in objects:
                out = os.path.join(home, "mutant%d.o" % len(changed))
                if not testtree.compile_one(at, self.plan["objects"][name], out)[0]:
                    return "unbuildable"
                if digest(out) != digest(self.tree.path(name)):
                    changed[name] = out
        finally:
            os.unlink(path)
            os.link(original, path)
        return changed or ("same" if objects else "no program")

    def reaches(self, n, c, changed):
        if n in self.reach and c["line"] in self.counted.get(c["file"], ()):       # a row of a table is not counted
            return c["line"] in self.reach[n].get(c["file"], ())
        has = self.tree.members.get(self.needs[n], set()).union(self.plan["programs"][self.needs[n]]["objects"])
        return not has.isdisjoint(changed)

    def order(self, c, changed, quick):
        """The tests that reach a mutant, those that will tell soonest first."""
        stem = re.sub(r"\.[ch]$", "", os.path.basename(c["file"]))

        def rank(n):
            return self.seconds[n] * (0.1 if stem in n else 1) * (1 if n in self.reach else 3)
        names = [n for n in self.seconds if (self.seconds[n] <= QUICK) == quick or self.args.again]
        if self.args.own:
            meant = next(tests for files, tests in MEANT if re.match(files, c["file"]))
            names = [n for n in names if re.search(meant, n)]
        return sorted((n for n in names if self.reaches(n, c, changed)), key=rank)

    def try_tests(self, c, changed, home, quick, passed):
        linked, at = {}, os.path.join(home, "tree")
        for n in self.order(c, changed, quick):
            if time.time() > self.workers.end:
                return "cut", "", passed
            program = self.needs[n]
            if program not in linked:
                linked[program] = self.tree.program(program, os.path.join(at, program), changed)[0]
            if not linked[program]:
                continue                        # another object of this header has what the program lacks
            good, said = testtree.run_test(n, at, self.seeds, home, max(20, SLOWER * self.seconds[n]))
            if good is False:
                return "killed", n + ": " + said, passed
            passed += 1
        return "survived", "", passed

    def write(self, number, c, state, by, passed, seconds):
        row = {k: c[k] for k in ("file", "line", "what", "old", "new", "text")}
        row.update(number=number, state=state, by=by, passed=passed, seconds="%.1f" % seconds)
        with self.workers.lock:
            self.rows[number] = row
            with open(self.args.rows, "a", newline="", encoding="utf-8") as f:
                csv.DictWriter(f, FIELDS).writerow(row)

    def one(self, number, home, quick):
        c, started = self.list[number], time.time()
        before = self.rows.get(number)
        passed, seconds = (int(before["passed"]), float(before["seconds"])) if before else (0, 0)
        state, by, slow = "no processor", "", False
        for objects in self.parts(c):
            changed = self.make(c, objects, home)
            if isinstance(changed, str):
                state = changed if state in INVALID else state
                continue
            state, by, passed = self.try_tests(c, changed, home, quick, passed)
            slow = slow or bool(quick and self.order(c, changed, False))
            if state != "survived":
                break
        if state == "survived" and slow:
            state = "passed quick tests"
        elif state == "survived" and not passed:
            state = "not reached"
        if state != "cut":
            self.write(number, c, state, by, passed, seconds + time.time() - started)

    def baseline(self):
        """What each test takes without a change; those that fail then tell nothing."""
        kept, bad = os.path.join(self.dir, "baseline.json"), []

        def measure(n, home):
            good, said = testtree.run_test(n, self.tree.at, self.seeds, home, PLAIN)
            if good:
                self.seconds[n] = testtree.took[n]
            else:
                bad.append("%s (%s)" % (n, said))

        def count(n, home):
            if coverage.one(n, counted.at, self.seeds, home, coverage.kept(self.dir, n), COUNTED)[0]:
                self.seconds[n] = testtree.took[n] / 2
            else:
                coverage.forget(self.dir, n)
                measure(n, home)
        self.workers.build(self.tree, self.needs.values())
        if os.path.exists(kept):
            with open(kept, encoding="utf-8") as f:
                known = json.load(f)
            self.seconds, bad = {k: v for k, v in known["seconds"].items() if k in self.needs}, known["bad"]
        tried = set(self.seconds).union(x.split(" (")[0] for x in bad)
        missing = [n for n in testtree.slow_first(self.needs) if n not in tried]
        if missing:
            if self.args.map:
                counted = coverage.counted_tree(self.dir, self.plan)
                self.workers.build(counted, self.needs.values())
            self.workers.each(missing, count if self.args.map else measure)
            took = sum(self.seconds.values())
            print("%d tests, %.0f s; left out: %s" % (len(self.seconds), took, "; ".join(sorted(bad))), flush=True)
            with open(kept, "w", encoding="utf-8") as f:
                json.dump(dict(seconds=self.seconds, bad=bad), f)
        if self.args.map:
            self.reach = {n: coverage.lines_reached(self.dir, n) for n in self.seconds}
            self.reach = {n: v for n, v in self.reach.items() if v}
            for n in self.reach:
                for k, v in coverage.lines_reached(self.dir, n, "all").items():
                    self.counted.setdefault(k, set()).update(v)

    def mutants(self):
        return sum(r["state"] not in INVALID for r in self.rows.values())

    def run(self):
        started, busy = time.time(), set()
        self.baseline()
        print("ready: %.0f s" % (time.time() - started), flush=True)

        def next_quick(home):
            with self.workers.lock:
                # Numbers are taken in order; one that turns out to be no mutant is replaced by the next.
                number = next((i for i in range(len(self.list)) if i not in self.rows and i not in busy), None)
                if number is None or self.mutants() + len(busy) >= self.args.number:
                    return False
                busy.add(number)
            try:
                self.one(number, home, True)
            finally:
                with self.workers.lock:
                    busy.discard(number)
            return True
        before = None
        if self.args.again:
            alive = [n for n, r in sorted(self.rows.items()) if r["state"] not in INVALID + ("killed",)]
            self.workers.each(alive, lambda n, home: self.one(n, home, False))
            print("all tests: %.0f s; %s" % (time.time() - started, self.count()), flush=True)
            return 0
        while self.mutants() < self.args.number and before != len(self.rows) and time.time() < self.workers.end:
            before = len(self.rows)
            self.workers.work(next_quick)
        print("quick tests: %.0f s; %s" % (time.time() - started, self.count()), flush=True)
        self.workers.each([n for n, r in sorted(self.rows.items()) if r["state"] == "passed quick tests"],
                          lambda n, home: self.one(n, home, False))
        print("all tests: %.0f s; %s" % (time.time() - started, self.count()), flush=True)
        wanted = sum(r["state"] == "passed quick tests" for r in self.rows.values())
        if len(self.rows) < len(self.list):
            wanted += max(0, self.args.number - self.mutants())
        if wanted:
            print("the time is over: %d mutants are not finished" % wanted, flush=True)
        return 1 if wanted else 0

    def count(self):
        n = {}
        for r in self.rows.values():
            n[r["state"]] = n.get(r["state"], 0) + 1
        return ", ".join("%s %d" % x for x in sorted(n.items()))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", choices=["list", "run", "show"])
    p.add_argument("-n", dest="number", type=int, default=200)
    p.add_argument("-s", dest="seed", type=int, default=1)
    p.add_argument("-j", dest="jobs", type=int, default=os.cpu_count())
    p.add_argument("-t", dest="time", type=float)
    p.add_argument("-w", dest="which", default="")
    p.add_argument("-k", dest="tests", default="")
    p.add_argument("-m", dest="map", action="store_true")
    p.add_argument("-o", dest="own", action="store_true")
    p.add_argument("-a", dest="again", action="store_true")
    p.add_argument("dir")
    p.add_argument("rows", nargs="?")
    args = p.parse_args()
    if args.what == "list":
        found = candidates(testtree.read_pack(args.dir), os.path.join(args.dir, "tree"), args.seed, args.which)
        for i, c in enumerate(found[:args.number]):
            print("%d %s:%d %s: %s -> %s   %s" % (i, c["file"], c["line"], c["what"], c["old"], c["new"], c["text"]))
        print("of %d" % len(found))
    elif args.what == "run":
        signal.signal(signal.SIGTERM, testtree.stop)
        signal.signal(signal.SIGINT, testtree.stop)
        return Run(args).run()
    else:
        with open(args.dir, newline="", encoding="utf-8") as f:
            rows = {int(r["number"]): r for r in csv.DictReader(f)}
        for n, r in sorted(rows.items(), key=lambda x: (x[1]["file"], int(x[1]["line"]))):
            if r["state"] not in ("killed",) + INVALID:
                print("%d %s:%s %s: %s -> %s [%s, %s tests]\n    %s" % (n, r["file"], r["line"], r["what"], r["old"],
                                                                      r["new"], r["state"], r["passed"], r["text"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
