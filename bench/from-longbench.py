#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""LongBench (version 1, and its -e variants) as rows for `gemkv eval qa`.

    bench/from-longbench.py hotpotqa.jsonl qasper.jsonl >longbench.jsonl
    gemkv eval qa --data longbench.jsonl --methods full,gemfilter

Input: the set's JSON lines with "input", "context", "answers", "dataset", "_id".  Tasks that have no
question of their own get one.  What the answer is scored by here is F1 of words; LongBench has
other measures for summaries, classes, counts and code (--metric rouge-l, contains)."""
import os
import sys

import rows

# Longest answer, in tokens; and what is asked where "input" is empty or only examples.
TASKS = {
    "narrativeqa": (128, None), "qasper": (128, None), "multifieldqa_en": (64, None),
    "hotpotqa": (32, None), "2wikimqa": (32, None), "musique": (32, None), "triviaqa": (32, None),
    "gov_report": (512, "Write a one-page summary of the report."),
    "qmsum": (512, None),
    "multi_news": (512, "Write a one-page summary of all the news."),
    "vcsum": (512, None), "dureader": (128, None), "multifieldqa_zh": (64, None), "lsht": (64, None),
    "trec": (64, "Which type is this question of?"),
    "samsum": (128, "Summarize this dialogue in a sentence or two."),
    "passage_count": (32, "How many different paragraphs are there, when repeated ones count once? "
                          "Answer with the number."),
    "passage_retrieval_en": (32, "Which paragraph is this summary of? Answer like: Paragraph 1."),
    "passage_retrieval_zh": (32, None),
    "lcc": (64, "What is the next line of code?"),
    "repobench-p": (64, "What is the next line of code?"),
}

for path in sys.argv[1:]:
    for i, r in enumerate(rows.lines(path)):
        task = r.get("dataset") or os.path.basename(path).split(".")[0]
        max_tokens, ask = TASKS.get(task.removesuffix("_e"), (64, None))
        question = "\n\n".join(s for s in (ask, r["input"].strip()) if s) or "What follows?"
        rows.write("%s-%s" % (task, r.get("_id", i)), r["context"], question, r["answers"], task=task,
                   max_tokens=max_tokens)
