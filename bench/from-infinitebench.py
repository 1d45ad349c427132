#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""InfiniteBench as rows for `gemkv eval qa`.

    bench/from-infinitebench.py passkey.jsonl kv_retrieval.jsonl longbook_qa_eng.jsonl >infinite.jsonl
    gemkv eval qa --data infinite.jsonl --metric contains

Input: the set's JSON lines with "context", "input", "answer" (a string or a list), "options" and "id";
the task is the file's name.  Questions with a choice get their options, and the right one's letter is
an answer too.  Scored by F1 of words, unless --metric says otherwise."""
import os
import sys

import rows

MAX_TOKENS = {"passkey": 16, "number_string": 16, "kv_retrieval": 50, "longbook_sum_eng": 512,
              "longbook_choice_eng": 32, "longbook_qa_eng": 40, "longbook_qa_chn": 40,
              "longdialogue_qa_eng": 40, "math_find": 16, "math_calc": 512, "code_run": 16,
              "code_debug": 16}
ASK = {"longbook_sum_eng": "Summarize the book.", "code_debug": "Which of these functions has the bug?"}

for path in sys.argv[1:]:
    task = os.path.basename(path).split(".")[0]
    for i, r in enumerate(rows.lines(path)):
        answers = r["answer"] if isinstance(r["answer"], list) else [r["answer"]]
        options = r.get("options") or []
        question = "\n\n".join(s for s in (ASK.get(task), r["input"].strip()) if s) or "What is the answer?"
        letters = ["ABCDEFGHIJ"[options.index(a)] for a in answers if a in options]
        if options:
            question += "\n" + "\n".join("%s. %s" % (c, o) for c, o in zip("ABCDEFGHIJ", options))
        rows.write("%s-%s" % (task, r.get("id", i)), r["context"], question, answers + letters, task=task,
                   max_tokens=MAX_TOKENS.get(task, 64))
