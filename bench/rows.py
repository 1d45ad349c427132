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


def filled(template, **parts):
    """A set's own prompt as a document and a question: what is before and what is after the text, {context}."""
    head, _, tail = template.partition("{context}")
    for name, text in parts.items():
        head, tail = head.replace("{%s}" % name, text), tail.replace("{%s}" % name, text)
    return head, tail.strip()


def write(id, context, question, answers, **more):
    """One row on standard output; those without an answer cannot be scored and are left out.  [""]: the text has none."""
    answers = [str(a) for a in answers if str(a).strip() or answers == [""]]
    if context.strip() and answers:
        print(json.dumps({"id": id, "context": context, "question": question, "answers": answers, **more},
                         ensure_ascii=False))
    else:
        print("%s: without text or answer, left out" % id, file=sys.stderr)
