#!/usr/bin/env python3
"""Step 3: turn documents into token arrays, and make questions about them.

    python3 prepare.py OUT vocabulary.json TAGGER.pickle [EVERY]

reads step 1's files from OUT and writes there

    data.npz            token arrays, see DATA below
    held/data.npz       the same of what is not trained on
    held-out.jsonl      questions on articles that are not trained on, for `gemkv eval qa`

DATA: tokens    uint16, all documents one after another
      doc       int64 [n + 1], where each begins
      kind      uint8 [n]: WIKI, BOOK, or PARAGRAPH (one with human questions)
      ask       int64 [m, 7]: document, first and last + 1 token of the sentence that answers (both
                -1: nothing does), beginning of the question, of the answer, their end in `said`; source
      said      uint16, questions and answers
      title     int64 [n + 1] and titles uint16: the documents' names
      origin    uint8 [n]: which of the names in `origins` the document is from
"""

import json
import os
import pickle
import random
import sys
from multiprocessing import Pool

import numpy as np

from questions import Questioner, sentences
from tokenizer import Tokenizer

WIKI, BOOK, PARAGRAPH = range(3)
MADE, HUMAN = range(2)
SEED = 7
HELD_OUT_DOCUMENTS = 150
ASKS_PER_CHARACTERS = 420  # one made question for so many characters of text


def start_worker(vocabulary, tagger, base_forms, every_so_many):
    global tok, maker, every
    every = every_so_many
    tok = Tokenizer(vocabulary)
    maker = Questioner(tagger, SEED)
    maker.base_forms = base_forms


def at_token(text, ends):
    """Token offsets of character offsets: the text is encoded in pieces that end there."""
    ids, where, last = [], {0: 0}, 0
    for e in sorted(set(ends)):
        if e > last:
            ids += tok.encode(text[last:e])
            last = e
        where[e] = len(ids)
    ids += tok.encode(text[last:])
    where[len(text)] = len(ids)
    return ids, where


