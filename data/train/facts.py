"""Sentences with questions: facts.txt says what may be said, kinds.txt what its slots are filled with."""

import os
import random
import re

import names as N

HERE = os.path.dirname(os.path.abspath(__file__))
SLOT = re.compile(r"\{(\w)(?::(\w+))?\}")
WAY = re.compile(r"\{(an )?(\w+)\}|\(([^()]*\|[^()]*)\)")
WORDS = {
    "first": N.FIRST,
    "last": N.LAST,
    "place": N.PLACE,
    "job_name": N.JOB,
    "thing_name": N.THING,
    "stuff": N.STUFF,
    "colour": N.COLOUR,
    "animal": N.ANIMAL,
    "food": N.FOOD,
    "spot": N.SPOT,
    "container": N.CONTAINER,
    "subject": N.SUBJECT,
    "sport": N.SPORT,
    "adjective": N.ADJECTIVE,
    "month": N.MONTH,
    "ordinal": N.ORDINAL,
    "number_word": N.NUMBER_WORD,
    "hour": N.NUMBER_WORD[:11],
    "count_word": N.NUMBER_WORD,
    "initial": [c + "." for c in "ABCDEFGHJKLMNPQRSTUVWXYZ"],
}
PLURALS = {
    "mouse": "mice",
    "goose": "geese",
    "sheep": "sheep",
    "ox": "oxen",
    "wolf": "wolves",
    "deer": "deer",
    "salmon": "salmon",
    "trout": "trout",
}
SYLLABLES = "b c d f g h j k l m n p r s t v w z br ch dr gr kl pr sh st th tr".split(), "a e i o u ai ea io ou".split()


def a(noun):
    return ("an " if noun[0] in "aeiou" and not noun.startswith(("one", "use")) else "a ") + noun


def plural(noun):
    if noun in PLURALS:
        return PLURALS[noun]
    if noun[-1] == "y" and noun[-2] not in "aeo":
        return noun[:-1] + "ies"
    return noun + ("es" if noun[-1] in "xsh" else "s")


def ways_of(text):
    """{kind: (ways, weights)} of kinds.txt."""
    out, name = {}, None
    for line in text.splitlines():
        if not line.strip() or line[0] == "#":
            continue
        if line[0] != " ":
            name = line.strip()
            out[name] = ([], [])
            continue
        weight = re.match(r"\s+(\d+)\* ", line)
        ways = [line[weight.end() :]] if weight else line.strip().split(" | ")
        out[name][0].extend(ways)
        out[name][1].extend([int(weight[1]) if weight else 1] * len(ways))
    return out


