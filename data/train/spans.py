"""SQuAD 2.0 as translated to Finnish and back: its pages, and a model of which coloured stretch answers which question.

TurkuNLP/squad2-fi keeps SQuAD's paragraphs and questions as HTML pages. Answers are coloured stretches of a
paragraph; which colour is whose answer is not said. A linear model of words in common, kinds of question and answer,
and places gives chances; each colour should be the answer of about one question. squad.py uses them.
"""

import html
import math
import re
from collections import Counter, defaultdict

import numpy as np

TRAINING_DOCUMENTS = 442  # SQuAD's training part; the others are its development part
SHARPNESS, HARDNESS, MOST_GAIN, ROUNDS = 1.5, 0.5, 1.5, 12
WORD = re.compile(r"[^\W_]+")
STOP = set("""
a an the of in on at to for from by with and or is was are were be been being it its as that this which who whom what
when where how why did do does many much have has had his her their he she they not into than then also one after
before about during between there some such can could would other most more first name used called type kind year
""".split())
SENTENCE = re.compile(r"[.!?]['\")]?\s+(?=[A-Z\"'(])")
MONTH = re.compile(
    r"\b(January|February|March|April|May|June|July|August|September|October|November|December)\b"
)
NUMBER = re.compile(
    r"\b(one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|thirty|forty|fifty|hundred|thousand|million"
    r"|billion|half|dozen)\b",
    re.I,
)
ASKED = [
    re.compile(x)
    for x in (
        r" who | whom | whose ",
        r" when | what (date|day|time|month) ",
        r" (what|which) (year|decade|century)| in (what|which) year",
        r" where ",
        r" how many | what number",
        r" how much | how (long|old|far|tall|large|big|often|high)",
        r" percent| per cent",
        r" why ",
        r" how (do|did|does|is|was|are|were|can) ",
        r" what (kind|type|sort)",
        r" (what|which) (city|country|state|place|location|region|town|river|island|area|continent)",
        r" what (is|was) the name| (called|named|known as) ",
        r" (what|which) ",
        r" cost| price| money| worth| paid| revenue",
        r" what (did|do|does|is|was|are|were) ",
    )
]
HEAD = re.compile(
    r"\b(?:what|which|how many)\s+((?:\w+\s+){0,2}?\w+?)\s+"
    r"(?:is|was|are|were|did|do|does|has|have|had|can|could|would|will|\w+ed)\b"
)
LOOSE_END = re.compile(
    r"(?:[\s,.;:]+|\b(?:of|and|the|to|in|that|is|are|was|were|a|an|by|who|which|with|or|for|from|as|but|on|at|has"
    r"|had|have)\s*)$",
    re.I,
)
LOOSE_BEGIN = re.compile(r"^(?:[\s,.;:]+|(?:and|of|is|are|was|were|that|who|which|but|or|with|has|had)\b\s*)", re.I)


# ---- the pages ------------------------------------------------------------------------------


def pages(repository):
    """{document: [{"i", "text", "spans": [(colour, from, to)], "q"}]}"""
    colours = re.search(r"colors = \[(.*?)\]", repository.read("html2squad.py"), re.S)[1]
    number = {c: i for i, c in enumerate(re.findall(r"#\w+", colours))}
    documents, part, wanted = {}, None, None
    plain = lambda s: re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", "", s)))
    for _, text in repository.read_many(
        sorted(p for _, p in repository.list("squad2-en-translated-raw/html") if p.endswith(".html"))
    ):
        for m in re.finditer(r"<p\b[^>]*>(.*?)</p>", text, re.S):
            raw = m[1].replace("\n", " ")
            line = plain(raw).strip()
            mark = re.match(r"(Document number|Text number|Question) (\d+)", line) if "<b>" in raw else None
            if mark and mark[1] == "Document number":
                document, part = documents.setdefault(int(mark[2]), []), None
            elif mark and mark[1] == "Text number":
                part, wanted = {"i": int(mark[2]), "text": "", "spans": [], "q": []}, "text"
                document.append(part)
            elif mark:
                wanted = "question"
            elif line and wanted == "question" and part:
                part["q"].append(line)
                wanted = None
            elif line and wanted == "text":
                out = ""
                for piece in re.finditer(r'<font color="(#\w+)">(.*?)</font>|([^<]+)|<[^>]+>', raw, re.S):
                    s = plain(piece[2] if piece[1] else piece[3] or "")
                    s = s[1:] if s[:1] == " " and (not out or out[-1] == " ") else s
                    if piece[1] and s:
                        part["spans"].append((number.get(piece[1], -1), len(out), len(out) + len(s)))
                    out += s
                part["text"], wanted = out, None
    return documents


