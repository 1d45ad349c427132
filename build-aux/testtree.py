#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""testtree.py BUILD DIR - all that coverage.py and mutants.py need, from a tree that is configured and was built once

DIR then has the sources (tree/), the seeds of fuzzing (seeds/), and the commands by which make builds objects, archives
and programs (plan.json).  It may be carried to another machine of the kind that BUILD was configured on: there, Python
3.8, gcc and a shell are enough.  Most of it is data/*.gguf; without that, tests that answer with it are left out.
"""
import glob
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time

MEMORY = 8 << 20        # KiB for one process
WAITING = 15            # times the limit of processor time, by the clock
# The longest first, when many run at once.
SLOW_TESTS = ["kernels", "golden", "kernels-attend", "kernels-emulated", "unit-arch", "unit-gemm", "hybrid", "unit-logits",
              "unit-library-damage", "unit-library"]


# ---- pack -----------------------------------------------------------------------------
def ask_make(build, *names):
    """Values of variables."""
    rule = "include Makefile\nask-make:\n" + "".join("\t@echo '$(%s)'\n" % n for n in names)
    out = subprocess.run(["make", "-s", "-f", "-", "ask-make"], cwd=build, input=rule, text=True, check=True,
                         stdout=subprocess.PIPE).stdout
    return out.split("\n")[-len(names) - 1:-1]             # make may have had to write Makefile first


def git_files(srcdir, *which):
    out = subprocess.run(["git", "ls-files", "-z"] + list(which), cwd=srcdir, text=True, check=True,
                         stdout=subprocess.PIPE)
    return [n for n in out.stdout.split("\0") if n]


def read_plan(build):
    """The commands that make would run, were every source newer."""
    srcdir, programs, modules = ask_make(build, "abs_srcdir", "check_PROGRAMS", "check_LTLIBRARIES")
    here = srcdir == os.path.realpath(build)
    newer = [w for s in git_files(srcdir, "*.c") for w in ("-W", s if here else srcdir + "/" + s)]
    out = subprocess.run(["make", "-n", "V=1"] + newer + ["all"] + programs.split() + modules.split(), cwd=build,
                         text=True, check=True, stdout=subprocess.PIPE).stdout
    out = re.sub(r"`[^`]*`", "", out).replace("\\\n", " ")
    objects, links = {}, {}
    for text in out.split("\n"):
        if " -c -o " in text:
            libtool = "--mode=compile" in text
            words = shlex.split(text[text.index("--mode=compile"):] if libtool else text.split(";")[-1])
            words = words[:words.index("&&")] if "&&" in words else words
            o, source = words[words.index("-o") + 1], words[words.index("-o") + 2]
            first = next(i for i, w in enumerate(words) if w.startswith("-") and not w.startswith("--"))
            # Without what debuggers read, in which lines and paths differ where the code is the same.
            flags = [w.replace(srcdir, ".") for w in words[first:words.index("-MT")]
                     if not w.startswith("-W") and not re.fullmatch(r"-g[0-3]?|-ggdb[0-3]?", w)]
            flags += ["-fPIC", "-DPIC"] if o.endswith(".lo") else []
            source = source.replace(srcdir + "/", "")
            objects[flat(o)] = dict(source=source, flags=flags, deps=read_deps(build, srcdir, o))
        elif "--mode=link" in text:
            words = shlex.split(text[text.index("--mode=link"):])
            links[words[words.index("-o") + 1]] = words
    links["libgemkv.la"] = ["-o", "libgemkv.la", "src/libcore.la"]
    made = {p: program_of(p, links) for p in programs.split() + ["gemkv"]}
    for m in modules.split():
        if "-module" in links[m]:
            made[archive_path(m)[:-2] + ".so"] = program_of(m, links)
    archives = {a: members_of(a, links) for p in made.values() for a in p["archives"]}
    return dict(objects=objects, programs=made, archives=archives), srcdir


def flat(o):
    """The name of an object: a member of an archive has no folder, and must have a name of its own."""
    return re.sub(r"\.l?o$", ".o", o).replace("/", "=")


def archive_path(name):
    return os.path.join(os.path.dirname(name), ".libs", os.path.basename(name)[:-3] + ".a")


def read_deps(build, srcdir, o):
    """The headers of an object, and other sources that it includes."""
    name = os.path.basename(o).replace(".lo", ".Plo").replace(".o", ".Po")
    with open(os.path.join(build, os.path.dirname(o), ".deps", name), encoding="utf-8") as f:
        words = f.read().replace("\\\n", " ").split()
    words = [w for w in words if not w.endswith(":") and (w.startswith(srcdir + "/") or not w.startswith("/"))]
    words = {os.path.normpath(w.replace(srcdir + "/", "")) for w in words}
    return sorted(w for w in words if re.search(r"\.[ch]$", w) and w != "config.h")


def program_of(name, links):
    """Own objects, archives and libraries of a program or module, without libtool's shared library."""
    objects, archives, libs = [], [], []

    def add(words, top):
        for w in words[words.index("-o") + 2:]:
            if re.search(r"\.l?o$", w) and top:
                objects.append(flat(w))
            elif w == "libgemkv.la":
                add(links[w], False)
            elif w.endswith(".la"):
                if top or w == "src/libcore.la":
                    archives.append(w)
                add(links[w], False)
            elif re.match("-l|-Wl,--wrap", w) and w not in libs:
                libs.append(w)
    add(links[name], True)
    libs += [w for w in links[name] if w.startswith("-Wl,--wrap") and w not in libs]    # of LDFLAGS, before its name
    return dict(objects=objects, archives=archives, libs=libs)


def members_of(archive, links):
    found = []
    for w in links[archive][2:]:
        if w.endswith(".lo"):
            found.append(flat(w))
        elif w.endswith(".la") and w != archive:
            found += members_of(w, links)
    return found


def pack(build, out):
    plan, srcdir = read_plan(build)
    tree = os.path.join(out, "tree")
    for n in git_files(srcdir, "--cached", "--others", "--exclude-standard"):
        copy(os.path.join(srcdir, n), os.path.join(tree, n))
    copy(os.path.join(build, "config.h"), os.path.join(tree, "config.h"))
    os.makedirs(os.path.join(tree, "share"), exist_ok=True)     # what make has for programs that are not installed
    if not os.path.lexists(os.path.join(tree, "share/gemkv")):
        os.symlink("../data", os.path.join(tree, "share/gemkv"))
    with open(os.path.join(out, "plan.json"), "w", encoding="utf-8") as f:
        json.dump(plan, f, indent=0)
    seeds, build = os.path.join(out, "seeds"), os.path.abspath(build)
    shutil.rmtree(seeds, ignore_errors=True)
    subprocess.run([sys.executable, os.path.join(srcdir, "tests/fuzz/seeds.py"), build + "/tests/mkmodel",
                    build + "/gemkv", os.path.abspath(seeds)], check=True)


def copy(a, b):
    os.makedirs(os.path.dirname(b), exist_ok=True)
    shutil.copy2(a, b)


# ---- tests ----------------------------------------------------------------------------
LIVE = set()
took = {}               # seconds of processor time that a test took last


def stop(*_):
    """Nothing that was started goes on when this is ended."""
    for pid in list(LIVE):
        try:
            os.killpg(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    os._exit(1)


def tests_in(tree, programs):
    """Names of the tests of a tree, and the program that each needs."""
    needs = {}
    for p in programs:
        if p.endswith(".test"):
            needs[os.path.basename(p)[:-5]] = p
        elif p.startswith("tests/fuzz/"):
            needs["fuzz/" + os.path.basename(p)] = p
    for p in sorted(glob.glob(os.path.join(tree, "tests/cli/*.sh"))):
        needs["cli/" + os.path.basename(p)[:-3]] = "gemkv"
    return needs


def test_command(name, tree, seeds):
    kind, _, rest = name.partition("/")
    if kind == "cli":
        return ["sh", tree + "/tests/cli.sh", rest]
    if kind == "fuzz":
        return [tree + "/tests/fuzz/" + rest, os.path.join(seeds, rest)]
    return [tree + "/tests/" + name + ".test"]


def run_test(name, tree, seeds, home, limit, extra=None):
    """Whether the test passes, and what it said; None when it is skipped.  The limit is of processor time: others may
    use the machine; only what waits for nothing is ended by the clock."""
    tmp = os.path.join(home, "tmp")
    shutil.rmtree(tmp, ignore_errors=True)
    os.makedirs(tmp)
    env = dict(PATH=os.environ.get("PATH", "/usr/bin:/bin"), HOME=tmp, TMPDIR=tmp, srcdir=tree, builddir=tree,
               MANDOC=":", CC="gcc", CFLAGS="-O1", OMP_WAIT_POLICY="passive", CLI_JOBS="1",
               FUZZ_FILES=os.path.join(seeds, "files"))
    env.update({k: v for k, v in os.environ.items() if k.startswith(("GOLDEN_", "KERNELS_"))}, **(extra or {}))
    said = os.path.join(home, "said")
    with open(said, "wb") as out:
        p = subprocess.Popen(["sh", "-c", 'ulimit -c 0; ulimit -v %d; ulimit -t %d; exec "$@"' % (MEMORY, limit), "sh"] +
                             test_command(name, tree, seeds), cwd=home, env=env, stdin=subprocess.DEVNULL, stdout=out,
                             stderr=subprocess.STDOUT, start_new_session=True)
        LIVE.add(p.pid)
        late = []
        clock = threading.Timer(WAITING * limit, lambda: (late.append(1), os.killpg(p.pid, signal.SIGKILL)))
        clock.start()
        _, status, used = os.wait4(p.pid, 0)
        clock.cancel()
        took[name] = used.ru_utime + used.ru_stime
        p.returncode = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        status = None if late or p.returncode == -signal.SIGXCPU else p.returncode
        try:
            os.killpg(p.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        LIVE.discard(p.pid)
    with open(said, errors="replace") as f:
        text = f.read()
    if status is None:
        return False, "time"
    bad = re.findall(r"^not ok.*|^Bail out.*", text, re.M)
    if bad or status:
        return False, bad[0][:100] if bad else "status %d" % status
    if re.search(r"^1\.\.0|# SKIP", text, re.M) and not re.search(r"^ok (?!.*# SKIP)", text, re.M):
        return None, "skipped"
    return True, text.rstrip().rpartition("\n")[2]


# ---- objects, archives, programs ------------------------------------------------------
def compile_one(at, o, out, extra=()):
    p = subprocess.run(os.environ.get("CC", "gcc").split() + ["-w"] + o["flags"] + list(extra) +
                       ["-c", "-o", out, o["source"]], cwd=at, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.PIPE, text=True)
    return p.returncode == 0, p.stderr


class Tree:
    """A tree in which objects, archives and programs are made where they lack; with counters or without."""

    def __init__(self, plan, at, counted=False):
        self.plan, self.at, self.counted = plan, at, counted
        self.members = {}                       # of the archives, that each program got

    def path(self, o):
        return os.path.join(self.at, "objects", o)

    def extra(self, o):
        if not self.counted or o["source"].startswith("tests/"):
            return []
        # Branches are told apart without optimization only; where the time is spent, lines are enough.
        slow = re.match(r"simd/|src/(engine|quant|first|select|base)/", o["source"])
        return ["--coverage"] + ([] if slow else ["-O0"])

    def object(self, name):
        o, out = self.plan["objects"][name], self.path(name)
        if not os.path.exists(out):
            os.makedirs(os.path.dirname(out), exist_ok=True)
            to = out if self.counted else out + ".part"         # counters are named after the object
            good, said = compile_one(self.at, o, to, self.extra(o))
            if good:
                os.rename(to, out)
            else:
                print("%s cannot be compiled: %s" % (o["source"], said[:300]), flush=True)

    def archive(self, name):
        out = os.path.join(self.at, archive_path(name))
        if not os.path.exists(out):
            os.makedirs(os.path.dirname(out), exist_ok=True)
            subprocess.run(["ar", "cr", out] +
                           [self.path(o) for o in self.plan["archives"][name] if os.path.exists(self.path(o))],
                           check=True)

    def program(self, name, out=None, changed=None):
        """Links a program, with the changed objects of a mutant among those that it has."""
        p, changed = self.plan["programs"][name], changed or {}
        words = [changed.get(o) or self.path(o) for o in p["objects"]]
        words += [path for o, path in changed.items() if o in self.members.get(name, ())]
        out = out or os.path.join(self.at, name)
        os.makedirs(os.path.dirname(out), exist_ok=True)
        if os.path.lexists(out):
            os.unlink(out)
        shared = name.endswith(".so")
        how = (["-shared"] if shared else []) + (["--coverage"] if self.counted else [])
        how += ["-Wl,--wrap=raise,--wrap=_exit", os.path.join(self.at, "ends.o")] if self.counted and not shared else []
        how += [w for w in ("-fopenmp",) if any(w in self.plan["objects"][o]["flags"] for o in p["objects"])]
        done = subprocess.run(["gcc", "-pthread", "-Wl,--build-id=none", "-Wl,-t", "-Wl,-t", "-o", out] + how + words +
                              [os.path.join(self.at, archive_path(a)) for a in p["archives"]] +
                              p["libs"] + ["-ldl", "-lm"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        if not changed:
            self.members[name] = set(re.findall(r"\.a(?:\)|:)?\(?([^\s()]+\.o)\)?", done.stdout))
        return done.returncode == 0, done.stdout


class Workers:
    """Threads that share work, each with a folder of its own, until a time."""

    def __init__(self, where, jobs, seconds):
        self.where, self.jobs, self.lock = where, jobs, threading.Lock()
        self.end = time.time() + seconds if seconds else float("inf")

    def work(self, do):
        """do(folder) until it returns False, by all."""
        failed = []

        def loop(w):
            home = os.path.join(self.where, "w%d" % w)
            os.makedirs(home, exist_ok=True)
            try:
                while time.time() < self.end and not failed and do(home):
                    pass
            except Exception as e:              # in a thread nobody would see it
                failed.append(e)
        threads = [threading.Thread(target=loop, args=(w,)) for w in range(self.jobs)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        if failed:
            raise failed[0]

    def each(self, items, do):
        """do(item, folder) for each item."""
        left = list(reversed(items))

        def one(home):
            with self.lock:
                if not left:
                    return False
                item = left.pop()
            do(item, home)
            return True
        self.work(one)

    def build(self, tree, wanted):
        """The wanted programs, with all objects and archives of theirs that are not there yet; the slowest first."""
        made = [p for p in tree.plan["programs"] if p in wanted or not re.search(r"\.test$|^tests/fuzz/|^gemkv$", p)]
        archives = {a for p in made for a in tree.plan["programs"][p]["archives"]}
        objects = {o for p in made for o in tree.plan["programs"][p]["objects"]}
        objects.update(o for a in archives for o in tree.plan["archives"][a])
        self.each(sorted(objects, key=lambda n: (not n.startswith("simd"), n)), lambda n, home: tree.object(n))
        self.each(sorted(archives), lambda n, home: tree.archive(n))

        def link(n, home):
            good, said = tree.program(n)
            if not good:
                print("%s cannot be linked: %s" % (n, said[-300:]), flush=True)
        self.each(made, link)


def slow_first(names):
    slow = {n: i - len(SLOW_TESTS) for i, n in enumerate(SLOW_TESTS)}
    return sorted(names, key=lambda n: (slow.get(n, 0), n))


def what_is_built(folder, names):
    """For copies of a tree."""
    return [n for n in names if n == "objects" or n.endswith(".a")]


def read_pack(where):
    with open(os.path.join(where, "plan.json"), encoding="utf-8") as f:
        return json.load(f)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    pack(*sys.argv[1:])
