#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Answer rows as gemkv batch does, on a Dask cluster, through the Python module.

    batch-dask.py ROWS ANSWERS [SCHEDULER]

Without the address of a scheduler it starts workers on this machine, one for each core.  A task is a document with all
of its rows, so that it is read once, and idle workers take the next.  What ANSWERS has is not done again.
"""

import json
import sys
from collections import defaultdict
from typing import Any

from distributed import Client, LocalCluster, as_completed

OPTIONS: dict[str, Any] = {"threads": 1}  # of gkv_options, for all rows
OF_ROWS = ("keep", "method", "max_tokens", "temperature", "seed", "stop")

Row = dict[str, Any]


def answer(rows: list[Row]) -> list[Row]:
    """On a worker: the lines of rows that have the same document."""
    import gemkv

    lines: list[Row] = []
    document = None
    for row in rows:
        line: Row = {"id": row["id"]}
        try:
            if document is None and "text" in row:
                document = gemkv.Document.from_text(row["text"])
            elif document is None:
                document = gemkv.Document.open(*row.get("files", [row.get("file")]))
            options = OPTIONS | {key: row[key] for key in OF_ROWS if key in row}
            a = document.ask(row["question"], **options)
            line["answer"] = a.text
            line["kept"] = [{"text": p.text, "place": p.place, "score": p.score} for p in a.kept]
            line["seconds"] = a.stats.total
        except Exception as error:  # a row that fails is a line
            line["error"] = f"{type(error).__name__}: {error}"
        lines.append(line)
    return lines


def done(path: str) -> set[Any]:
    """The ids that the file has.  The beginning of a line that was being written is cut off."""
    with open(path, "ab+") as file:
        file.seek(0)
        text = file.read()
        whole = text[: text.rfind(b"\n") + 1]
        file.truncate(len(whole))
    return {json.loads(line)["id"] for line in whole.splitlines()}


def groups(path: str, answered: set[Any]) -> list[list[Row]]:
    """The rows that are left, those of a document together."""
    found: dict[str, list[Row]] = defaultdict(list)
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, text in enumerate(file, 1):
            try:
                row = json.loads(text)
                row.setdefault("id", number)
            except (ValueError, AttributeError):
                row = {"id": number}  # asked all the same, so that it has a line that says what is wrong
            if text.strip() and row["id"] not in answered:
                answered.add(row["id"])
                found[json.dumps([row.get(key) for key in ("text", "file", "files")])].append(row)
    return list(found.values())


def main() -> None:
    rows, answers, *scheduler = sys.argv[1:]
    left = groups(rows, done(answers))
    cluster = scheduler[0] if scheduler else LocalCluster(threads_per_worker=1, dashboard_address=None)
    with Client(cluster) as client, open(answers, "a", encoding="utf-8") as out:
        for _, lines in as_completed(client.map(answer, left, pure=False), with_results=True):
            for line in lines:
                out.write(json.dumps(line) + "\n")
            out.flush()


if __name__ == "__main__":
    main()
