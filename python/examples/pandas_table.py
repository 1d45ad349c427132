# SPDX-License-Identifier: BSD-2-Clause
"""The same questions of many documents, as a table:  python pandas_table.py a.pdf b.html ..."""

import sys

import pandas as pd

import gemkv

QUESTIONS = ["Who signed the contract?", "When was it signed?"]


def table(paths: list[str], questions: list[str]) -> pd.DataFrame:
    """One row for each question and document: the answer, and where its best passage is."""
    rows = []
    for path in paths:
        with gemkv.Document.open(path) as document:
            for question in questions:
                answer = document.ask(question, keep=256, max_tokens=40)
                best = answer.passages[0]
                rows.append((path, question, answer.text, best.place, best.text))
    return pd.DataFrame(rows, columns=["document", "question", "answer", "place", "passage"])


if __name__ == "__main__":
    with pd.option_context("display.max_colwidth", 60, "display.width", 200):
        print(table(sys.argv[1:], QUESTIONS).pivot(index="document", columns="question", values="answer"))
