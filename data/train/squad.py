#!/usr/bin/env python3
"""Step 2: SQuAD's training part, put together from files of less than 4 MiB.

    python3 squad.py REPOSITORIES OUT

No repository at hand has it whole. ORDERED has its questions and answers in their order, as tokens, but not its
paragraphs. CONTEXTS have whole paragraphs, one in twenty each. BACK has all paragraphs and questions after a
translation to Finnish and back, with the answers coloured but not said whose they are. So:

    article      each question of ORDERED goes to the document of BACK with which it, and those around it, share
                 the most rare words;
    question     both lists of an article keep one order, so that the best monotone alignment pairs them;
    answer       the coloured stretch, or the verbatim one, that is most like the true answer; where none is alike,
                 the linear model of spans.py decides, and what is uncertain is left out;
    no answer    SQuAD 2.0 adds such questions behind a paragraph's others: those after the last one that is paired.

OUT/qa.jsonl receives the rows behind its own: original paragraphs ("squad"), and translated ones ("squad-fi-en") with
each question in its original and in its translated words. Documents from 442 on, SQuAD's development part, are not
used.
"""

import json
import math
import re
import sys
from collections import Counter, defaultdict

import numpy as np

from sources import Repository, squad_format
from spans import SHARPNESS, TRAINING_DOCUMENTS, STOP, WORD, Weights, candidates, colours_of, features, fit, jointly
from spans import pages, stem, trimmed

BACK, ORIGINAL = "TurkuNLP/squad2-fi", "PhongNTDo/guide_train_MRC_transformers"
BEGINNING = "ermeba/jupiter_bert"  # the first 1.28 million bytes of SQuAD 1.1
ORDERED = "marquezo/qanet-impl"
CONTEXTS = (
    ("sayondutta/Dynamic-Coattention-Network", "data/val"),
    ("thomasfermi/Dynamic-Coattention-Network-for-SQuAD", "data/squad/val"),
)
AROUND, BESIDE = 15, 25  # questions that vote for an article; questions beyond its ends that may belong to it
ALIKE = 0.25  # of two questions, to be paired
SURE, CERTAIN = 0.5, 0.6  # an answer like enough to the true one; a guess of the linear model


# ---- text ---------------------------------------------------------------------------------------


def untokenised(words):
    """Words with spaces between them, written as a person would; a quotation mark opens, the next one closes."""
    out, open_ = "", False
    glued = True  # the next word follows without a space
    for w in words:
        w = {"-LRB-": "(", "-RRB-": ")", "``": '"', "''": '"'}.get(w, w)
        if w == '"':
            out += w if open_ or glued else " " + w
            glued = not open_
            open_ = not open_
            continue
        close = re.fullmatch(r"[.,;:?!%)\]]|\.\.\.|'(s|S|re|ve|ll|d|m)?|n't|/", w) is not None
        out += w if glued or close else " " + w
        glued = w in ("(", "[", "$", "£", "€", "/", "#")
    return out.replace(" -- ", " - ").strip()


def stems(text):
    return {stem(w) for w in WORD.findall(text)} - STEMMED_STOP


STEMMED_STOP = {stem(w) for w in STOP}


def alike(a, b):
    """How much two answers have in common, 0 to 1: whole words and beginnings of words."""
    words = lambda t: [w.lower() for w in WORD.findall(t)]
    x, y = words(a), words(b)
    if not x or not y:
        return 0.0
    f1 = lambda p, q: 2 * sum((Counter(p) & Counter(q)).values()) / (len(p) + len(q))
    return max(f1(x, y), 0.9 * f1([w[:4] for w in x], [w[:4] for w in y]))


# ---- the questions in their order ---------------------------------------------------------------


def ordered(repository):
    """[(question, answer)] as token strings."""
    words = repository.read("data/vocab").split("\n")
    questions = [" ".join(words[int(t)] for t in line.split()) for line in repository.read("data/train.question.ids").splitlines()]
    return list(zip(questions, repository.read("data/train.answer").split("\n")))


def articles_of(questions, documents):
    """The document of each question: the one with which it and its neighbours share the most rare words."""
    seen = defaultdict(set)
    for k, paragraphs in documents.items():
        for w in set().union(*(stems(x) for p in paragraphs for x in p["q"])):
            seen[w].add(k)
    rare = {w: (np.array(sorted(ks)), math.log(TRAINING_DOCUMENTS / len(ks))) for w, ks in seen.items()}
    votes = np.zeros((len(questions) + 1, TRAINING_DOCUMENTS), np.float32)
    for i, (q, a) in enumerate(questions):
        for w in stems(q):
            if w in rare:
                ks, weight = rare[w]
                votes[i + 1, ks] += weight
    total = np.cumsum(votes, axis=0, dtype=np.float64)
    n = np.arange(len(questions))
    return (total[np.minimum(n + AROUND + 1, len(questions))] - total[np.maximum(n - AROUND, 0)]).argmax(1)


