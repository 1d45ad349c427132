# SPDX-License-Identifier: BSD-2-Clause
"""What the converters to `gemkv eval qa` rows share: reading JSON lines, writing rows."""
import gzip
import json
import sys


def lines(path):
    """Objects of a JSON-lines file, or of a JSON array."""
    opened = gzip.open(path, "rt", encoding="utf-8") if path.endswith(".gz") else open(path, encoding="utf-8")
    with opened as f:
        text = f.read()
    if text.lstrip().startswith("["):
        yield from json.loads(text)
    else:
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                try:
                    yield json.loads(line)
                except ValueError as e:
                    sys.exit("%s:%d: %s" % (path, number, e))


def write(id, context, question, answers, **more):
    """One row on standard output; those without an answer cannot be scored and are left out."""
    answers = [str(a) for a in answers if str(a).strip()]
    if context.strip() and answers:
        print(json.dumps({"id": id, "context": context, "question": question, "answers": answers, **more},
                         ensure_ascii=False))
    else:
        print("%s: without text or answer, left out" % id, file=sys.stderr)