def document(args):
    """One article or book with made questions."""
    kind, d, seed = args
    rng = random.Random(seed)
    maker.rng = rng
    found, base = [], 0
    for paragraph in d["text"].split("\n\n") if seed % every == 0 else ():
        flat = paragraph.replace("\n", " ")
        for a, b in sentences(flat):
            if 30 < b - a < 260:
                words = maker.tag(flat[a:b])
                if words:
                    asks = maker.ask(flat[a:b], words, d["title"] if kind == WIKI else None)
                    rng.shuffle(asks)
                    found += [
                        (q, flat[a + s : a + e], base + a, base + b)
                        for q, s, e in asks[: 2 if rng.random() < 0.3 else 1]
                    ]
        base += len(paragraph) + 2
    rng.shuffle(found)
    found = found[: max(1, len(d["text"]) // ASKS_PER_CHARACTERS)]
    # A sentence is encoded with the space before it, as it is in running text.
    ids, where = at_token(d["text"], [max(0, a - 1) for _, _, a, _ in found] + [b for _, _, _, b in found])
    return (
        kind,
        "",
        d["title"],
        ids,
        [(tok.encode(q), tok.encode(spoken(a)), where[max(0, s - 1)], where[e], MADE) for q, a, s, e in found],
    )


def spoken(answer):
    a = answer.strip()
    return a if a.endswith((".", "!", "?")) or not a else a + "."


def paragraph(d):
    spans = list(sentences(d["context"]))
    found = []
    for q in d["qas"]:
        if not q["a"]:
            found.append((q["q"], "", -1, -1))
            continue
        s, e = q["start"], q["start"] + len(q["a"])
        found.append((q["q"], q["a"], max(a for a, _ in spans if a <= s), min(b for _, b in spans if b >= e)))
    ids, where = at_token(
        d["context"], [max(0, a - 1) for _, _, a, _ in found if a >= 0] + [b for _, _, _, b in found if b >= 0]
    )
    return (
        PARAGRAPH,
        d["source"],
        d["title"],
        ids,
        [
            (
                tok.encode(q),
                tok.encode(spoken(a)),
                where[max(0, s - 1)] if s >= 0 else -1,
                where[e] if s >= 0 else -1,
                HUMAN,
            )
            for q, a, s, e in found
        ],
    )


def read(folder, name):
    return [json.loads(line) for line in open(f"{folder}/{name}.jsonl")]


def held_out_rows(folder, qa, wiki):
    """Rows for `gemkv eval qa`: a paragraph alone, and the same paragraph within about 4,000 words of others."""
    rng = random.Random(SEED)
    others = [p for d in wiki for p in d["text"].split("\n\n") if len(p) > 300]
    with open(f"{folder}/held-out.jsonl", "w") as f:
        for i, d in enumerate(x for x in qa if x["held_out"]):
            for j, q in enumerate(d["qas"]):
                row = {
                    "id": f"{i}-{j}",
                    "task": "paragraph",
                    "context": d["context"],
                    "question": q["q"],
                    "answers": [q["a"]],
                }
                f.write(json.dumps(row, ensure_ascii=False) + "\n")
                if j == 0:
                    text, words = [], 0
                    while words < 4000:
                        text.append(rng.choice(others))
                        words += len(text[-1].split())
                    text.insert(rng.randrange(len(text) + 1), d["context"])
                    row.update(id=f"{i}-{j}-long", task="within 4,000 words", context="\n\n".join(text))
                    f.write(json.dumps(row, ensure_ascii=False) + "\n")


def kept(path, results):
    """Results that take minutes: read from the file of an earlier run, or made and written there."""
    if not os.path.exists(path):
        with open(path + ".part", "wb") as f:
            for r in results():
                pickle.dump(r, f)
        os.replace(path + ".part", path)
    with open(path, "rb") as f:
        while f.peek(1):
            yield pickle.load(f)


def write(folder, tok, *parts):
    """data.npz of so many named lists of documents, as paragraph() and document() give them."""
    tokens, doc, kind, origin, titles, title, said, ask = [], [0], [], [], [], [0], [], []
    total = spoken_total = 0
    for name, results in parts:
        for k, o, t, ids, asks in results:
            n = len(doc) - 1
            tokens.append(np.array(ids, np.uint16))
            total += len(ids)
            doc.append(total)
            kind.append(k)
            origin.append(o)
            t = tok.encode(t)
            titles.append(np.array(t, np.uint16))
            title.append(title[-1] + len(t))
            for q, a, s, e, source in asks:
                said.append(np.array(q + a, np.uint16))
                first = doc[-2]
                ask.append(
                    (
                        n,
                        first + s if s >= 0 else -1,
                        first + e if s >= 0 else -1,
                        spoken_total,
                        spoken_total + len(q),
                        spoken_total + len(q) + len(a),
                        source,
                    )
                )
                spoken_total += len(q) + len(a)
        print(
            f"{name}: {len(kind)} so far, {total / 1e6:.1f} M tokens, {len(ask)} questions of {spoken_total / 1e6:.1f} M tokens",
            flush=True,
        )
    origins = sorted(set(origin))
    np.savez(
        f"{folder}/data.npz",
        origins=np.array(origins),
        origin=np.array([origins.index(o) for o in origin], np.uint8),
        tokens=np.concatenate(tokens),
        doc=np.array(doc),
        kind=np.array(kind, np.uint8),
        ask=np.array(ask),
        said=np.concatenate(said),
        titles=np.concatenate(titles),
        title=np.array(title),
    )


def main():
    folder, vocabulary, tagger = sys.argv[1:4]
    every = int(sys.argv[4]) if len(sys.argv) > 4 else 1  # questions are made of every so many-th article and book
    tok = Tokenizer(vocabulary)
    wiki, books, qa = (read(folder, n) for n in ("wiki", "books", "qa"))
    with open(f"{folder}/held-out-text.jsonl", "w") as f:
        for d in wiki[:HELD_OUT_DOCUMENTS]:
            f.write(json.dumps(d, ensure_ascii=False) + "\n")
    held_out_rows(folder, qa, wiki[:HELD_OUT_DOCUMENTS])
    held_wiki, wiki = wiki[:HELD_OUT_DOCUMENTS], wiki[HELD_OUT_DOCUMENTS:]
    held_qa, qa = [d for d in qa if d["held_out"]], [d for d in qa if not d["held_out"]]

    learner = Questioner(tagger, SEED)  # base forms of verbs, from how articles use them
    for d in wiki[: 1500 // every]:
        for a, b in sentences(d["text"].replace("\n", " ")[:6000]):
            words = learner.tag(d["text"][a:b])
            if words:
                learner.learn(words)

    jobs = [(BOOK, d, i) for i, d in enumerate(books)] + [(WIKI, d, i) for i, d in enumerate(wiki)]
    with Pool(len(os.sched_getaffinity(0)), start_worker, (vocabulary, tagger, learner.base_forms, every)) as pool:
        for out, paragraphs, documents in (
            (folder + "/held", held_qa, [(WIKI, d, i) for i, d in enumerate(held_wiki)]),
            (folder, qa, jobs),
        ):
            os.makedirs(out, exist_ok=True)
            write(
                out,
                tok,
                ("paragraphs", pool.imap(paragraph, paragraphs, 50)),
                ("documents", kept(f"{out}/documents.pickle", lambda: pool.imap(document, documents, 10))),
            )


if __name__ == "__main__":
    main()
