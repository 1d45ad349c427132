#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""LongBench (version 1, its -e variants, and version 2) as rows for `gemkv eval qa`.

    bench/from-longbench.py --prompts config/dataset2prompt.json hotpotqa.jsonl qasper.jsonl >longbench.jsonl
    gemkv eval qa --data longbench.jsonl --methods full,gemfilter

Input: the set's JSON lines with "input", "context", "answers", "all_classes", "dataset", "_id"; of version 2 its
data.json.  --prompts: the set's own wording, a file of its repository (of version 2 prompts/0shot.txt); without it,
the question, and short words of ours where a task has none.  Scores are the set's, but for Chinese tasks with words
(multifieldqa_zh, dureader, vcsum): gemkv does not have the words of jieba, and counts letters.  For their own scores
see to-official.py."""
import argparse
import json
import os

import rows

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--prompts", help="dataset2prompt.json, or 0shot.txt of version 2")
p.add_argument("files", nargs="+")
a = p.parse_args()

# Longest answer, in tokens; the measure; and what is asked where "input" is empty or only examples.
F1, ROUGE, CLASS, CODE = "longbench-f1", "longbench-rouge-l", "longbench-class", "longbench-code"
TASKS = {
    "narrativeqa": (128, F1, None), "qasper": (128, F1, None), "multifieldqa_en": (64, F1, None),
    "hotpotqa": (32, F1, None), "2wikimqa": (32, F1, None), "musique": (32, F1, None),
    "triviaqa": (32, "longbench-f1-line", None),
    "gov_report": (512, ROUGE, "Write a one-page summary of the report."),
    "qmsum": (512, ROUGE, None),
    "multi_news": (512, ROUGE, "Write a one-page summary of all the news."),
    "vcsum": (512, "infinite-f1-zh", None), "dureader": (128, "infinite-f1-zh", None),
    "multifieldqa_zh": (64, "infinite-f1-zh", None), "lsht": (64, CLASS, None),
    "trec": (64, CLASS, "Which type is this question of?"),
    "samsum": (128, "longbench-rouge-l-line", "Summarize this dialogue in a sentence or two."),
    "passage_count": (32, "longbench-count", "How many different paragraphs are there, when repeated ones count once? "
                                             "Answer with the number."),
    "passage_retrieval_en": (32, "longbench-retrieval", "Which paragraph is this summary of? Answer like: Paragraph 1."),
    "passage_retrieval_zh": (32, "longbench-retrieval", None),
    "lcc": (64, CODE, "What is the next line of code?"),
    "repobench-p": (64, CODE, "What is the next line of code?"),
}
own = open(a.prompts, encoding="utf-8").read() if a.prompts else ""
prompts = json.loads(own) if own.lstrip().startswith("{") else {}


def second(i, r):
    """A row of version 2."""
    template = own or "$DOC$$Q$\nA. $C_A$\nB. $C_B$\nC. $C_C$\nD. $C_D$\nAnswer with: The correct answer is (X)."
    head, _, tail = template.partition("$DOC$")
    for name, key in [("$Q$", "question")] + [("$C_%s$" % c, "choice_" + c) for c in "ABCD"]:
        tail = tail.replace(name, r[key].strip())
    rows.write(r.get("_id", i), head + r["context"], tail.strip(), [r["answer"]], task=r.get("domain", "longbench2"),
               metric="longbench2-choice", max_tokens=128)


for path in a.files:
    for i, r in enumerate(rows.lines(path)):
        if "choice_A" in r:
            second(i, r)
            continue
        task = r.get("dataset") or os.path.basename(path).split(".")[0]
        max_tokens, metric, ask = TASKS.get(task.removesuffix("_e"), (64, F1, None))
        head, question = "", "\n\n".join(s for s in (ask, r["input"].strip()) if s) or "What follows?"
        if prompts:
            head, question = rows.filled(prompts[task.removesuffix("_e")], input=r["input"])
            question = question or "Answer:"
        more = {"classes": r["all_classes"]} if r.get("all_classes") else {}
        rows.write("%s-%s" % (task, r.get("_id", i)), head + r["context"], question, r["answers"], task=task,
                   metric=metric, max_tokens=max_tokens, **more)
