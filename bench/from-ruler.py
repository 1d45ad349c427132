#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""RULER's own files as rows for `gemkv eval qa`.

    bench/from-ruler.py niah_single_1/validation.jsonl vt/validation.jsonl >ruler.jsonl
    gemkv eval qa --data ruler.jsonl

Input: what RULER's scripts/data/prepare.py wrote, JSON lines with "index", "input", "outputs" and perhaps
"answer_prefix"; the task is the name of the file or, for validation.jsonl and test.jsonl, of its folder.  The
wording is RULER's, and so are the scores: `part` for its questions, `all` for the rest.  An "input" is cut before
its last question, and what it has of the answer becomes the row's "begin".  gemkv eval ruler makes rows of the same
kinds, in words of ours, of any length."""
import os
import sys

import rows

ASKS = ("\nQuestion:", "\nWhat are all", "\nWhat is the special magic")
PREFIXES = (" Answer:", " The special magic")


def cut(text, marks):
    """Before and from the last place where one of the marks is."""
    at = max(text.rfind(m) for m in marks)
    return (text[:at], text[at:]) if at >= 0 else (text, "")


for path in sys.argv[1:]:
    name = os.path.basename(path).split(".")[0]
    task = os.path.basename(os.path.dirname(os.path.abspath(path))) if name in ("validation", "test") else name
    for i, r in enumerate(rows.lines(path)):
        context, question = cut(r["input"], ASKS)
        begin = r.get("answer_prefix", "")
        if begin:
            question = question.removesuffix(begin)
        else:
            question, begin = cut(question, PREFIXES)
        if not question.strip():
            print("%s:%d: no question is found, left out" % (path, i + 1), file=sys.stderr)
            continue
        more = {"begin": begin.strip()} if begin.strip() else {}
        rows.write("%s-%s" % (task, r.get("index", i)), context, question.strip(), r["outputs"], task=task,
                   metric="part" if task.startswith("qa") else "all", max_tokens=128, **more)
