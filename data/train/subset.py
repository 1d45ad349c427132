#!/usr/bin/env python3
"""Step 5: less text, where the machine that trains takes only so much: all paragraphs with human questions, and
so many million tokens of articles and of books.

    python3 subset.py OUT/data.npz SMALL/data.npz 4.0 2.6
"""

import sys

import numpy as np

from prepare import BOOK, PARAGRAPH, WIKI


def main():
    source, target = sys.argv[1:3]
    d = dict(np.load(source))
    kind, doc, size, ask = d["kind"], d["doc"], np.diff(d["doc"]), d["ask"]
    keep = kind == PARAGRAPH
    for k, millions in zip((WIKI, BOOK), map(float, sys.argv[3:5])):
        of = np.flatnonzero(kind == k)
        of = np.random.default_rng(1).permutation(of) if k == WIKI else of[::-1]
        keep[of[np.cumsum(size[of]) <= millions * 1e6]] = True
    kept = np.flatnonzero(keep)
    place = np.concatenate([[0], np.cumsum(size[kept])])
    number = np.full(len(kind), -1)
    number[kept] = np.arange(len(kept))

    ask = ask[keep[ask[:, 0]]].copy()
    moved = (place[:-1] - doc[kept])[number[ask[:, 0]]][:, None]
    ask[:, 1:3] = np.where(ask[:, 1:3] >= 0, ask[:, 1:3] + moved, -1)
    said, n = [], 0
    for row in ask:
        words = d["said"][row[3] : row[5]]
        said.append(words)
        row[3:6] += n - row[3]
        n += len(words)
    ask[:, 0] = number[ask[:, 0]]
    cut = lambda values, ends: np.concatenate([values[ends[i] : ends[i + 1]] for i in kept])
    np.savez(
        target,
        tokens=cut(d["tokens"], doc),
        doc=place,
        kind=kind[kept],
        origins=d["origins"],
        origin=d["origin"][kept],
        ask=ask.astype(np.int32),
        said=np.concatenate(said),
        titles=cut(d["titles"], d["title"]),
        title=np.concatenate([[0], np.cumsum(np.diff(d["title"])[kept])]),
    )


if __name__ == "__main__":
    main()
