#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Lost in the Middle as rows for `gemkv eval qa`: many documents, one of which answers.

    bench/from-lost.py nq-open-20_total_documents_gold_at_*.jsonl.gz >lost.jsonl
    gemkv eval qa --data lost.jsonl --methods full,gemfilter        # lines of the table: where the document is
    bench/from-lost.py kv-retrieval-75_keys.jsonl.gz >keys.jsonl

Input: the set's JSON lines, with "question", "answers" and "ctxs", or with "ordered_kv_records", "key" and "value".
Scored as the set does.  Depth is the place of the right document or key, in percent: 0 first, 100 last.  --prompt: the
set's own wording, a file of its repository (prompts/qa.prompt, kv_retrieval.prompt)."""
import argparse
import os

import rows

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--prompt")
p.add_argument("files", nargs="+")
a = p.parse_args()
own = open(a.prompt, encoding="utf-8").read() if a.prompt else ""


def depth(i, n):
    return round(100 * i / max(1, n - 1))


for path in a.files:
    task = os.path.basename(path).split(".")[0]
    for i, r in enumerate(rows.lines(path)):
        if "ordered_kv_records" in r:
            pairs, place = r["ordered_kv_records"], [k for k, _ in r["ordered_kv_records"]].index(r["key"])
            text = "{" + ",\n ".join('"%s": "%s"' % (k, v) for k, v in pairs) + "}"
            template, n, answers = own or '{context}What is the value of "{key}"?', len(pairs), [r["value"]]
            head, question = rows.filled(template.replace("{formatted_kv_records}", "{context}"), key=r["key"])
            metric = "part"
        else:
            docs, n, answers, metric = r["ctxs"], len(r["ctxs"]), r["answers"], "subspan"
            place = [bool(d.get("isgold")) for d in docs].index(True)
            text = "\n".join("Document [%d](Title: %s) %s" % (j + 1, d["title"], d["text"]) for j, d in enumerate(docs))
            head, question = rows.filled((own or "{context}{question}").replace("{search_results}", "{context}"), question=r["question"])
        rows.write("%s-%d" % (task, i), head + text, question, answers, task=task.split("_gold_at")[0], depth=depth(place, n),
                   metric=metric, max_tokens=100)
