#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Answers that `gemkv eval qa --out FILE` wrote, as the files that a data set's own script scores.

    bench/to-official.py longbench answers.jsonl pred/                 # pred/METHOD/TASK.jsonl
    python3 eval.py --model METHOD                                     # LongBench's

SET: longbench, longbench2, infinitebench, leval, ruler, lost, squad.  A folder for each method, and in it a file for each
task: JSON lines, or of squad one object, squad.json.  Written anew."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rows                                                             # noqa: E402

NO_ANSWER = ("text does not say", "unanswerable", "no answer")          # as gemkv eval reads them


def number(s):
    return float(s) if re.search("[.eE]", s) else int(s)


def infinite(r):
    task, label = r["task"], r["answers"]
    label = (label[0] if task in ("passkey", "number_string", "kv_retrieval", "longbook_sum_eng") else
             number(label[0]) if task in ("math_find", "code_run") else [int(x) for x in label] if task == "math_calc" else label)
    return {"id": r["id"].split("-")[-1], "prediction": r["answer"], "ground_truth": label}


def letter(r):
    said = re.search(r"The correct answer is \(?([A-D])", r["answer"].replace("*", ""))
    return {"_id": r["id"], "pred": said and said[1], "answer": r["answers"][0], "judge": bool(said) and said[1] == r["answers"][0]}


LINES = {
    "longbench": lambda r: {"pred": r["answer"], "answers": r["answers"], "all_classes": r.get("classes"), "length": r["length"]},
    "longbench2": letter,
    "infinitebench": infinite,
    "leval": lambda r: {"query": r["id"], "gt": r["answers"][0], "gemkv_pred": r["answer"],
                        "evaluation": "exam" if r["metric"].startswith("leval-") else "rouge" if r["metric"] == "rouge-l" else "f1"},
    "ruler": lambda r: {"index": int(r["id"].rsplit("-", 1)[1]), "input": "", "outputs": r["answers"], "pred": r["answer"], "others": {}},
    "lost": lambda r: {"answers": r["answers"], "value": r["answers"][0], "model_answer": r["answer"]},
    "squad": lambda r: r,
}
if len(sys.argv) != 4 or sys.argv[1] not in LINES:
    sys.exit(__doc__)
which, source, folder = sys.argv[1:]
found = {}
for r in rows.lines(source):
    name = "squad" if which == "squad" else r.get("task", which)
    found.setdefault((r["method"], name), []).append(r)
for (method, task), answers in found.items():
    method = re.sub(r"[^\w.=,-]", "_", method)                          # names come from other people's files
    task = re.sub(r"[^\w.=-]", "_", task)
    name = os.path.join(folder, method, ("preds_" if which == "infinitebench" else "") + task)
    os.makedirs(os.path.dirname(name), exist_ok=True)
    with open(name + (".json" if which == "squad" else ".pred.jsonl" if which == "leval" else ".jsonl"), "w", encoding="utf-8") as f:
        if which == "squad":
            said = {r["id"]: r["answer"] for r in answers}
            json.dump({i: "" if re.sub(r"^the ", "", s.strip().lower()).startswith(NO_ANSWER) else s for i, s in said.items()}, f)
        else:
            f.writelines(json.dumps(LINES[which](r), ensure_ascii=False) + "\n" for r in answers)
