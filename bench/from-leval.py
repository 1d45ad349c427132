#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""L-Eval as rows for `gemkv eval qa`.

    bench/from-leval.py natural_question.jsonl multidoc_qa.jsonl coursera.jsonl >leval.jsonl
    gemkv eval qa --data leval.jsonl

Input: the set's JSON lines with a document in "input", its questions in "instructions", their answers in "outputs", one
row each here, and "evaluation"; the task is the file's name.  Scored as the set does; where it gives three kinds of
ROUGE, by rouge-l (--metric leval-rouge-1 and leval-rouge-2 are the others), and so are those that it gives to another
model or to people.  Of sci_fi, only what the document says is asked, not what is so in the world."""
import os
import sys

import rows

METRIC = {"coursera": "leval-choices", "quality": "leval-choice", "tpo": "leval-choice", "gsm100": "leval-math",
          "codeU": "leval-code", "sci_fi": "leval-judge"}
BY_KIND = {"exam": "leval-em", "f1": "longbench-f1"}

for path in sys.argv[1:]:
    task = os.path.basename(path).split(".")[0]
    for i, r in enumerate(rows.lines(path)):
        metric = METRIC.get(task) or BY_KIND.get(r.get("evaluation"), "rouge-l")
        for j, (question, answer) in enumerate(zip(r["instructions"], r["outputs"])):
            rows.write("%s-%d-%d" % (task, i, j), r["input"], question.strip(), [answer], task=task, metric=metric,
                       max_tokens=max(32, min(512, 2 * len(answer.split()) + 16)))
