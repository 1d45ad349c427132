#!/usr/bin/env python3
"""Step 2b: SQuAD's training paragraphs in their own words, from the encyclopedia's articles.

    python3 originals.py REPOSITORIES OUT

squad.py has SQuAD's questions and answers in their own words, but most paragraphs only as translated to Finnish and
back. SQuAD was made from Wikipedia, so where an article of SQuAD's training part is among the articles of step 1, its
paragraphs of 2019 can replace the translated ones: the page with which a document shares the most rare words, then the
paragraph that is most like the translated one. A question is kept, in its own and in its translated words, where its
answer stands there verbatim, and a paragraph where most of its questions are. OUT/qa.jsonl receives the rows behind its
own, source "squad-wiki".
"""

import json
import math
import re
import sys
from collections import Counter

from sources import AVOID, SHARED, Repository, held_out_titles
from spans import TRAINING_DOCUMENTS, pages
from squad import BACK, ORDERED, ordered, paired, stems, untokenised

WIKI, TITLES = "chinapedia/wikipedia.abstract.en", ("xinyadu/nqg", "data/doclist-{}.txt")
SAME_PAGE = 0.35  # share of a document's rare words that its page must have
SAME = 0.45  # cosine of two paragraphs
ANSWERED = 0.6  # share of a paragraph's questions whose answers stand there


def paragraphs_of(title, raw):
    """Paragraphs of a page; nothing is left out of them but references and marks."""
    name = title.replace("_", " ")
    out = []
    for block in re.split(r"\n\s*\n", raw):
        block = re.sub(r"\[(\d+|note \d+|citation needed|[a-z])\]", "", block)
        block = re.sub(r"(?<!\w)_([^_]+)_(?!\w)", r"\1", re.sub(r"\s+", " ", block).strip()).replace("**", "")
        block = re.sub(r"^.*?\]\] ", "", block)  # what is left of a picture
        if not out:
            plain = re.sub(r" \(.*\)$", "", name)
            block = re.sub(re.escape(plain.upper()), plain, block, count=1)
        block = re.sub(r"\b[A-Z][A-Z'-]{2,}(?: [A-Z][A-Z'.-]+)+", lambda m: m[0].title(), block)
        if len(block) > 200:
            out.append(block)
    return out


def titles(repositories):
    r = Repository(repositories, TITLES[0])
    all_ = {t.strip() for part in ("train", "dev", "test") for t in r.read(TITLES[1].format(part)).split("\n")}
    return all_ - {""} - AVOID - SHARED - held_out_titles(repositories)


def sentence_of(text, at):
    lo = max((m.end() for m in re.finditer(r"[.!?]['\")]? ", text[:at])), default=0)
    hi = re.compile(r"[.!?](\W|$)").search(text, at)
    return text[lo : hi.end() if hi else len(text)]


def place(text, answer, question):
    """Where an answer stands whose sentence shares the most words with the question, or -1."""
    words = re.sub(r"\\? ?([-/]) ?", lambda m: r"\s?" + m[1] + r"\s?", re.escape(answer))
    spots = [(m.start(), m.end()) for m in re.finditer(r"(?<!\w)" + words + r"(?!\w)", text, re.I)]
    asked = stems(question)
    return max(spots, key=lambda s: len(asked & stems(sentence_of(text, s[0]))), default=(-1, -1))


def main():
    repositories, out = sys.argv[1:3]
    documents = {k: d for k, d in pages(Repository(repositories, BACK)).items() if k < TRAINING_DOCUMENTS}
    questions = ordered(Repository(repositories, ORDERED))
    pairs = paired(questions, documents)

    repo = Repository(repositories, WIKI)
    wanted = titles(repositories)
    paths = [p for _, p in repo.list("Page") if p[5:-3] in wanted]
    article = {p[5:-3]: paragraphs_of(p[5:-3], raw) for p, raw in repo.read_many(paths)}
    bags = {t: [stems(p) for p in ps] for t, ps in article.items()}
    whole = {t: set().union(*b) if b else set() for t, b in bags.items()}
    theirs = {k: [stems(p["text"]) for p in d] for k, d in documents.items()}
    seen = Counter(w for b in theirs.values() for w in set().union(*b))
    weight = {w: math.log(TRAINING_DOCUMENTS / n) for w, n in seen.items()}
    norm = lambda ws: math.sqrt(sum(weight.get(w, 6.0) ** 2 for w in ws)) or 1.0
    like = lambda a, b: sum(weight.get(w, 6.0) ** 2 for w in a & b) / (norm(a) * norm(b))

    count = Counter(pages=len(article))
    with open(f"{out}/qa.jsonl", "a") as f:
        for k, bag in theirs.items():
            rare = Counter(w for b in bag for w in b if weight[w] > 2)
            total = sum(weight[w] for w in rare) or 1.0
            title, share = max(
                ((t, sum(weight[w] for w in rare if w in ws) / total) for t, ws in whole.items()), key=lambda x: x[1]
            )
            if share < SAME_PAGE:
                continue
            count["documents"] += 1
            for number, mine in ((n, m) for (d, n), m in pairs.items() if d == k):
                best = max(range(len(article[title])), key=lambda i: like(bag[number], bags[title][i]), default=None)
                if best is None or like(bag[number], bags[title][best]) < SAME:
                    count["no paragraph"] += 1
                    continue
                text, qas = article[title][best], []
                found = 0
                for there, original in mine.items():
                    q, a = (untokenised(x.split()) for x in questions[original])
                    s, e = place(text, a, q)
                    if s >= 0 and e - s < 160:
                        found += 1
                        asked = dict.fromkeys((q, documents[k][number]["q"][there]))
                        qas += [{"q": x, "a": text[s:e], "start": s} for x in asked]
                if found < ANSWERED * len(mine):
                    count["changed"] += 1
                    continue
                count["paragraphs"] += 1
                count["asked"] += len(mine)
                count["answered"] += found
                if len(mine) >= 2:
                    more = documents[k][number]["q"][max(mine) + 1 :]
                    qas += [{"q": x, "a": "", "start": -1} for x in more]
                    count["unanswered"] += len(more)
                row = {"source": "squad-wiki", "title": title.replace("_", " "), "context": text, "held_out": False}
                f.write(json.dumps({**row, "qas": qas}, ensure_ascii=False) + "\n")
    print(dict(count))


if __name__ == "__main__":
    main()