def align(left, right, weight):
    """The monotone pairing of two lists of questions with the highest sum of likeness: [(i, j)]."""
    names = {}
    for q in left + right:
        for w in q:
            names.setdefault(w, len(names))
    rare = np.array([weight(w) for w in names], np.float32)

    def table(rows):
        x = np.zeros((len(rows), len(names)), np.float32)
        for r, ws in zip(x, rows):
            r[[names[w] for w in ws]] = 1
        x *= rare
        return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-6)

    like = table(left) @ table(right).T
    gain = np.where(like > ALIKE, like, -1e9)
    best = np.zeros((len(left) + 1, len(right) + 1), np.float32)
    for i in range(len(left)):
        best[i + 1, 1:] = np.maximum.accumulate(np.maximum(best[i, 1:], best[i, :-1] + gain[i]))
    pairs, i, j = [], len(left), len(right)
    while i and j:
        if best[i, j] == best[i - 1, j]:
            i -= 1
        elif best[i, j] == best[i, j - 1]:
            j -= 1
        else:
            i, j = i - 1, j - 1
            pairs.append((i, j))
    return pairs[::-1]


def paired(questions, documents):
    """{(document, paragraph): {place of a translated question: number of the original}}"""
    of, weight = articles_of(questions, documents), Weights(
        [{"text": q} for ps in documents.values() for p in ps for q in p["q"]], stems
    )
    words = [stems(q) for q, _ in questions]
    out, count = defaultdict(dict), 0
    for k in range(TRAINING_DOCUMENTS):
        mine = np.flatnonzero(of == k)
        if not len(mine):
            continue
        # The longest run of questions; a stray vote elsewhere is none.
        runs = np.split(mine, np.flatnonzero(np.diff(mine) > 3 * AROUND) + 1)
        run = max(runs, key=len)
        lo, hi = max(0, run[0] - BESIDE), min(len(questions), run[-1] + 1 + BESIDE)
        places = [(n, i) for n, p in enumerate(documents[k]) for i in range(len(p["q"]))]
        right = [stems(documents[k][n]["q"][i]) for n, i in places]
        for i, j in align(words[lo:hi], right, weight):
            n, place = places[j]
            out[k, n][place] = lo + i
            count += 1
    print(f"{count} of {len(questions)} questions paired")
    return out


# ---- rows -------------------------------------------------------------------------------------


def place_of(text, answer, found):
    """The stretch of a translated paragraph that is the answer, and how alike it is."""
    verbatim = [m.start() for m in re.finditer(r"(?<!\w)" + re.escape(answer.lower()) + r"(?!\w)", text.lower())]
    best, where = 0.0, None
    for _, a, b in found:
        score = alike(answer, text[a:b])
        if score > best:
            best, where = score, (a, b)
    for s in verbatim:
        touches = any(a <= s < b or s <= a < s + len(answer) for _, a, b in found)
        if touches or len(verbatim) == 1 and best < SURE:
            return (s, s + len(answer)), 1.0
    return where, best


def translated(documents, pairs, questions, w, rare, rare4):
    count = Counter()
    for (k, number), mine in sorted(pairs.items()):
        p = documents[k][number]
        text, qas, last = p["text"].rstrip(), [], max(mine)
        rows = {f[0]: f for f in features(p, rare, rare4) if f[0] in mine and len(f[1])}
        keys = sorted(rows)
        chances = dict(
            zip(keys, jointly([SHARPNESS * (rows[i][2] @ w) for i in keys], [[c for c, _, _ in rows[i][1]] for i in keys]))
        )
        for place, original in mine.items():
            q, a = questions[original]
            found = candidates(p)
            where, like = place_of(text, untokenised(a.split()), found)
            count["asked"] += 1
            if like < SURE:
                chance = chances.get(place)
                if chance is None or chance.max() < CERTAIN:
                    continue
                _, s, e = rows[place][1][int(chance.argmax())]
                where = s, e
                count["guessed"] += 1
            elif like == 1.0:
                count["verbatim"] += 1
            s, e = where
            answer = trimmed(text, s, min(e, len(text)))
            if 0 < len(answer) < 160 and len(answer.split()) <= 22:
                start = text.find(answer, s)
                if start >= 0:
                    asked = dict.fromkeys((untokenised(q.split()), p["q"][place]))
                    qas += [{"q": x, "a": answer, "start": start} for x in asked]
                    count["answered"] += 1
        if len(mine) >= 2:
            more = p["q"][last + 1 :]
            qas += [{"q": x, "a": "", "start": -1} for x in more]
            count["unanswered"] += len(more)
        if any(x["a"] for x in qas):
            yield {"source": "squad-fi-en", "title": "Text", "context": text, "held_out": False, "qas": qas}
    print("translated:", dict(count))


