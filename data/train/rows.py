"""Training rows: documents with questions, packed to one length.

A row is one text of T + 1 tokens: samples one after another, each a document and questions on it in the
chat format of the model. Kinds of samples are in Rows.KINDS. Questions that the document does not answer
get one fixed sentence, REFUSAL.
"""

import json
import os
import random
import re
import string
import uuid

import numpy as np

from facts import Facts
from tokenizer import Tokenizer

REFUSAL = "The text does not say."
WIKI, BOOK, PARAGRAPH = range(3)
IGNORE, TEXT, ANSWER, QUESTION = 0, 1, 2, 3  # weights of tokens
# How often a paragraph with human questions is taken from which set.
ORIGINS = {
    "squad-fi-en": 0.34,
    "squad-wiki": 0.28,
    "squad": 0.14,
    "squadshifts-wiki": 0.09,
    "squadshifts-reddit": 0.04,
    "squadshifts-amazon": 0.04,
    "qed": 0.04,
    "qamr": 0.03,
    "policyqa": 0.02,
    "fairytaleqa": 0.03,
    "nq": 0.05,
    "timeqa": 0.02,
    "covidqa": 0.01,
    "cpgqa": 0.005,
}
LEADS = [
    "",
    "",
    "",
    "Read the text and answer the question.\n\n",
    "<document>\n",
    "Some information is hidden within the following text. Make sure to memorize it. I will quiz you about it afterwards.\n",
    "Answer the question based on the given documents. Only give me the answer and do not output any other words.\n\n",
]


# What stands for one thing in a question: a name of up to three words, a number.
NAMED = re.compile(r"(?:[A-Z][a-z]+ ){0,2}[A-Z][a-z]+|\d[\d,.]*\d|\d")
DENIABLE = set("did does do is was were are can could will would has have".split())


def opposites():
    """{word: words that may stand in its place}"""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "opposites.txt")) as f:
        lines = [line.strip().split(": ") for line in f if not line.startswith("#")]
    return {word: others.split(", ") for word, others in lines}


COMMON = set("The This That These Those His Her Its Their They There When While Although However After Before".split())


def as_text(ids):
    """Tokens as letters of a string, which Python finds and replaces quickly."""
    return ids.astype(np.uint16).tobytes().decode("utf-16-le")


def replaced(ids, old, new):
    text = as_text(ids)
    return np.frombuffer(text.replace(old, new).encode("utf-16-le"), np.uint16) if old in text else ids


def shape_of(answer):
    """Which answers may stand for one another: years, numbers, names of one to three words; else None."""
    if re.fullmatch(r"1\d\d\d|20[012]\d", answer):
        return "year"
    if re.fullmatch(r"\d[\d,.]*", answer):
        return "number"
    words = answer.split()
    if 0 < len(words) < 4 and all(re.fullmatch(r"[A-Z][a-z]+", w) for w in words):
        return len(words)
    return None


class Piece:
    """A document that is being put together: arrays of tokens, and where things in it stand."""

    def __init__(self):
        self.parts, self.n = [], 0

    def add(self, ids):
        at = self.n
        self.parts.append(np.asarray(ids, np.uint16))
        self.n += len(ids)
        return at

    def all(self):
        return np.concatenate(self.parts) if self.parts else np.zeros(0, np.uint16)


