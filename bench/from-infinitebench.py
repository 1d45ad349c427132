#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""InfiniteBench as rows for `gemkv eval qa`.

    bench/from-infinitebench.py --prompts src/prompt.py passkey.jsonl kv_retrieval.jsonl longbook_qa_eng.jsonl >infinite.jsonl
    gemkv eval qa --data infinite.jsonl

Input: the set's JSON lines with "context", "input", "answer" (a string, a number or a list), "options" and "id";
the task is the file's name.  Scored as the set does.  --prompts: the set's own wording, a file of its repository,
with --for the model that it is for; without it, the question, its options, and short words of ours."""
import argparse
import ast
import os
import re

import rows

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--prompts", help="prompt.py")
p.add_argument("--for", dest="model", default="yarn_mistral", help="gpt4, yarn_mistral (as it is), claude2")
p.add_argument("files", nargs="+")
a = p.parse_args()

# Longest answer, in tokens; the measure.
TASKS = {"passkey": (16, "infinite-digits"), "number_string": (16, "infinite-digits"), "kv_retrieval": (50, "infinite-kv"),
         "longbook_sum_eng": (512, "infinite-rouge-lsum"), "longbook_choice_eng": (40, "infinite-choice"),
         "longbook_qa_eng": (40, "longbench-f1"), "longbook_qa_chn": (40, "infinite-f1-zh"),
         "longdialogue_qa_eng": (40, "infinite-name"), "math_find": (16, "infinite-find"), "math_calc": (512, "infinite-calc"),
         "code_run": (16, "infinite-code-run"), "code_debug": (32, "infinite-code-debug")}
ASK = {"longbook_sum_eng": "Summarize the book.", "code_debug": "Which of these functions has the bug?"}


def read_prompts():
    for node in ast.parse(open(a.prompts, encoding="utf-8").read()).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == a.model + "_templates":
            return ast.literal_eval(node.value)
    raise SystemExit("%s: no %s_templates" % (a.prompts, a.model))


def flat(x):
    return [y for z in x for y in flat(z)] if isinstance(x, list) else [x]


def parts(task, r):
    """What the set's templates have besides the text."""
    found = {"input": r["input"], "question": r["input"]}
    found.update(("OPTION_" + c, o) for c, o in zip("ABCD", r.get("options") or []))
    call = re.search(r"func_\d+\(-?\d+\)", r["input"])
    if call:
        found.update(func=call[0].split("(")[0], func_call=call[0])
    which = re.search("The .+ of", r["input"])
    if task == "math_find" and which:
        found["prefix"] = "What is %s in the following list?" % which[0].lower()[:-3]
    return found


prompts = read_prompts() if a.prompts else {}
for path in a.files:
    task = os.path.basename(path).split(".")[0]
    max_tokens, metric = TASKS.get(task, (64, "longbench-f1"))
    for i, r in enumerate(rows.lines(path)):
        answers, options, head = flat(r["answer"]), r.get("options") or [], ""
        question = "\n\n".join(s for s in (ASK.get(task), r["input"].strip()) if s) or "What is the answer?"
        if options:
            question += "\n" + "\n".join("%s. %s" % (c, o) for c, o in zip("ABCDEFGHIJ", options))
            answers = (answers + ["ABCDEFGHIJ"[options.index(answers[0])]] if answers[0] in options else answers)[:2]
        if prompts:
            head, question = rows.filled(prompts[task], **parts(task, r))
        rows.write("%s-%s" % (task, r.get("id", i)), head + r["context"], question or "Answer:", answers, task=task, metric=metric,
                   max_tokens=max_tokens)
