#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""L-Eval as rows for `gemkv eval qa`.

    bench/from-leval.py natural_question.jsonl multidoc_qa.jsonl >leval.jsonl
    gemkv eval qa --data leval.jsonl --metric rouge-l

Input: the set's JSON lines with a document in "input", its questions in "instructions" and their answers
in "outputs", one row each here; the task is the file's name.  L-Eval's closed tasks (multiple choice,
exact answers) are best scored with --metric em or contains."""
import os
import sys

import rows

for path in sys.argv[1:]:
    task = os.path.basename(path).split(".")[0]
    for i, r in enumerate(rows.lines(path)):
        for j, (question, answer) in enumerate(zip(r["instructions"], r["outputs"])):
            rows.write("%s-%d-%d" % (task, i, j), r["input"], question.strip(), [answer], task=task,
                       max_tokens=max(32, min(512, 2 * len(answer.split()) + 16)))