def colours_of(paragraph):
    """The colours that squad2doc.py of that repository gave to each question of an original paragraph."""
    at = [[] for _ in paragraph["context"]]
    for q in paragraph["qas"]:
        for i, a in enumerate(q["answers"] + q.get("plausible_answers", [])):
            for here in at[a["answer_start"] : a["answer_start"] + len(a["text"])]:
                here.append(f"{q['id']}_{i}")
    colour, out = {"": -1}, defaultdict(set)
    for here in at:
        colour.setdefault("+".join(here), len(colour))
    for together, c in colour.items():
        for name in together.split("+"):
            out[name.split("_")[0]].add(c)
    return out


# ---- how well a stretch fits a question -----------------------------------------------------


def stem(word):
    w = word.lower()
    for s in ("ing", "ed", "es", "s", "ly", "ion"):
        if w.endswith(s) and len(w) - len(s) >= 3:
            return w[: -len(s)]
    return w


def beginnings(text):
    return {w[:4].lower() for w in WORD.findall(text) if len(w) > 3 and w.lower() not in STOP}


class Weights:
    """Rare words count more."""

    def __init__(self, paragraphs, words):
        self.n, self.seen = len(paragraphs), Counter()
        for p in paragraphs:
            self.seen.update(words(p["text"]))

    def __call__(self, word):
        return math.log(self.n / (1 + self.seen[word]))


def kind_of_answer(text):
    t = text.strip(" .,;:()\"'")
    words = t.split()
    capitals = sum(w[0].isupper() for w in words)
    year, digit = bool(re.search(r"\b(1[0-9]{3}|20[0-2][0-9])s?\b", t)), bool(re.search(r"\d", t))
    return [
        year,
        bool(MONTH.search(t)),
        digit and not year,
        bool(NUMBER.search(t)),
        "%" in t or "percent" in t or "per cent" in t,
        bool(re.search(r"[$€£]|dollar|euro", t)),
        bool(words) and capitals == len(words),
        0 < capitals < len(words),
        capitals == 0 and not digit,
        len(words) == 1,
        len(words) == 2,
        3 <= len(words) <= 5,
        len(words) > 5,
        bool(re.match(r"(because|due to|to |by |in order)", t.lower())),
    ]


def candidates(p):
    """[(colours, from, to)]: coloured stretches, and runs of up to four that touch."""
    spans, text, out, by = sorted(p["spans"], key=lambda s: s[1]), p["text"], {}, defaultdict(list)
    for c, a, b in spans:
        by[c].append((a, b))
    for c, places in by.items():
        whole = places[0][0], places[-1][1]
        out[frozenset([c])] = whole if whole[1] - whole[0] < 120 else max(places, key=lambda x: x[1] - x[0])
    for i, (c, a, end) in enumerate(spans):
        together = {c}
        for d, from_, to in spans[i + 1 : i + 4]:
            if text[end:from_].strip(" ,"):
                break
            together, end = together | {d}, to
            if len(together) > 1:
                out.setdefault(frozenset(together), (a, end))
    return [(c, a, b) for c, (a, b) in out.items() if text[a:b].strip(" .,;:")]