class Rows:
    def __init__(self, folder, seed, refusals=1.0):
        self.rng = random.Random(seed)
        self.refusals = refusals  # how many questions without an answer, times the usual share
        self.opposites = opposites()
        self.np = np.random.default_rng(seed)
        d = np.load(os.path.join(folder, "data.npz"))
        self.tokens, self.doc, self.kind = d["tokens"], d["doc"], d["kind"]
        self.said, self.titles, self.title = d["said"], d["titles"], d["title"]
        ask = d["ask"]
        self.ask = ask[np.lexsort((ask[:, 1], ask[:, 0]))]
        self.ask_of = np.searchsorted(self.ask[:, 0], np.arange(len(self.kind) + 1))
        self.of = [np.flatnonzero(self.kind == k) for k in (WIKI, BOOK, PARAGRAPH)]
        names = [str(x) for x in d["origins"]]
        self.origin = d["origin"]
        self.from_ = {o: np.flatnonzero(d["origin"] == names.index(o)) for o in ORIGINS if o in names}
        self.tok = Tokenizer(os.path.join(folder, "vocabulary.json"))
        e = self.tok.encode
        self.USER = [self.tok.turn] + e("user\n")
        self.ASSISTANT = [self.tok.end] + e("\n") + [self.tok.turn] + e("assistant\n")
        self.REFUSE = e(REFUSAL)
        self.stop = np.array([t.endswith((".", "!", "?", '."', '!"', '?"')) for t in self.tok.tokens])
        self.facts = Facts(self.rng, self.phrase)
        words = [
            t[1:]
            for t in self.tok.tokens
            if t[0] == "\u0120" and t[1:].isascii() and t[1:].isalpha() and t[1:].islower() and len(t) > 4
        ]
        self.words = words[200:]

    # ---- text --------------------------------------------------------------------------------

    def span(self, n, kind=None):
        """n tokens of running text: of a book, or of articles one after another."""
        kind = kind if kind is not None else (BOOK if self.rng.random() < 0.45 and len(self.of[BOOK]) else WIKI)
        of = self.of[kind]
        lo, hi = self.doc[of[0]], self.doc[of[-1] + 1]
        i = int(self.np.integers(lo, hi - n))
        return self.tokens[i : i + n]

    def phrase(self):
        x = self.span(40)
        words = self.tok.decode([int(t) for t in x]).replace("\n", " ").split()[1:-1]
        n = self.rng.randrange(3, 10)
        return " ".join(words[:n]).replace('"', "") or "nothing at all"

    def word(self):
        return self.rng.choice(self.words)

    def digits(self, n):
        return str(self.rng.randrange(10 ** (n - 1), 10**n))

    def most(self, n):
        """How many questions a document of n tokens gets at most."""
        return 12 if n < 1500 else 16 if n < 3000 else 30 if n < 10000 else 48 if n < 40000 else 60

    # ---- the chat format ---------------------------------------------------------------------

    def chat(self, document, questions):
        """questions: [(question, answer, (s1, e1), (s2, e2))], token lists and places in the document."""
        r = self.rng
        lead = self.tok.encode(r.choice(LEADS))
        p, weights, marks = Piece(), [], []

        def add(ids, w):
            weights.append(np.full(len(ids), w, np.uint8))
            return p.add(ids)

        add(self.USER + lead, TEXT)
        base = p.n
        drop, first = self.tok.ask(document, self.tok.decode(questions[0][0]), r.random() < 0.8)
        add(document[: len(document) - drop], TEXT)
        for i, (q, a, one, two) in enumerate(questions):
            if i == 0:
                start = add(first, QUESTION)
            else:
                q = self.tok.encode("Question: " + self.tok.decode(q)) if r.random() < 0.7 else q
                start = add(self.USER, TEXT)
                add(q, QUESTION)
            add(self.ASSISTANT, TEXT)
            if one[0] >= 0:
                shift = lambda s: (base + s[0], base + s[1]) if s[0] >= 0 else (0, 0)
                marks.append((p.n - 1, start, *shift(one), *shift(two)))
            add(list(a) + [self.tok.end], ANSWER)
            add(self.tok.encode("\n"), TEXT)
        return p.all(), np.concatenate(weights), marks

    NOWHERE = (-1, -1)

    # ---- needles -----------------------------------------------------------------------------

    def insert(self, hay, sentences):
        """Sentences (token lists) put at sentence ends of hay: the document, and where each stands."""
        ends = np.flatnonzero(self.stop[hay]) + 1
        if not len(ends):
            ends = np.array([0])
        at = np.sort(self.np.choice(ends, len(sentences), replace=len(ends) < len(sentences)))
        order = list(range(len(sentences)))
        self.rng.shuffle(order)
        p, last, where = Piece(), 0, [None] * len(sentences)
        for spot, i in zip(at, order):
            p.add(hay[last:spot])
            s = p.add(sentences[i])
            where[i] = (s, p.n)
            last = spot
        p.add(hay[last:])
        return p.all(), where

    def needles(self, n):
        r, e = self.rng, self.tok.encode
        most = self.most(n)
        wanted = max(1, min(r.choice([1, 2, 4, 8, 16] if n < 6000 else [2, 8, 24, 40, 56]), n // 120))
        sentences, asks, used = [], [], 0
        while len(asks) < wanted and used < n // 2:
            two = r.random() < 0.2
            if two:
                said, qas, others = self.facts.two()
            else:
                said, qas = self.facts.one()
                others = [self.facts.instance(r.choice(self.facts.single))[0]] if r.random() < 0.15 else []
            at = list(range(len(sentences), len(sentences) + len(said)))
            q, a = r.choice(qas)
            refused = r.random() < 0.06
            if not refused:
                sentences += [e(r.choice([" ", " ", "\n", " "]) + s) for s in said]
            elif two:  # one of the two sentences is missing
                sentences += [e(" " + said[0])]
            sentences += [e(" " + s) for o in others for s in o]
            asks.append((e(q), self.REFUSE if refused else e(a), [] if refused else at))
            used = sum(map(len, sentences))
        hay = self.span(max(24, n - used - 40 * min(len(asks), most)))
        document, where = self.insert(hay, sentences)
        r.shuffle(asks)
        return self.chat(
            document,
            [
                (q, a, where[at[0]] if at else self.NOWHERE, where[at[1]] if len(at) > 1 else self.NOWHERE)
                for q, a, at in asks[:most]
            ],
        )

    def planted(self, n):
        """Sentences that somebody asked about, each alone or with those before it, hidden in other text."""
        r = self.rng
        most = min(self.most(n), 24)
        wanted = max(1, min(r.choice([1, 1, 2, 4, 8] if n < 6000 else [2, 4, 8, 16, 24]), n // 150))
        sentences, asks, used, tries = [], [], 0, 0
        while len(asks) < wanted and used < n // 2 and tries < 200:
            tries += 1
            i = self.paragraph()
            good = [j for j in self.asked(i) if 8 <= self.ask[j, 2] - self.ask[j, 1] <= 90]
            if not good:
                continue
            j = r.choice(good)
            s, t = int(self.ask[j, 1]), int(self.ask[j, 2])
            q, a = self.words_of(j)
            if r.random() < 0.05:
                asks.append((q, self.REFUSE, -1, 0, 0))
                continue
            lo, hi = int(self.doc[i]), int(self.doc[i + 1])
            first = s
            if r.random() < 0.6:  # sentences before it
                starts = [lo, *(lo + 1 + np.flatnonzero(self.stop[self.tokens[lo:s]])).tolist()]
                first = r.choice([x for x in starts if x <= s and s - x < 120] or [s])
            last = min(hi, t + (r.randrange(60) if r.random() < 0.2 else 0))
            told = self.tokens[first:last]
            if first == lo:
                told = np.concatenate([np.array(self.tok.encode("\n\n"), np.uint16), told])
            asks.append((q, a, len(sentences), len(told) - (last - s), t - s))
            sentences.append(told)
            used += len(told)
        hay = self.span(max(24, n - used - 40 * min(len(asks), most)))
        document, where = self.insert(hay, sentences) if sentences else (hay, [])
        r.shuffle(asks)
        place = lambda k, skip, size: (where[k][0] + skip, where[k][0] + skip + size)
        return self.chat(
            document,
            [
                (x[0], x[1], place(*x[2:]) if x[2] >= 0 else self.NOWHERE, self.NOWHERE)
                for x in asks[:most]
            ],
        )

    def fragments(self, n):
        """A document thinned to short fragments, as after a selection of tokens."""
        r, e = self.rng, self.tok.encode
        n = min(n, r.randrange(300, 2400))
        parts, total = [], 0
        for _ in range(r.choice([1, 2, 4, 6])):
            said, qas = self.facts.one()
            parts.append((e(" " + said[0]), r.choice(qas)))
            total += len(parts[-1][0])
        while total < n - 240:
            x = self.span(r.randrange(2, 16))
            parts.append((x, None))
            total += len(x)
        r.shuffle(parts)
        p, asks = Piece(), []
        for x, qa in parts:
            at = p.add(x)
            if qa:
                asks.append((e(qa[0]), e(qa[1]), (at, p.n), self.NOWHERE))
        r.shuffle(asks)
        return self.chat(p.all(), asks)

    # ---- things without meaning --------------------------------------------------------------

    def pairs(self, n):
        """Keys and values, of UUIDs, words, or names."""
        r, e = self.rng, self.tok.encode
        form = r.randrange(4)
        make = [
            lambda: (str(uuid.UUID(int=r.getrandbits(128))), str(uuid.UUID(int=r.getrandbits(128)))),
            lambda: (f"{self.word()}-{self.word()}", self.digits(7)),
            lambda: (self.facts.value("person"), f"{self.word()} {self.word()}"),
            lambda: (f"line {self.word()}-{self.word()}", f"<{self.digits(5)}>"),
        ][form]
        write = ['"{}": "{}",\n', '"{}": "{}",\n', "{}: {}\n", "{}: REGISTER_CONTENT is {}\n"][form]
        p, items = Piece(), []
        if form < 2:
            p.add(e("{"))
        most = min(self.most(n), 4 if n < 1500 else 16)
        room = n - most * (120 if form == 0 else 45)
        while p.n < room or not items:
            k, v = make()
            at = p.add(e(write.format(k, v)))
            items.append((k, v, (at, p.n)))
        asks = []
        for k, v, where in r.sample(items, min(most, len(items))):
            q = (
                r.choice(
                    [
                        'What is the value of the key "{}" in this JSON object?',
                        'What is the value of "{}"?',
                        "Key: {}. Value?",
                    ]
                )
                if form < 2
                else (
                    r.choice(["What belongs to {}?", "What stands next to {}?"])
                    if form == 2
                    else r.choice(["What is the REGISTER_CONTENT in {}?"])
                )
            )
            asks.append((e(q.format(k)), e(v + "."), where, self.NOWHERE))
        return self.chat(p.all(), asks)

    def several(self, n):
        """All values of one key; chains of variables; words that are counted."""
        r, e = self.rng, self.tok.encode
        sentences, asks = [], []
        if r.random() < 0.5:
            key = r.choice([self.word(), self.facts.value("word2")])
            values = [self.digits(7) for _ in range(r.randrange(2, 5))]
            sentences = [e(f" One of the special magic numbers for {key} is: {v}.") for v in values]
            question = f"What are all the special magic numbers for {key} mentioned in the provided text?"
            hay = self.span(max(24, n - sum(map(len, sentences)) - 120))
            document, where = self.insert(hay, sentences)
            order = sorted(range(len(values)), key=lambda i: where[i][0])
            asks = [(e(question), e(", ".join(values[i] for i in order) + "."), self.NOWHERE, self.NOWHERE)]
            return self.chat(document, asks)
        chains = []
        for _ in range(2):
            names = ["".join(r.choice(string.ascii_uppercase) for _ in range(5)) for _ in range(r.randrange(2, 5))]
            v = self.digits(5)
            chains.append(
                (
                    names,
                    v,
                    [f" VAR {names[0]} = {v}."] + [f" VAR {b} = VAR {a}." for a, b in zip(names, names[1:])],
                )
            )
        merged = []
        left = [list(c[2]) for c in chains]
        while any(left):
            merged.append(r.choice([x for x in left if x]).pop(0))
        tokens = [e(x) for x in merged]
        hay = self.span(max(24, n - sum(map(len, tokens)) - 240))
        ends = np.flatnonzero(self.stop[hay]) + 1
        if len(ends) < len(tokens):
            return self.needles(n)
        p, last = Piece(), 0
        for spot, t in zip(np.sort(self.np.choice(ends, len(tokens), replace=False)), tokens):
            p.add(hay[last:spot])
            p.add(t)
            last = spot
        p.add(hay[last:])
        for names, v, _ in chains:
            asks.append(
                (
                    e(
                        r.choice(
                            [
                                f"Find all variables that are assigned the value {v} in the text above.",
                                f"Which variables have the value {v}?",
                            ]
                        )
                    ),
                    e(", ".join(names) + "."),
                    self.NOWHERE,
                    self.NOWHERE,
                )
            )
            asks.append((e(f"What is the value of VAR {names[-1]}?"), e(v + "."), self.NOWHERE, self.NOWHERE))
        r.shuffle(asks)
        return self.chat(p.all(), asks)

    # ---- questions on real text --------------------------------------------------------------

    def paragraph(self):
        """A document with human questions."""
        of = self.rng.choices(list(self.from_), [ORIGINS[o] for o in self.from_])[0]
        return int(self.rng.choice(self.from_[of]))

    def asked(self, i):
        return range(self.ask_of[i], self.ask_of[i + 1])

    def words_of(self, j):
        _, _, _, q, a, end, _ = self.ask[j]
        return self.said[q:a], self.said[a:end]

    def heading(self, p, i, style, number):
        title = self.titles[self.title[i] : self.title[i + 1]]
        if style == 0:
            p.add(title)
            p.add(self.tok.encode("\n\n"))
        elif style == 1:
            p.add(self.tok.encode(f"Document [{number}] (Title: "))
            p.add(title)
            p.add(self.tok.encode(") "))
        elif style == 2:
            p.add(self.tok.encode(f"Document {number}:\n"))

    def documents(self, n, paragraphs):
        """Several documents and the questions on them; sometimes the answering sentence is left out."""
        r = self.rng
        style = r.randrange(5 if paragraphs else 3)
        most = min(self.most(n), 2 + n // 150)
        room = n - 32 * most
        p, asks, i, k = Piece(), [], None, 0
        while p.n < room or not p.n:
            k += 1
            if paragraphs and (r.random() < 0.75 or p.n + 1200 > room):
                i = self.paragraph()
            else:
                i = int(r.choice(self.of[WIKI]))
            lo, hi = int(self.doc[i]), int(self.doc[i + 1])
            if self.kind[i] == WIKI:
                if paragraphs:  # a part of an article, among paragraphs
                    size = r.randrange(60, 400)
                    lo = r.randrange(lo, max(lo + 1, hi - size))
                    hi = min(hi, lo + size)
                elif p.n + hi - lo > room + 64:
                    hi = lo + max(64, room - p.n)
            elif p.n and p.n + hi - lo > room + 400:
                break
            self.heading(p, i, style, k)
            mine = [j for j in self.asked(i) if self.ask[j, 1] >= lo and self.ask[j, 2] <= hi or self.ask[j, 1] < 0]
            mine = self.few(mine, r.randrange(2, 7), 0.35) if self.kind[i] == PARAGRAPH else r.sample(
                mine, min(len(mine), most)
            )
            cut = None
            if mine and r.random() < 0.06:
                j = mine[0]
                if self.ask[j, 1] >= 0:
                    cut = int(self.ask[j, 1]), int(self.ask[j, 2])
            at = p.add(
                self.tokens[lo:hi]
                if cut is None
                else np.concatenate([self.tokens[lo : cut[0]], self.tokens[cut[1] : hi]])
            )
            for j in mine:
                s, t = int(self.ask[j, 1]), int(self.ask[j, 2])
                q, a = self.words_of(j)
                if s < 0 or not len(a):
                    asks.append((q, self.REFUSE, self.NOWHERE, self.NOWHERE))
                elif cut and s < cut[1] and t > cut[0]:
                    if s == cut[0] and j == mine[0]:
                        asks.append((q, self.REFUSE, self.NOWHERE, self.NOWHERE))
                else:
                    back = cut[1] - cut[0] if cut and s >= cut[1] else 0
                    asks.append((q, a, (at + s - lo - back, at + t - lo - back), self.NOWHERE))
            p.add(self.tok.encode(r.choice(["\n\n", "\n\n", "\n\n\n"])))
        for _ in range(r.random() < 0.25):  # a question of another document
            j = r.choice(self.asked(self.paragraph()) or [0])
            if self.ask[j, 0] != i:
                asks.append((self.words_of(j)[0], self.REFUSE, self.NOWHERE, self.NOWHERE))
        r.shuffle(asks)
        return self.chat(p.all(), asks[:most]) if asks else self.plain(n)

    def human(self, n):
        return self.documents(n, True)

    def few(self, asks, most, refused, at=None):
        """Some questions of a paragraph, no two with one answer, at times some that it does not answer: those that
        somebody wrote for it, or else one of a paragraph of the same article, near number at."""
        r = self.rng
        good = [j for j in asks if self.ask[j, 1] >= 0]
        bad = [j for j in asks if self.ask[j, 1] < 0]
        r.shuffle(good)
        chosen, known = [], set()
        for j in good:
            answer = self.words_of(j)[1].tobytes()
            if len(chosen) < most and answer not in known:
                chosen.append(j)
                known.add(answer)
        if r.random() < refused * self.refusals:
            if bad:
                bad = r.sample(bad, min(len(bad), r.choice([1, 2])))
                return self.with_likest(chosen, good, bad[0]) + bad
            if at is not None and r.random() < 0.55:
                return chosen + self.neighbour(at)
        return chosen

    def with_likest(self, chosen, good, bad):
        """Also the answered question that is most like bad, so that what tells them apart is learnt."""
        words = set(self.words_of(bad)[0].tolist())
        like = max(good, key=lambda j: len(words & set(self.words_of(j)[0].tolist())), default=None)
        return chosen if like is None or like in chosen else chosen[1:] + [like]

    def neighbour(self, i):
        """A question of another paragraph of the article of paragraph i: sets keep them in order."""
        n = i + self.rng.choice([-4, -3, -2, 2, 3, 4])
        if not 0 <= n < len(self.kind) or self.origin[n] != self.origin[i]:
            return []
        theirs = [j for j in self.asked(n) if self.ask[j, 1] >= 0]
        return [self.rng.choice(theirs)] if theirs else []

    def alone(self, n):
        """Paragraphs one by one, each with its questions: human ones, or made ones on part of an article."""
        r, parts, total = self.rng, [], 0
        while not parts or total < n - 200:
            human = r.random() < 0.75
            i = self.paragraph() if human else int(r.choice(self.of[WIKI]))
            lo, hi = int(self.doc[i]), int(self.doc[i + 1])
            if not human or hi - lo > 600:
                lo = r.randrange(lo, max(lo + 1, hi - 300))
                hi = min(hi, lo + r.randrange(100, 500))
            mine = [j for j in self.asked(i) if self.ask[j, 1] >= lo and self.ask[j, 2] <= hi or self.ask[j, 1] < 0]
            mine = self.few(mine, r.choice([1, 2, 3, 5]), 0.35, i if human else None)
            if not mine:
                continue
            # One of two documents that differ only in whether the answering sentence is there.
            cut = tuple(map(int, self.ask[mine[0], 1:3])) if r.random() < 0.06 and self.ask[mine[0], 1] >= lo else None
            document, asks = self.varied(lo, hi, mine, cut)
            if human and r.random() < 0.3 * self.refusals:
                asks += self.twisted(document, asks) if r.random() < 0.5 else self.swapped(document, asks, i)
            r.shuffle(asks)
            parts.append(self.chat(document, asks))
            total += len(parts[-1][0]) + 1
        return self.joined(parts)

    def varied(self, lo, hi, mine, cut):
        """A paragraph in words of its own: other sentences left out by chance, an answer exchanged for another of its
        kind throughout, so that what is learnt is to read it and not to know it."""
        r = self.rng
        kept = sorted({(int(self.ask[j, 1]), int(self.ask[j, 2])) for j in mine if lo <= self.ask[j, 1] < hi})
        edges = sorted({lo, hi, *(x for pair in kept for x in pair)})
        out = self.exchanges(mine, lo, hi) if r.random() < 0.6 else []
        drop = r.choice([0, 0, 0.25, 0.5])
        begins, ends, p = {}, {}, Piece()
        for a, b in zip(edges, edges[1:]):
            begins[a] = p.n
            x = self.tokens[a:b]
            if cut and cut[0] <= a and b <= cut[1]:
                x = x[:0]
            elif drop and not any(s <= a and b <= t for s, t in kept):
                x = self.thinned(x, drop)
            for old_new, _, _ in out:
                x = replaced(x, *old_new)
            p.add(x)
            ends[b] = p.n
        asks = []
        for j in mine:
            s, t = int(self.ask[j, 1]), int(self.ask[j, 2])
            q, a = self.words_of(j)
            q = self.said_otherwise(q)
            for old_new, new, k in out:
                q = replaced(q, *old_new)
                a = new if j == k else replaced(a, *old_new)
            if not lo <= s < hi or (cut and s >= cut[0] and t <= cut[1]):
                asks.append((q, self.REFUSE, self.NOWHERE, self.NOWHERE))
            elif not cut or t <= cut[0] or s >= cut[1]:
                asks.append((q, a, (begins[s], ends[t]), self.NOWHERE))
        return p.all(), asks

    def swapped(self, document, asks, i):
        """One of the answered questions once more, with a name or number that stands in its evidence exchanged for one
        that the document of paragraph i has nowhere: what sounds answered and is not. None where none can be."""
        r, decode = self.rng, lambda ids: self.tok.decode(ids.tolist())
        answered = [x for x in asks if x[2] != self.NOWHERE]
        if not answered:
            return []
        q, _, (first, last), _ = r.choice(answered)
        q, evidence, text = decode(q), decode(document[first:last]), decode(document)
        found = [m for m in NAMED.finditer(q) if m.start() and m[0] in evidence]
        if not found:
            return []
        m = r.choice(found)
        for _ in range(12):
            new = self.other_name(m[0], i)
            if new and new not in text and new not in q:
                return [(self.tok.encode(q[: m.start()] + new + q[m.end() :]), self.REFUSE, self.NOWHERE, self.NOWHERE)]
        return []

    def twisted(self, document, asks):
        """One of the answered questions once more, with a word exchanged for its opposite that the document has nowhere,
        or denied. None where none can be."""
        r, decode = self.rng, lambda ids: self.tok.decode(ids if isinstance(ids, list) else ids.tolist())
        text = " " + re.sub(r"\W+", " ", decode(document).lower()) + " "
        found = []
        for q in (decode(x[0]) for x in asks if x[2] != self.NOWHERE):
            for m in re.finditer(r"[A-Za-z]+", q):
                for new in self.opposites.get(m[0], ()):
                    if f" {new.lower()} " not in text:
                        found.append(q[: m.start()] + new + q[m.end() :])
                if m[0] in DENIABLE and r.random() < 0.12:
                    found.append(q[: m.end()] + (r.choice([" not", " never"]) if m[0] in ("can", "will") else "n't") + q[m.end() :])
        return [(self.tok.encode(r.choice(found)), self.REFUSE, self.NOWHERE, self.NOWHERE)] if found else []

    def other_name(self, old, i):
        """A year or number of old's kind, or a name of as many words that a question near paragraph i, or any, has."""
        r, shape = self.rng, shape_of(old)
        if shape in ("year", "number"):
            return self.other_of(shape, old)
        n = i + r.randrange(-9, 10)
        near = self.asked(n) if r.random() < 0.7 and 0 <= n < len(self.kind) and self.origin[n] == self.origin[i] else ()
        q = self.tok.decode(self.words_of(r.choice(near) if len(near) else r.randrange(len(self.ask)))[0].tolist())
        names = [m[0] for m in NAMED.finditer(q) if m.start() and shape_of(m[0]) == shape]
        return r.choice(names) if names else None

    def thinned(self, x, share):
        """x without some of its sentences."""
        at = [0, *(np.flatnonzero(self.stop[x]) + 1).tolist()]
        if at[-1] < len(x):
            at.append(len(x))
        parts = [x[a:b] for a, b in zip(at, at[1:]) if self.rng.random() >= share]
        return np.concatenate(parts) if parts else x[:0]

    def said_otherwise(self, q):
        """A question with a word less, two words exchanged, or in small letters: now and then, so that it is read and
        not recognised."""
        r = self.rng
        if r.random() > 0.3:
            return q
        words = self.tok.decode(q.tolist()).split(" ")
        if len(words) < 6:
            return q
        way, i = r.random(), r.randrange(1, len(words) - 2)
        if way < 0.45:
            del words[i]
        elif way < 0.75:
            words[i], words[i + 1] = words[i + 1], words[i]
        else:
            words = [w.lower() for w in words]
        return np.array(self.tok.encode(" ".join(words)), np.uint16)

    def exchanges(self, mine, lo, hi):
        """[((old, new) as they stand in text, new answer, the question)] of up to three answers, none in another."""
        out, known = [], []
        for j in self.rng.sample(mine, len(mine)):
            one = len(out) < 3 and lo <= self.ask[j, 1] < hi and self.exchange(j)
            if one and not any(one[0][0] in x or x in one[0][0] for x in known):
                out.append(one)
                known += one[0]
        return out

    def exchange(self, j):
        """((old, new) as they stand in text, new answer, the question), or None where the answer cannot be exchanged."""
        old = self.answer(j)
        shape = shape_of(old)
        if shape:
            ids = lambda text: np.array(self.tok.encode(text), np.uint16)
            told = as_text(ids(" " + old))
            if told not in as_text(self.tokens[self.ask[j, 1] : self.ask[j, 2]]):
                return None
            for _ in range(12):
                new = self.other_of(shape, old) if shape in ("year", "number") else self.answer(
                    self.rng.randrange(len(self.ask))
                )
                if shape_of(new) == shape and new != old:
                    return (told, as_text(ids(" " + new))), ids(new + "."), j
        return None

    def answer(self, j):
        return self.tok.decode(self.words_of(j)[1].tolist()).rstrip(".")

    def other_of(self, shape, old):
        r = self.rng
        if shape == "year":
            return str(min(2024, max(1000, int(old) + r.randrange(-60, 60))))
        return "".join(r.choice("123456789" if i == 0 else "0123456789") if c.isdigit() else c for i, c in enumerate(old))

    def joined(self, parts):
        """Samples one after another, with the token between them that begins a text."""
        ids, weights, marks, n = [], [], [], 0
        for k, (x, w, m) in enumerate(parts):
            if k:
                ids.append([self.tok.bos])
                weights.append([IGNORE])
                n += 1
            place = lambda s, e: (s + n, e + n) if e else (0, 0)
            marks += [(last + n, asked + n, *place(s1, e1), *place(s2, e2)) for last, asked, s1, e1, s2, e2 in m]
            ids.append(x)
            weights.append(w)
            n += len(x)
        return np.concatenate(ids).astype(np.uint16), np.concatenate(weights).astype(np.uint8), marks

    def articles(self, n):
        return self.documents(n, False)

    def book(self, n):
        """A stretch of a book with made questions."""
        r = self.rng
        most = min(self.most(n), 2 + n // 400)
        size = n - 36 * most
        i = int(r.choice(self.of[BOOK]))
        if self.doc[i + 1] - self.doc[i] <= size:  # a long document: books one after another
            i = int(r.choice(self.of[BOOK][:-8])) if len(self.of[BOOK]) > 8 else i
        lo = r.randrange(int(self.doc[i]), max(int(self.doc[i]) + 1, int(self.doc[i + 1]) - size))
        hi = min(lo + size, int(self.doc[self.of[BOOK][-1] + 1]))
        last = int(np.searchsorted(self.doc, hi))
        mine = [j for d in range(i, last) for j in self.asked(d) if self.ask[j, 1] >= lo and self.ask[j, 2] <= hi]
        asks = [
            (*self.words_of(j), (int(self.ask[j, 1]) - lo, int(self.ask[j, 2]) - lo), self.NOWHERE)
            for j in r.sample(mine, min(len(mine), most))
        ]
        return self.chat(self.tokens[lo:hi], asks) if asks else self.plain(n)

    def cloze(self, n):
        """Blanks to be filled and sentences to be continued, from the text itself."""
        r, e = self.rng, self.tok.encode
        most = min(self.most(n), 1 + n // 150)
        hay = self.span(max(64, n - 52 * most))
        at = np.concatenate([[0], np.flatnonzero(self.stop[hay]) + 1])
        asks = []
        for _ in range(most * 3):
            if len(asks) >= most or len(at) < 2:
                break
            j = r.randrange(len(at) - 1)
            s = hay[at[j] : at[j + 1]]
            text = self.tok.decode([int(x) for x in s]).strip()
            w = text.split()
            if not 9 <= len(s) <= 45 or len(w) < 7 or "\n" in text or "\ufffd" in text:
                continue
            if r.random() < 0.5:
                k = r.randrange(1, 4)
                i = r.randrange(1, len(w) - k)
                a = " ".join(w[i : i + k]).strip(',.;:!?"()')
                q = 'Fill in the blank: "' + " ".join(w[:i] + ["____"] + w[i + k :]) + '"'
            else:
                i = r.randrange(4, len(w) - 2)
                a = " ".join(w[i : i + 10]).strip(".")
                q = r.choice(
                    [
                        'What comes after "%s" in the text?',
                        'Continue the sentence: "%s"',
                        'Complete from the text: "%s"',
                    ]
                ) % " ".join(w[max(0, i - 9) : i])
            if a:
                asks.append((e(q), e(a + "."), (int(at[j]), int(at[j + 1])), self.NOWHERE))
        return self.chat(hay, asks) if asks else self.plain(n)

    def recurring(self, n):
        """Pieces of articles, and in each a name or number that is asked for: by a sentence that has it and is taken out
        of the piece, where the name stands in another one, too; or by the words of its sentence, fewer and in another
        order. Nobody wrote these questions, so there are as many as there is text."""
        parts, total, tries = [], 0, 0
        while (not parts or total < n - 200) and tries < 60:
            tries += 1
            made = self.piece_with_names(self.rng.randrange(120, max(121, min(700, n - total))))
            if made:
                parts.append(self.chat(*made))
                total += len(parts[-1][0]) + 1
        return self.joined(parts) if parts else self.plain(n)

    def piece_with_names(self, size):
        r, e = self.rng, self.tok.encode
        hay = self.span(size + 60, WIKI if r.random() < 0.85 or not len(self.of[BOOK]) else BOOK)
        at = (np.flatnonzero(self.stop[hay]) + 1).tolist()
        told = [self.tok.decode(hay[a:b].tolist()) for a, b in zip(at, at[1:])]
        if len(told) < 3:
            return None
        names = {}
        for k, text in enumerate(told):
            for m in NAMED.finditer(text):
                if m.start() > 2 and len(m[0]) > 2 and m[0] not in COMMON:
                    names.setdefault(m[0], []).append(k)
        gone, asks = set(), []
        for name in r.sample(list(names), min(len(names), 12)):
            within = sorted({k for k, text in enumerate(told) if name in text})
            k = r.choice(names[name])
            words = told[k].split()
            if k in gone or "\n" in told[k].strip() or not 7 <= len(words) <= 45 or len(asks) >= r.choice([1, 2, 3]):
                continue
            others = [i for i in within if i != k and i not in gone]
            if others and r.random() < 0.7 and all(i != k for _, _, i in asks):
                gone.add(k)
                asks.append((self.blank(told[k], name, False), name, -1))
            elif k not in gone:
                asks.append((self.blank(told[k], name, True), name, k))
        if not asks:
            return None
        p, where = Piece(), {}
        for k, (a, b) in enumerate(zip(at, at[1:])):
            if k not in gone:
                s = p.add(hay[a:b])
                where[k] = s, p.n
        place = lambda k: where.get(k, self.NOWHERE)
        asks = [(e(q), e(a + "."), place(k), self.NOWHERE) for q, a, k in asks if any(a in told[i] for i in where)]
        return (p.all(), asks) if asks else None

    def blank(self, text, name, fewer):
        """A question for name in the words of text."""
        r = self.rng
        before, after = text.strip().split(name, 1)
        shape = shape_of(name)
        if r.random() < (0.25 if fewer else 0.5):
            return 'Fill in the blank: "%s____%s"' % (before, after)
        ask = {"year": ["when", "in what year"], "number": ["how many", "what number", "how much"]}.get(
            shape, ["who", "what", "which", "where", "what or who"]
        )
        ask, before, after = r.choice(ask), before.split(), after.strip(" .!?,;:").split()
        if before:
            before[0] = before[0] if NAMED.match(before[0]) and r.random() < 0.5 else before[0].lower()
        if fewer:
            share = r.choice([0, 0.1, 0.2, 0.4])
            before, after = ([w for w in x if r.random() >= share] for x in (before, after))
            if r.random() < 0.3:
                r.shuffle(before)
        way = r.random()
        words = [ask, *after, *before] if way < 0.5 else [*before, ask, *after] if way < 0.8 else [ask, *before, *after]
        q = " ".join(words).strip(" ,;:")
        return q[0].upper() + q[1:] + "?"

    def plain(self, n):
        x = self.span(n)
        return x, np.ones(n, np.uint8), []

    # The share of each kind in rows of up to 1,024 tokens, among short samples of longer rows, and among those of
    # more than 6,000 tokens.
    KINDS = {
        "alone": (0.54, 0.14, 0.00),
        "needles": (0.13, 0.28, 0.40),
        "planted": (0.08, 0.16, 0.24),
        "recurring": (0.12, 0.08, 0.00),
        "fragments": (0.04, 0.03, 0.02),
        "pairs": (0.03, 0.04, 0.06),
        "several": (0.02, 0.03, 0.03),
        "cloze": (0.01, 0.01, 0.04),
        "human": (0.02, 0.18, 0.12),
        "articles": (0.01, 0.05, 0.04),
        "book": (0.00, 0.03, 0.04),
        "plain": (0.01, 0.01, 0.01),
    }

    def sample(self, n, length):
        column = 0 if length <= 1024 else 1 if n <= 6000 else 2
        kind = self.rng.choices(list(self.KINDS), [w[column] for w in self.KINDS.values()])[0]
        return getattr(self, kind)(n)

    # ---- rows --------------------------------------------------------------------------------

    def positions(self, n, reach):
        """0, 1, 2 ... for most rows; else with gaps, so that short rows know far distances, too."""
        r = self.rng
        at = np.arange(n, dtype=np.int32)
        if n < 12000 and r.random() < (0.5 if n > 1024 else 0.25):
            spare = int(n * (reach / n) ** r.random()) - n
            cuts = [r.randrange(1, n) for _ in range(r.randrange(1, 7))]
            shares = self.np.dirichlet(np.ones(len(cuts)))
            for cut, share in zip(cuts, shares):
                at[cut:] += int(share * spare)
        return at

    def row(self, length, questions=64, reach=140_000):
        """tokens [length + 1], weights [length + 1], positions [length], marks [questions, 6]."""
        r = self.rng
        ids, weights, marks, n = [np.array([self.tok.bos], np.uint16)], [np.zeros(1, np.uint8)], [], 1
        while n < length + 1:
            left = length + 1 - n
            size = left if left < 500 or r.random() < 0.45 else r.randrange(300, left)
            x, w, m = self.sample(max(size, 260), length)
            for last, asked, s1, e1, s2, e2 in m:
                if last + n < length:
                    second = (s2 + n, e2 + n) if e2 else (0, 0)
                    marks.append((last + n, asked + n, s1 + n, e1 + n, *second))
            ids += [x, np.array([self.tok.bos if length <= 1024 or r.random() < 0.5 else self.tok.eot], np.uint16)]
            weights += [w, np.ones(1, np.uint8)]
            n += len(x) + 1
        if len(marks) > questions:
            marks = r.sample(marks, questions)
        out = np.full((questions, 6), -1, np.int64)
        if marks:
            out[: len(marks)] = marks
        return (
            np.concatenate(ids)[: length + 1].astype(np.int32),
            np.concatenate(weights)[: length + 1],
            self.positions(length, reach),
            out,
        )


if __name__ == "__main__":
    import sys
    import time

    rows = Rows(sys.argv[1], 5)
    for kind in Rows.KINDS:
        for n in (700,):
            x, w, marks = getattr(rows, kind)(n)
            show = lambda a, b: rows.tok.decode([int(t) for t in x[a:b]])
            print(f"==== {kind}: {len(x)} tokens, {len(marks)} marks")
            answers = np.flatnonzero((w[1:] == ANSWER) & (w[:-1] != ANSWER)) + 1
            for a in answers[:6]:
                b = a + int(np.argmax(w[a:] != ANSWER)) if (w[a:] != ANSWER).any() else len(w)
                m = [y for y in marks if y[0] == a - 1]
                print(
                    "   ",
                    repr(show(m[0][1], a)) if m else repr(show(max(0, a - 30), a)),
                    "=>",
                    repr(show(a, b)),
                    "<=",
                    [repr(show(y[2], y[3])) + (repr(show(y[4], y[5])) if y[5] else "") for y in m],
                )
    for length in (1024, 4096, 16384, 32768, 131072):
        t, n, answers, asked, refused = time.time(), 0, 0, 0, 0
        while time.time() - t < 5:
            x, w, _, m = rows.row(length)
            n += length
            answers += int((w == ANSWER).sum())
            begins = np.flatnonzero((w[1:] == ANSWER) & (w[:-1] != ANSWER)) + 1
            asked += len(begins)
            refused += sum(x[b : b + len(rows.REFUSE)].tolist() == rows.REFUSE for b in begins)
        print(
            length,
            f"{n / (time.time() - t):.0f} tokens/s, answers {answers / n:.3f}, questions {int((m[:, 0] >= 0).sum())}",
            f"refused {refused / max(1, asked):.3f} of {asked}",
        )
