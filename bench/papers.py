#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A figure of one of the papers, measured on any model.

    bench/papers.py FIGURE [-m MODEL] [--data ROWS.jsonl | --lengths N,N --samples N] [-f TEXT] [-o FIGURE.svg]

Prints a table, and with -o draws it.  FIGURE is one of

FIGURES
Rows are needles in the bundled book, as `gemkv eval niah` makes them, or those of --data (`gemkv eval qa`), of which
the first --limit are asked.  Tokens that were kept are counted by the bytes of their text.  bench/README.md
says which figures other commands make, and which are missing."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from html import escape

import rows as sets

TAUS = [t / 25 for t in range(1, 26)]
BINS = 48

# ---- what the program says -------------------------------------------------------------------


def run(*command, **how):
    command = [a.gemkv, *map(str, command)] + (["-m", a.model] if a.model else [])
    done = subprocess.run(command, stderr=None if a.v else subprocess.PIPE, **how)
    if done.returncode:
        sys.exit("%s: exit status %d\n%s" % (" ".join(command), done.returncode, (done.stderr or b"").decode()))
    return done.stdout


def gemkv(*command):
    return json.loads(run(*command, stdout=subprocess.PIPE))


def n_layers():
    return gemkv("info", "--json")["layers"]


def made_rows(folder):
    """Those of --data, or needles at 50 % of each length."""
    path = a.data
    if not path:
        path = os.path.join(folder, "rows.jsonl")
        run("eval", "niah", "--lengths", a.lengths, "--samples", a.samples, "--depths", 50, "--rows", path, "--force")
    return list(sets.lines(path))[:a.limit]


class Row:
    """One question about one text, in a file."""
    def __init__(self, row, folder):
        self.question, self.context = row["question"], row["context"].encode()
        self.file = os.path.join(folder, "text.txt")
        found = [self.context.find(s.encode()) for s in row["answers"] if s]
        self.answer = min((at for at in found if at >= 0), default=None)
        with open(self.file, "wb") as f:
            f.write(self.context)

    def select(self, *options):
        return gemkv("select", "--json", "-f", self.file, "-k", a.keep, *options, self.question)

    def kept(self, *options):
        """For each byte of the text, whether it was kept; of one-pass methods, the share of heads that kept it."""
        share = [0.0] * len(self.context)
        one_pass = any(o.startswith(("snapkv", "h2o", "fastkv")) for o in options if isinstance(o, str))
        for k in self.select(*options)["kept"]:
            share[k["start"]:k["end"]] = [k["score"] if one_pass else 1.0] * (k["end"] - k["start"])
        return share


def each_row():
    with tempfile.TemporaryDirectory() as folder:
        for row in made_rows(folder):
            yield Row(row, folder)