class Facts:
    def __init__(self, rng, phrase=None):
        """phrase(): some words of running text, for quotations."""
        self.rng = rng
        self.phrase = phrase or (lambda: " ".join(f"{rng.choice(N.ADJECTIVE)} {rng.choice(N.THING)}" for _ in range(3)))
        with open(os.path.join(HERE, "kinds.txt")) as f:
            self.ways = ways_of(f.read())
        self.single, self.double = [], []
        with open(os.path.join(HERE, "facts.txt")) as f:
            blocks = f.read().split("\n\n")[1:]
        for block in blocks:
            lines = [line for line in block.splitlines() if line and line[0] in "+?"]
            say = [[x.lstrip("+12 ") for x in lines if x.startswith(mark)] for mark in ("+ ", "+1", "+2")]
            ask = [x[2:].split(" => ") for x in lines if x[0] == "?"]
            if say[0]:
                self.single.append(([say[0]], ask))
            else:
                self.double.append((say[1:], ask))

    # ---- kinds of things ---------------------------------------------------------------------

    def made_up(self):
        """A name that means nothing."""
        c = self.rng.choice
        if self.rng.random() < 0.5:
            return c(N.TOWN_HEAD) + c(N.TOWN_TAIL)
        syllables = "".join(c(part) for _ in range(c([2, 2, 3])) for part in SYLLABLES)
        return (syllables + c(["n", "r", "s", "l", "th", "", "m", "x"])).capitalize()

    def digits(self, n):
        return str(self.rng.randrange(10 ** (n - 1), 10**n))

    def basic(self, kind):
        """What has no way in kinds.txt; None for what is unknown."""
        r = self.rng
        if re.fullmatch(r"d\d", kind):
            return self.digits(int(kind[1]))
        if kind == "made_up":
            return self.made_up()
        if kind == "low_made_up":
            return self.made_up().lower()
        if kind == "animals":
            return plural(r.choice(N.ANIMAL))
        if kind == "year":
            return str(r.randrange(1400, 2030))
        if kind == "date":
            day, month, year = r.randrange(1, 29), r.choice(N.MONTH), r.randrange(1500, 2030)
            return r.choice([f"{day} {month} {year}", f"{month} {day}, {year}"])
        if kind == "hour_minute":
            return f"{r.randrange(1, 24)}:{r.randrange(60):02d}"
        if kind == "small":
            return self.digits(r.randrange(1, 4))
        if kind == "number":
            return self.digits(r.randrange(2, 5))
        if kind == "digits":
            return self.digits(r.randrange(4, 8))
        if kind == "count":
            n = self.digits(r.randrange(2, 6))
            return f"{int(n):,}" if r.random() < 0.5 else n
        if kind == "phrase":
            return self.phrase().strip(".,;:!?")
        if kind == "four_words":
            return " ".join(self.phrase().split()[:4]).strip(".,;:!?").title()
        return None

    def value(self, kind):
        if kind in WORDS:
            return self.rng.choice(WORDS[kind]).replace("-", " ")
        if kind in self.ways:
            return self.expand(self.rng.choices(*self.ways[kind])[0])
        v = self.basic(kind)
        if v is None:
            raise KeyError(kind)
        return v

    def expand(self, way):
        def put(m):
            if m[3] is not None:
                return self.expand(self.rng.choice(m[3].split("|")))
            name = m[2]
            v = self.value(name.lower())
            if name.isupper() and len(name) > 1:
                v = v.upper()
            elif name[0].isupper():
                v = v[0].upper() + v[1:]
            return a(v) if m[1] else v

        return WAY.sub(put, way)

    # ---- facts ----------------------------------------------------------------------------------

    def fill(self, line, slots):
        def put(m):
            key = m[1].lower()
            if key not in slots:
                slots[key] = self.value(m[2])
            v = slots[key]
            return v[0].upper() + v[1:] if m[1].isupper() else v

        return SLOT.sub(put, line)

    def instance(self, block):
        """({sentences}, [(question, answer)]) of one kind of fact, all slots filled."""
        r = self.rng
        said, ask = block
        slots, kinds = {}, {}
        for part in said:  # a slot may be named in another sentence than the chosen one
            for line in part:
                for key, kind in SLOT.findall(line):
                    if kind:
                        kinds.setdefault(key.lower(), kind)
        sentences = []
        for part in said:
            line = r.choice(part)
            for key, _ in SLOT.findall(line):
                if key.lower() not in slots:
                    slots[key.lower()] = self.value(kinds[key.lower()])
            sentences.append(self.fill(line, slots))
        qas = []
        for question, answer in ask:
            keys = {k.lower() for k, _ in SLOT.findall(question + answer)}
            if keys <= set(slots):
                q, x = self.fill(question, slots), self.fill(answer, slots)
                qas.append((self.polish(q), x if x.endswith((".", "!", "?")) else x + "."))
        return sentences, qas

    LEADS = [
        "By the way, ",
        "It is well known that ",
        "As it happens, ",
        "Few people know that ",
        "According to the records, ",
        "Remember: ",
        "It should be added that ",
        "Somebody told me that ",
        "To this day, people say that ",
        "In those days one could read in the newspaper that ",
    ]

    REQUESTS = [
        "According to the text, ",
        "According to the document, ",
        "Can you tell me: ",
        "I would like to know: ",
        "Please tell me: ",
        "Answer shortly: ",
    ]

    def polish(self, question):
        r = self.rng
        question = question[0].upper() + question[1:]
        if r.random() < 0.12:
            low = question[0].lower() + question[1:]
            return r.choice(self.REQUESTS) + low
        if r.random() < 0.06:
            return question.rstrip("?")
        return question

    def dress(self, sentence):
        """Sometimes a lead before the sentence."""
        r = self.rng
        if r.random() < 0.12 and not sentence.startswith(('"', "line")):
            if sentence.split()[0] in ("The", "In", "At", "On", "If", "A", "An", "Every", "Because", "There", "It"):
                sentence = sentence[0].lower() + sentence[1:]
            return r.choice(self.LEADS) + sentence
        return sentence

    def one(self):
        """(sentences, [(question, answer)]) of one fact told in one sentence."""
        s, q = self.instance(self.rng.choice(self.single))
        return [self.dress(x) for x in s], q

    def two(self):
        """The same of a fact told in two sentences, and sentences of the same kind that mislead."""
        block = self.rng.choice(self.double)
        s, q = self.instance(block)
        others = [self.instance(block)[0] for _ in range(self.rng.randrange(1, 4))]
        return s, q, others


if __name__ == "__main__":
    f = Facts(random.Random())
    for _ in range(12):
        print(f.one())
    for _ in range(4):
        print(f.two())