def whole(repositories, pairs, questions, documents, known):
    """Rows of original paragraphs, with the translated questions that they do not answer."""
    simple = lambda *texts: "|".join(re.sub(r"\W", "", t).lower() for t in texts)
    number = {simple(q, a): i for i, (q, a) in enumerate(questions)}
    where = {i: key for key, mine in pairs.items() for i in mine.values()}
    by, count = defaultdict(list), Counter()
    for name, path in CONTEXTS:
        r = Repository(repositories, name)
        columns = [r.read(f"{path}.{x}").split("\n") for x in ("context", "question", "answer", "span")]
        for c, q, a, s in zip(*columns):
            if c and a.strip() and (q, a, s) not in by[c]:
                by[c].append((q, a, s))
    for c, asked in by.items():
        words, qas, keys = c.split(), [], Counter()
        text = untokenised(words)
        for q, a, s in asked:
            first, last = map(int, s.split())
            answer, about = untokenised(words[first : last + 1]), len(untokenised(words[:first]))
            spots = [m.start() for m in re.finditer(re.escape(answer), text)]
            if not spots or simple(answer) != simple(a):
                count["lost"] += 1
                continue
            qas.append({"q": untokenised(q.split()), "a": answer, "start": min(spots, key=lambda x: abs(x - about))})
            i = number.get(simple(q, a))
            if i in where:
                keys[where[i]] += 1
        if keys:
            key, votes = keys.most_common(1)[0]
            if votes >= 2 and key[0] >= known:
                more = documents[key[0]][key[1]]["q"][max(pairs[key]) + 1 :]
                qas += [{"q": x, "a": "", "start": -1} for x in more]
                count["unanswered"] += len(more)
        count["answered"] += sum(bool(x["a"]) for x in qas)
        if qas:
            yield {"source": "squad", "title": "Text", "context": text, "held_out": False, "qas": qas}
    print("original:", len(by), "paragraphs,", dict(count))


def beginning(text, known):
    """The whole paragraphs of a SQuAD file that breaks off."""
    title, decoder = None, json.JSONDecoder()
    for m in re.finditer(r'\{"title": "([^"]*)"|\{"context": ', text):
        if m[1] is not None:
            title = m[1]
        elif title not in known:
            try:
                p, _ = decoder.raw_decode(text, m.start())
            except ValueError:
                break
            yield from squad_format("squad", json.dumps({"data": [{"title": title, "paragraphs": [p]}]}))


def main():
    repositories, out = sys.argv[1:3]
    documents = {k: d for k, d in pages(Repository(repositories, BACK)).items() if k < TRAINING_DOCUMENTS}
    questions = ordered(Repository(repositories, ORDERED))
    pairs = paired(questions, documents)

    everything = [p for d in documents.values() for p in d]
    rare = Weights(everything, lambda t: {stem(w) for w in WORD.findall(t)})
    rare4 = Weights(everything, lambda t: {w[:4].lower() for w in WORD.findall(t) if len(w) > 3})
    original = Repository(repositories, ORIGINAL).read("train-v2.0.json")
    articles = json.loads(original)["data"]
    rows, right, checked = [], [], Counter()
    for k, article in enumerate(articles):
        for number, (p, theirs) in enumerate(zip(documents[k], article["paragraphs"])):
            colours = colours_of(theirs)
            for i, found, x in features(p, rare, rare4):
                wanted = colours[theirs["qas"][i]["id"]]
                best = [j for j, (c, _, _) in enumerate(found) if c == wanted]
                best = best or [j for j, (c, _, _) in enumerate(found) if c & wanted]
                if best:
                    rows.append(x)
                    right.append(best[0])
                    if i in pairs.get((k, number), {}):
                        where, like = place_of(p["text"], untokenised(questions[pairs[k, number][i]][1].split()), found)
                        _, a, b = found[best[0]]
                        if like >= SURE:
                            checked["alike"] += 1
                            checked["of these right"] += where[0] < b and a < where[1]
    w = fit(rows, np.array(right))
    print(f"fitted to {len(rows)} questions; of the ten articles whose original is known:", dict(checked))
    with open(f"{out}/qa.jsonl", "a") as f:
        for part in (
            translated({k: d for k, d in documents.items()}, pairs, questions, w, rare, rare4),
            whole(repositories, pairs, questions, documents, len(articles)),
            squad_format("squad", original),
            beginning(Repository(repositories, BEGINNING).read("train-v1.1.json"), {a["title"] for a in articles}),
        ):
            for r in part:
                f.write(json.dumps(r, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