def evaluate(methods, *options):
    """The mean score of each method over the rows, in percent."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "asked.jsonl")
        with open(path, "w", encoding="utf-8") as f:
            for row in made_rows(folder):
                f.write(json.dumps(row) + "\n")
        out = gemkv("eval", "qa", "--json", "--data", path, "-n", a.max_tokens, *options,
                    "--methods", ",".join(methods))
    return [100 * m["mean"] for m in (out if isinstance(out, list) else [out])]


def bench(text, methods, keep):
    out = gemkv("bench", "--json", "-f", text, "-n", a.max_tokens, "-k", keep, "--methods", ",".join(methods))
    return out if isinstance(out, list) else [out]


def mean(values):
    values = [v for v in values if v is not None]
    return sum(values) / len(values) if values else None

# ---- tables and pictures ---------------------------------------------------------------------


def number(v):
    return "-" if v is None else v if isinstance(v, str) else "%.4g" % v


def table(columns, lines):
    cells = [columns] + [[number(v) for v in line] for line in lines]
    width = [max(len(str(c[i])) for c in cells) for i in range(len(columns))]
    for c in cells:
        print("  ".join(str(v).rjust(w) for v, w in zip(c, width)))


def svg(body, width, height, title):
    head = ('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">\n'
            '<rect width="100%%" height="100%%" fill="white"/>\n' % (width, height))
    if a.o:
        with open(a.o, "w", encoding="utf-8") as f:
            title = '<text x="10" y="18" font-size="14">%s</text>\n' % escape(title)
            f.write("".join([head, title, *body, "</svg>\n"]))


def text(x, y, s, anchor="start"):
    return '<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>\n' % (x, y, anchor, escape(str(s)))


def curves(title, x, names, columns, unit):
    """Columns of values over x, one curve each."""
    table([unit] + names, [[x[i]] + [c[i] for c in columns] for i in range(len(x))])
    colour = ["#1f5fa8", "#c0392b", "#2e8b57", "#8e44ad", "#b8860b", "#555555"]
    top = max((v for c in columns for v in c if v is not None), default=1) or 1
    body = [text(560, 330, unit, "end"), text(40, 34, number(top), "end"), text(40, 304, "0", "end"),
            '<path d="M46 30V300H560" fill="none" stroke="black"/>\n']
    for i, name in enumerate(x):
        if i % max(1, len(x) // 12) == 0:
            body.append(text(50 + 500 * i / max(1, len(x) - 1), 315, number(name), "middle"))
    for n, c in enumerate(columns):
        points = " ".join("%.1f,%.1f" % (50 + 500 * i / max(1, len(x) - 1), 300 - 270 * v / top)
                          for i, v in enumerate(c) if v is not None)
        body.append('<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>\n' % (points, colour[n % 6]))
        body.append('<g fill="%s">%s</g>' % (colour[n % 6], text(570, 40 + 16 * n, names[n])))
    svg(body, 800, 340, title)


def grid(title, names, lines, values, unit):
    """values[line][column] from 0, white, to 1."""
    for name, line in zip(lines, values):
        print("%12s %s" % (name, "".join("." if v is None else " .:-=+*#%@"[min(9, int(10 * v))] for v in line)))
    body = []
    w, h = max(4, 600 // len(values[0])), 14
    for i, line in enumerate(values):
        body.append(text(110, 41 + i * h, lines[i], "end"))
        for j, v in enumerate(line):
            if v is not None:
                body.append('<rect x="%d" y="%d" width="%d" height="%d" fill="rgb(%d,%d,255)"/>\n'
                            % (116 + j * w, 30 + i * h, w, h, 255 * (1 - v), 255 * (1 - v)))
    for j in range(0, len(values[0]), max(1, len(values[0]) // 12)):
        body.append(text(116 + j * w, 44 + len(lines) * h, names[j]))
    svg(body, 150 + len(values[0]) * w, 70 + len(lines) * h, title + ", " + unit)

# ---- GemFilter -------------------------------------------------------------------------------


def gemfilter_needles():
    """GemFilter, needle maps: full, snapkv and gemfilter by length and depth"""
    run("eval", "niah", "--methods", "full,snapkv,gemfilter", "--lengths", a.lengths, "-k", a.keep,
        "--samples", a.samples, *(["--plot", a.o, "--force"] if a.o else []))


def gemfilter_distance():
    """GemFilter, figure 5: tokens from the answer to the nearest kept one, by layer"""
    layers = range(n_layers())
    away = [[] for _ in layers]
    for row in each_row():
        if row.answer is None:
            continue
        for il in layers:
            found = row.select("--layer", il, "--keep-first", 0, "--keep-last", 0, "--schedule", "layer")
            near = min(max(k["start"] - row.answer, row.answer - k["end"] + 1, 0) for k in found["kept"])
            away[il].append(near * found["tokens"]["document"] / len(row.context))
    curves("distance from the answer to the nearest kept token", list(layers), ["mean", "largest"],
           [[mean(v) for v in away], [max(v, default=None) for v in away]], "layer")


def gemfilter_indices():
    """GemFilter, figures 11 to 13: where the tokens lie that each layer keeps; of snapkv, h2o the share of heads"""
    names, values = [], []
    ways = [("layer %d" % il, "--layer", il) for il in range(n_layers())]
    ways += [(m, "--method", m) for m in ("snapkv", "h2o")]
    for row in each_row():
        for name, *options in ways:
            share = row.kept(*options)
            cut = [len(share) * i // BINS for i in range(BINS + 1)]
            names.append(name)
            values.append([mean(share[x:y]) for x, y in zip(cut, cut[1:])])
        break
    grid("tokens kept", ["%d %%" % (100 * i // BINS) for i in range(BINS)], names, values, "part of each stretch")


def gemfilter_cost():
    """GemFilter, time and memory: full, snapkv and gemfilter by length of TEXT (-f)"""
    methods = ["full", "snapkv", "gemfilter"]
    lines = []
    with tempfile.TemporaryDirectory() as folder, open(a.f, "rb") as f:
        whole = f.read()
        for n in map(int, a.lengths.split(",")):
            path = os.path.join(folder, "text.txt")
            with open(path, "wb") as out:
                out.write(whole[:n * 4].decode(errors="ignore").encode())
            for m in bench(path, methods, a.keep):
                lines.append([m["tokens"]["prompt"], m["method"], m["seconds"]["ttft"]["median"],
                              1000 * m["seconds"]["token"]["median"], m["memory"]["peak"]["median"] / 1e6])
    table(["tokens", "method", "s to the first token", "ms a token", "MB at most"], lines)
    if a.o:
        x = [line[0] for line in lines if line[1] == "full"]
        curves("seconds to the first token", x, methods, [[v[2] for v in lines if v[1] == m] for m in methods],
               "tokens")

# ---- ASL -------------------------------------------------------------------------------------


def chosen_layers(row):
    """The layer that asl-2pass chooses for each of TAUS.  It falls as tau grows, so equal ends need no look between."""
    found = {}

    def layer(i):
        if i not in found:
            found[i] = row.select("--method", "asl-2pass:tau=%g,lmin=%d,lobs=%d" % (TAUS[i], a.lmin, a.lobs))["layer"]
        return found[i]

    def between(i, j):
        if layer(i) == layer(j):
            found.update((m, found[i]) for m in range(i, j))
        elif j - i > 1:
            between(i, (i + j) // 2)
            between((i + j) // 2, j)

    between(0, len(TAUS) - 1)
    return [found[i] for i in range(len(TAUS))]


def asl_layers():
    """ASL, histograms of the layer that is chosen, for each tau (the last layer is chosen when no other is)"""
    n, chosen = n_layers(), [chosen_layers(row) for row in each_row()]
    share = [[mean([float(c[i] == il) for c in chosen]) for il in range(n)] for i in range(len(TAUS))]
    grid("layer chosen", list(range(n)), ["tau %.2f" % t for t in TAUS], share, "share of the rows")


def asl_variance():
    """ASL, least relative variance of the ranks up to each layer: the tau from which on it is chosen, to 0.04"""
    n, least = n_layers(), []
    for row in each_row():
        chosen = chosen_layers(row)
        least.append([min((t for t, c in zip(TAUS, chosen) if c <= il and c < n - 1), default=None) for il in range(n)])
    curves("least relative variance up to a layer", list(range(n)), ["mean", "rows"],
           [[mean([v[il] for v in least]) for il in range(n)],
            [float(sum(v[il] is not None for v in least)) for il in range(n)]], "layer")


def asl_accuracy():
    """ASL, score by tau and lmin, of one pass and of two"""
    lmins = [a.lmin] if a.lmin >= 0 else [max(a.lobs - 1, n_layers() // 3 + d) for d in (0, 2, 4)]
    taus = [0.1, 0.3, 0.5, 0.7, 0.9]
    ways = [(m, lmin, tau) for m in ("asl", "asl-2pass") for lmin in dict.fromkeys(lmins) for tau in taus]
    score = evaluate(["%s:tau=%g,lmin=%d,lobs=%d" % (*w[:1], w[2], w[1], a.lobs) for w in ways], "-k", a.keep)
    names = list(dict.fromkeys("%s, lmin %d" % w[:2] for w in ways))
    curves("score by tau", taus, names,
           [[s for s, w in zip(score, ways) if "%s, lmin %d" % w[:2] == n] for n in names], "tau")

# ---- FastKV ----------------------------------------------------------------------------------


def sets_by_layer():
    """For each row, the bytes of TEXT that each layer's score would keep."""
    layers = range(n_layers())
    for row in each_row():
        yield [{i for i, v in enumerate(row.kept("--layer", il, "--schedule", "layer")) if v} for il in layers]


