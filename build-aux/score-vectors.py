#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Write the vectors of tests/unit-score.c with bench/rescore.py, whose measures are independent of
those in src/, and the packages rouge-score and nltk:

    pip install rouge-score nltk
    build-aux/score-vectors.py data/prophets-mantle.txt >tests/files/score.jsonl

Lines {"answer", "answers", and one number per metric}; at the end {"words", "stems"}."""
import json
import pathlib
import random
import re
import runpy
import sys

from nltk.stem.porter import PorterStemmer

rescore = pathlib.Path(__file__).parent.parent / "bench" / "rescore.py"
book = open(sys.argv[1], encoding="utf-8").read()
sys.argv = [str(rescore), "/dev/null"]
scores = runpy.run_path(str(rescore))["scores"]

# Hard cases for normal forms: quotes of all kinds next to articles, accents, other alphabets,
# spaces that are not ASCII, numbers that some implementations take for letters.
ODD = """“a the The a. An “The” É école ÉCOLE a—b the-a Ωmega ДОМ x² ½ a\u00a0b an… thé €5 a€ ａ (a) it's
.. , 中文 “an” ﬁ ß ①a a① a\u0301 –a– ٣ Ÿ ÿ Ž ž Ő ő""".split()
words = [w for w in book.split()[:4000]] + 40 * ODD
random.seed(1)


def phrase():
    gap = random.choice([" ", " ", "\n", "\t", " – "])
    return gap.join(random.choice(words) for _ in range(random.randint(0, 9)))


for _ in range(300):
    answer = phrase()
    refs = [random.choice([phrase(), answer, answer.lower(), " ".join(answer.split()[1:3])])
            for _ in range(random.randint(1, 3))]
    print(json.dumps({"answer": answer, "answers": refs, **scores(answer, refs)}))
some = sorted(set(re.findall("[a-z]{4,}", book.lower())))[::8]
some += "skies dying lying tying news innings howe proceed dies died spied fulfully apology".split()
print(json.dumps({"words": some, "stems": [PorterStemmer().stem(w) for w in some]}))