def features(p, rare, rare4):
    """For each question of a paragraph the candidates, and a row of numbers for each."""
    text, found = p["text"], candidates(p)
    words = [(stem(m[0]), m.start(), m.end()) for m in WORD.finditer(text)]
    ends = [0] + [m.end() for m in SENTENCE.finditer(text)] + [len(text)]
    order = sorted({c for c, _, _ in p["spans"]}, key=lambda c: min(a for d, a, _ in p["spans"] if d == c))
    n = len(p["q"])
    for k, q in enumerate(p["q"]):
        mine = {stem(w) for w in WORD.findall(q)} - {stem(w) for w in STOP}
        mine4 = beginnings(q)
        total, total4 = sum(map(rare, mine)) + 1e-3, sum(map(rare4, mine4)) + 1e-3
        low = [w.lower() for w in WORD.findall(q)]
        pairs = [f"{x} {y}" for x, y in zip(low, low[1:]) if not (x in STOP and y in STOP)]
        m = HEAD.search(q.lower())
        head = {stem(w) for w in m[1].split()} - {stem(w) for w in STOP} if m else set()
        asked = [bool(x.search(f" {q.lower()} ")) for x in ASKED] + [True]
        rows = []
        for colours, a, b in found:
            s, e = max(x for x in ends if x <= a), min(x for x in ends if x >= min(b, len(text)))
            near = {30: set(), 80: set(), 200: set(), "sentence": set()}
            inside = at_head = 0.0
            for w, x, y in words:
                if w in mine:
                    if x >= a and y <= b:
                        inside += rare(w) / total
                        continue
                    distance = min(abs(x - b), abs(a - y))
                    for reach in (30, 80, 200):
                        if distance < reach:
                            near[reach].add(w)
                    if s <= x < e:
                        near["sentence"].add(w)
                    at_head = max(at_head, float(w in head and distance < 40))
            share = {r: sum(map(rare, ws)) / total for r, ws in near.items()}
            in4 = lambda t: sum(map(rare4, mine4 & beginnings(t))) / total4
            around = text[max(0, a - 60) : a], text[b : b + 60]
            beside = " ".join(w.lower() for t in around for w in WORD.findall(t))
            sentence4 = in4(text[s:e])
            kind = np.array(kind_of_answer(text[a:b]), np.float32)
            place = np.mean([order.index(c) for c in colours]) / max(1, len(order) - 1)
            place -= min(k, 4) / max(1, min(n, 5) - 1) if k < 5 else (k if n > 5 else 0) / max(1, n - 1)
            rows.append(
                np.concatenate(
                    [
                        [sentence4, in4(text[max(0, a - 60) : b + 60]), sum(x in beside for x in pairs) / max(1, len(pairs))],
                        [sentence4**2, share[30], share[80], share["sentence"], share[200], inside, at_head],
                        [share["sentence"] ** 2, share[80] ** 2, abs(place), place**2, len(colours) > 1, (b - a) / 50],
                        kind,
                        np.outer(asked, kind).ravel(),
                    ]
                )
            )
        yield k, found, np.array(rows, np.float32)


def fit(rows, right, steps=60, rate=0.03, small=2e-3):
    """Weights w for which the softmax of rows @ w is highest at the right candidate: Adam on all at once."""
    big, sizes = np.concatenate(rows), np.array([len(x) for x in rows])
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    w = m = v = np.zeros(big.shape[1])
    for t in range(1, steps + 1):
        s = big @ w
        p = np.exp(s - np.repeat(np.maximum.reduceat(s, first), sizes))
        p /= np.repeat(np.add.reduceat(p, first), sizes)
        p[first + right] -= 1
        g = big.T @ p / len(rows) + 2 * small * w
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        w = w - rate * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    return w


def jointly(scores, found):
    """Probabilities of the candidates of each question, when each colour is the answer of about one."""
    base = [np.exp(x - x.max()) for x in scores]
    base = p = [x / x.sum() for x in base]
    names = sorted({c for cs in found for colours in cs for c in colours})
    weight = dict.fromkeys(names, 1.0)
    for _ in range(ROUNDS):
        load = dict.fromkeys(names, 0.0)
        for x, cs in zip(p, found):
            for share, colours in zip(x, cs):
                for c in colours:
                    load[c] += share
        for c in names:
            weight[c] *= min(max(1 / max(load[c], 1e-3), 0.05), MOST_GAIN) ** HARDNESS
        p = [
            x * [math.prod(weight[c] for c in colours) ** (1 / len(colours)) for colours in cs]
            for x, cs in zip(base, found)
        ]
        p = [x / x.sum() for x in p]
    return p


def trimmed(text, a, b):
    """A stretch without the loose words that translation left at its ends."""
    while m := LOOSE_END.search(text[a:b]):
        b -= len(m[0])
    while m := LOOSE_BEGIN.search(text[a:b]):
        a += len(m[0])
    return text[a:b].strip('"')
