#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Write a .vec file for tests/unit-token.c from the JSON vectors of the tokenizer corpus.

    vectors.py vectors-gpt-2.json > gpt-2.vec               the ids of the file
    vectors.py vectors-gpt-2.json llama-tokenize MODEL      the same texts, ids of MODEL

One case a line: name, text in hexadecimal, ids when names are text, |, ids when they are
parsed and BOS is added as the vocabulary says.  Cases that are not well-formed UTF-8 and
that llama.cpp does not take for what they are (they have a note) are left out.
"""
import base64
import json
import subprocess
import sys
import tempfile


def tokenize(program, model, text, *options):
    with tempfile.NamedTemporaryFile() as f:
        f.write(text)
        f.flush()
        out = subprocess.run([program, "-m", model, "-f", f.name, "--ids", "--no-escape",
                              "--log-disable", *options], check=True, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL).stdout
    return json.loads(out)


def main():
    for case in json.load(open(sys.argv[1]))["cases"]:
        if "text" in case:
            text = case["text"].encode()
        elif "note" in case:
            continue
        else:
            text = base64.b64decode(case["bytes_base64"])
        plain, special = case["ids"], case["ids_special"]
        if len(sys.argv) > 2:
            plain = tokenize(*sys.argv[2:4], text, "--no-bos", "--no-parse-special")
            special = tokenize(*sys.argv[2:4], text)
        print(case["name"], text.hex() or "-", *plain, "|", *special)


if __name__ == "__main__":
    main()