def fastkv_overlap():
    """FastKV, critical tokens: the part that two layers have in common, by gemfilter's score"""
    n, found = n_layers(), list(sets_by_layer())
    grid("critical tokens in common", list(range(n)), ["layer %d" % i for i in range(n)],
         [[mean([len(s[i] & s[j]) / max(1, len(s[i])) for s in found]) for j in range(n)] for i in range(n)],
         "of two layers")


def fastkv_recall():
    """FastKV, recall: the part of the later layers' critical tokens that goes on after a layer, by gemfilter's score"""
    n, found = n_layers(), list(sets_by_layer())
    recall = [[mean([len(s[i] & s[j]) / max(1, len(s[j])) for j in range(i + 1, n)]) for s in found]
              for i in range(n - 1)]
    curves("recall of the critical tokens of later layers", list(range(n - 1)), ["mean", "least"],
           [[mean(r) for r in recall], [min(r) for r in recall]], "layer")


def fastkv_decode():
    """FastKV, ms for a token of the answer by budget, of fastkv, snapkv and full, on TEXT (-f)"""
    budgets = [128, 256, 512, 1024, 2048]
    full = bench(a.f, ["full"], 1024)[0]
    columns = [[1000 * full["seconds"]["token"]["median"]] * len(budgets), [], []]
    for k in budgets:
        for i, m in enumerate(bench(a.f, ["snapkv", "fastkv:kv_len=%d" % k], k)):
            columns[i + 1].append(1000 * m["seconds"]["token"]["median"])
    curves("ms a token behind %d tokens" % full["tokens"]["prompt"], budgets, ["full", "snapkv", "fastkv"], columns,
           "tokens kept")

# ---- FINCH -----------------------------------------------------------------------------------


def finch_compression():
    """FINCH, figure 7: score by compression, of finch, truncate, retrieval (bm25), gemfilter; full reads everything"""
    ratios, methods = [2, 4, 8, 16], ["finch", "truncate", "bm25", "gemfilter"]
    score = [evaluate(methods, "-k", "%g%%" % (100 / r)) for r in ratios]
    whole = evaluate(["full"])[0]
    curves("score by compression", ratios, methods + ["full"],
           [[s[i] for s in score] for i in range(4)] + [[whole] * 4], "times smaller")


def finch_chunks():
    """FINCH, figure 8: score by length of the chunks"""
    chunks = [64, 128, 256, 512, 1024, 2048]
    score = evaluate(["finch:chunk=%d" % c for c in chunks], "-k", a.keep)
    curves("score by chunk", chunks, ["finch"], [score], "tokens in a chunk")


def finch_guide():
    """FINCH, figure 6: score by compression, where the question, the document or both choose"""
    ratios, guides = [2, 4, 8, 16], ["question", "document", "both"]
    score = [evaluate(["finch:guide=%s" % g for g in guides], "-k", "%g%%" % (100 / r)) for r in ratios]
    curves("score by compression", ratios, guides, [list(s) for s in zip(*score)], "times smaller")


FIGURES = {f.__name__.replace("_", "-"): f for f in (
    gemfilter_needles, gemfilter_distance, gemfilter_indices, gemfilter_cost, asl_layers, asl_variance, asl_accuracy,
    fastkv_overlap, fastkv_recall, fastkv_decode, finch_compression, finch_chunks, finch_guide)}
listed = "".join("    %-18s %s\n" % (name, f.__doc__) for name, f in FIGURES.items())
p = argparse.ArgumentParser(description=__doc__.replace("FIGURES\n", listed + "\n"),
                            formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("figure", choices=FIGURES, metavar="FIGURE")
p.add_argument("--gemkv", default="gemkv")
p.add_argument("-m", dest="model")
p.add_argument("-k", dest="keep", default="20%", help="tokens to keep, or percent (20%%)")
p.add_argument("-n", dest="max_tokens", type=int, default=32, help="tokens of an answer (32)")
p.add_argument("-f", metavar="TEXT", help="the text of time and memory")
p.add_argument("-o", metavar="FILE", help="an SVG picture")
p.add_argument("--data", metavar="ROWS", help="rows of `gemkv eval qa`, instead of needles")
p.add_argument("--lengths", default="1024", help="of needles' texts, or of TEXT's beginning (1024)")
p.add_argument("--samples", type=int, default=4, help="needles of each length (4)")
p.add_argument("--limit", type=int, default=20, help="rows to ask (20)")
p.add_argument("--lmin", type=int, default=-1, help="of asl")
p.add_argument("--lobs", type=int, default=8, help="of asl")
p.add_argument("-v", action="store_true", help="what gemkv says on standard error")
a = p.parse_args()
if FIGURES[a.figure] in (gemfilter_cost, fastkv_decode) and not a.f:
    p.error("%s needs a text, -f" % a.figure)
FIGURES[a.figure]()
