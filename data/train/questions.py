"""Questions made from sentences: a part of speech for each word, a simple clause, a question.

"The tower was designed by Gustave Eiffel in 1887." gives "Who designed the tower in 1887?",
"When was the tower designed by Gustave Eiffel?" and others. Only plain clauses are used (subject,
verb, the rest), and a question must say enough to be found in a long text. A pronoun that opens a
sentence of an article is replaced with the article's title. Words are exchanged for others of the
same meaning, and phrases are dropped, so that a question seldom repeats its sentence word for word.
"""

import pickle
import random
import re

from nltk.tag.perceptron import PerceptronTagger

import names

WORD = re.compile(
    r"[^\W\d_]+(?:['\u2019.-][^\W\d_]+)*\.?(?<=[A-Z]\.)|[^\W\d_]+(?:[\u2019'-](?!s\b)[^\W\d_]+)*"
    r"|\d[\d,.]*\d(?:s\b|m\b)?|\d+[a-z]*|['\u2019]s\b|\S"
)
IRREGULAR = dict(x.split("/") for x in """
became/become began/begin bore/bear bought/buy broke/break brought/bring built/build came/come caught/catch chose/choose
cost/cost cut/cut dealt/deal did/do drank/drink drew/draw drove/drive ate/eat fell/fall fed/feed felt/feel fled/flee
flew/fly fought/fight forbade/forbid forgot/forget found/find froze/freeze gave/give got/get grew/grow had/have
heard/hear held/hold hid/hide hit/hit hung/hang hurt/hurt kept/keep knew/know laid/lay led/lead left/leave lent/lend
let/let lost/lose made/make meant/mean met/meet paid/pay put/put ran/run rang/ring read/read rode/ride rose/rise
said/say sang/sing sat/sit saw/see sent/send set/set shot/shoot shook/shake slept/sleep sold/sell sought/seek
spent/spend spoke/speak split/split spread/spread stole/steal stood/stand struck/strike stuck/stick swam/swim
swore/swear taught/teach thought/think threw/throw told/tell took/take understood/understand went/go withdrew/withdraw
won/win wore/wear wrote/write has/have does/do goes/go overthrew/overthrow undertook/undertake arose/arise
""".split())
PAST_OF_PARTICIPLE = dict(x.split("/") for x in """
written/wrote given/gave taken/took known/knew chosen/chose broken/broke driven/drove drawn/drew thrown/threw sung/sang
begun/began seen/saw done/did shown/showed stolen/stole worn/wore spoken/spoke overthrown/overthrew undertaken/undertook
eaten/ate forgotten/forgot hidden/hid ridden/rode shaken/shook sworn/swore torn/tore grown/grew beaten/beat
""".split())
# Each line: words that may stand for one another in a question.
SAME = """
founded,established,set up,created
built,constructed,erected
began,started,commenced
begin,start
created,made,produced
located,situated
famous,well known,celebrated
big,large
died,passed away
die,pass away
wrote,authored,penned
war,conflict
film,movie
moved,relocated
move,relocate
bought,purchased,acquired
buy,purchase,acquire
received,got,was given
receive,get
completed,finished
complete,finish
discovered,found
discover,find
murdered,killed
kill,slay
killed,slain
attacked,assaulted
joined,became a member of
join,become a member of
chosen,selected,picked
named,called
published,released,brought out
publish,release,bring out
released,put out,issued
appointed,named
won,took
win,take
defeated,beat
defeat,beat
taught,instructed
teach,instruct
designed,planned
invented,devised
married,wed
marry,wed
elected,voted in as
purchased,bought
acquired,bought
employed,used
used,employed,made use of
use,employ,make use of
city,town
company,firm,business
organization,body
country,nation
road,street
king,ruler
author,writer
approximately,about,roughly
important,significant,major
main,chief,principal
primary,main
children,kids
area,region
region,area
near,close to
needed,required
need,require
require,need
contains,holds,has in it
contain,hold
consists,is made up
allowed,permitted
allow,let
caused,brought about
cause,bring about
destroyed,ruined
ended,finished
end,finish
opened,was opened
developed,worked out
develop,work out
increased,rose
increase,rise
decreased,fell
decrease,fall
formed,set up
replaced,took the place of
replace,take the place of
entered,went into
enter,go into
returned,came back
return,come back
arrived,came
arrive,come
lived,resided
live,reside
""".strip().splitlines()
SYNONYM = {}
for line in SAME:
    head, *others = line.split(",")
    SYNONYM.setdefault(head, others)
MONTH = (
    "January February March April May June July August September October November December Jan Feb Mar Apr Jun Jul Aug "
    "Sept Sep Oct Nov Dec"
).split()
TIME = set(
    "year years month months century centuries decade week day days spring summer autumn winter morning evening night "
    "hours minutes".split()
) | set(MONTH)
DULL = set(
    "thing things way part time people one ones he she it they this that these those there which who what other others "
    "his her its their such same own some many most more first also be been being is was are were did does do have has had "
    "made make used use called several various".split()
)
KIND = {
    "DT": "D",
    "PRP$": "D",
    "PDT": "D",
    "JJ": "J",
    "JJR": "J",
    "JJS": "J",
    "NN": "N",
    "NNS": "N",
    "NNP": "N",
    "NNPS": "N",
    "PRP": "P",
    "EX": "E",
    "CD": "C",
    "POS": "S",
    "IN": "I",
    "TO": "I",
    "CC": "K",
    "RB": "R",
    "RBR": "R",
    "RBS": "R",
    "MD": "M",
    "VBD": "V",
    "VBZ": "V",
    "VBP": "V",
    "VBN": "G",
    "VBG": "G",
    "VB": "B",
    ",": ",",
    ".": ".",
    "RP": "r",
}
NOUNS = r"(?:D?(?:R?J|C|N|S|G(?=N))*[NC]|P)"
PHRASE = NOUNS + r"(?:I" + NOUNS + r")?"
CLAUSE = re.compile(r"^((?:I" + NOUNS + r",)?)(" + PHRASE + r"(?:K" + NOUNS + r")?)([VM]R?(?:[BG]R?)*)")
AGENT = set(
    """accepted acted admitted adopted agreed announced argued asked attended became began believed bought built called came
campaigned captained chose claimed coached commanded competed completed composed criticized debuted decided declared defeated
described designed developed died directed discovered earned edited entered explained fought founded gave graduated grew hired
invented invited joined killed learned led left lived lost made married met moved named noted obtained opened painted performed
played praised presented produced proposed published ran received recorded refused released replaced resigned retired returned
said sang saw scored served signed spent started stated stayed stood studied suffered suggested taught tells thought told took
trained translated travelled traveled tried visited voted was went won worked wrote""".split()
)
ORGANISATION = set(
    """Academy Agency Air Airport Army Association Avenue Bank Bay Board Bridge Brothers Castle Church City Club College
Committee Company Corporation Council County Court Cup Department District Division Empire Festival Film Force Foundation Games
Group Hall High Hospital House Institute Island Islands Kingdom Lake League Line Magazine Mountain Mountains Museum National
Navy North Northern Office Park Party Port Press Prize Province Race Railway Records Regiment Republic River Road Royal School
Sea Series Service Society South Southern Square Star State States Station Street Studios Team Theatre Times Tower Town Trophy
Union United University Valley Village War Western""".split()
)
BE = {"is", "was", "are", "were"}
AUX = BE | {
    "did",
    "does",
    "do",
    "has",
    "had",
    "have",
    "can",
    "could",
    "will",
    "would",
    "may",
    "might",
    "must",
    "should",
}


SENTENCE = re.compile(
    r"(?<!\b[A-Z]\.)(?<!\b(?:St|Mr|Dr|Ms|No|Jr|Sr|Co|vs|ca)\.)(?<!\b(?:Mrs|Rev|Gen|Col|Sgt|Ltd|Inc)\.)"
    r"(?<=[.!?])['\")\u201d\u2019]? +(?=[A-Z'\"(\u201c\u2018])"
)


def sentences(paragraph):
    """(start, end) of each sentence."""
    at = 0
    for m in SENTENCE.finditer(paragraph):
        yield at, m.start()
        at = m.end()
    yield at, len(paragraph)


class Questioner:
    def __init__(self, tagger, seed):
        """tagger: the pickle of NLTK's averaged perceptron tagger."""
        self.tagger = PerceptronTagger(load=False)
        self.tagger.model.weights, self.tagger.tagdict, self.tagger.classes = pickle.load(open(tagger, "rb"))
        self.tagger.model.classes = self.tagger.classes
        self.rng = random.Random(seed)
        self.first = set(names.FIRST)
        self.base_forms = set()

    # ---- words ------------------------------------------------------------------------------

    def base(self, verb):
        v = verb.lower()
        if v in IRREGULAR:
            return IRREGULAR[v]
        if v.endswith("ies") or v.endswith("ied"):
            return v[:-3] + "y"
        if v.endswith("ed"):
            options = [v[:-1], v[:-2], v[:-3] if v[-3:-2] == v[-4:-3] else ""]
            for o in (
                options
                if not re.search(r"(ss|[^aeiou][^aeiouw]|[aeiou]{2}[^aeiouv])ed$", v)
                else [v[:-2], v[:-1], options[2]]
            ):
                if o in self.base_forms:
                    return o
            return None
        if v.endswith("es") and re.search(r"(s|x|z|ch|sh|o)es$", v):
            return v[:-2]
        if v.endswith("s"):
            return v[:-1]
        return v

    def person(self, words, verb=""):
        if (
            verb in AGENT
            and len(words) in (2, 3)
            and all(w[0].isupper() for w in words)
            and not ORGANISATION & set(words)
        ):
            return True
        return words[0] in self.first or words[0] in (
            "Mr",
            "Mrs",
            "Dr",
            "Sir",
            "Lord",
            "Lady",
            "King",
            "Queen",
            "Pope",
            "Emperor",
            "President",
            "Captain",
            "General",
            "Professor",
        )

    def reword(self, text):
        """Some words exchanged, some loose phrases dropped."""
        r = self.rng
        if r.random() < 0.35:
            text = re.sub(
                r"\b(also|then|later|subsequently|eventually|originally|officially|finally|however|often|usually|currently) ",
                "",
                text,
            )

        def other(m):
            options = SYNONYM.get(m[0])
            return r.choice(options) if options and r.random() < 0.35 else m[0]

        return re.sub(r"\b[a-z]+\b", other, text)

    # ---- clauses -----------------------------------------------------------------------------

    def tag(self, sentence):
        """[(word, tag, start, end)] without what stands in brackets, or None."""
        spans = [(m[0], m.start(), m.end()) for m in WORD.finditer(sentence)]
        depth, kept = 0, []
        for w in spans:
            depth += w[0] == "("
            if not depth:
                kept.append(w)
            depth -= w[0] == ")"
        if (
            not 6 <= len(kept) <= 40
            or kept[-1][0] != "."
            or any(w[0] in '":;[]?!\u201c\u201d\u2014\u2013' for w in kept)
        ):
            return None
        tags = self.tagger.tag([w[0] for w in kept])
        return [(w, t, s, e) for (w, s, e), (_, t) in zip(kept, tags)]

    def learn(self, words):
        self.base_forms.update(w.lower() for w, t, _, _ in words if t == "VB")

    def ask(self, sentence, words, title=None):
        """[(question, start, end)]: the answer is sentence[start:end]."""
        kinds = "".join(KIND.get(t, "x") for _, t, _, _ in words)
        m = CLAUSE.match(kinds)
        if not m:
            return []
        text = lambda a, b: re.sub(r" (['\u2019]s\b|,)", r"\1", " ".join(w[0] for w in words[a:b]))
        lead, (s0, s1), (v0, v1) = m.span(1), m.span(2), m.span(3)
        end = len(words) - 1
        subject_words = [w[0] for w in words[s0:s1]]
        known = True
        if kinds[s0] in "PE":
            if (
                subject_words[0].lower() not in ("he", "she", "it")
                or not title
                or (
                    subject_words[0] == "It"
                    and (self.person(title.split()) or words[v1 - 1][1] == "VBN" and kinds[v1] in "I.")
                )
            ):
                return []
            subject, known = title, False
        else:
            subject = text(s0, s1)
            if words[s0][0].lower() in (
                "this",
                "these",
                "that",
                "those",
                "such",
                "another",
                "each",
                "some",
                "his",
                "her",
                "its",
                "their",
            ):
                return []
            if (
                words[s0][1] in ("DT", "PDT")
                or words[s0][1] in ("NN", "NNS", "JJ", "CD")
                and subject_words[0] not in self.first
                and (s1 - s0 == 1 or words[s0 + 1][1] not in ("NNP", "NNPS"))
            ):
                subject = subject[0].lower() + subject[1:]
        verb = words[v0][0].lower()
        passive = verb in BE and any(t == "VBN" for _, t, _, _ in words[v0 + 1 : v1])
        has_aux = verb in BE or (verb in AUX and v1 - v0 > 1)
        if has_aux:
            aux, main = verb, text(v0 + 1, v1)
        else:
            base = self.base(verb)
            if not base:
                return []
            aux = "did" if words[v0][1] == "VBD" else "does" if words[v0][1] == "VBZ" else "do"
            main = (base + " " + text(v0 + 1, v1)).strip()
        stop = next(
            (
                i
                for i in range(v1, end)
                if words[i][0]
                in (
                    ",",
                    "and",
                    "but",
                    "which",
                    "who",
                    "that",
                    "although",
                    "though",
                    "while",
                    "whereas",
                    "as",
                    "when",
                    "where",
                    "because",
                    "after",
                    "before",
                    "until",
                    "since",
                    "if",
                )
            ),
            end,
        )
        out = []

        def rest(a, b, until=None):
            """What follows the verb, without [a, b)."""
            until = until or stop
            return (
                (text(v1, min(a, until)) + " " + text(min(b, until), until)).strip() if a < until else text(v1, until)
            )

        def inverted(wh, a, b, until=None, keep_lead=True):
            tail = text(lead[0] + 1, lead[1] - 1) if lead[1] and keep_lead else ""
            tail = f"{words[lead[0]][0].lower()} {tail}" if tail else ""
            return " ".join(x for x in (wh, aux, subject, main, rest(a, b, until), tail) if x)

        def add(question, a, b):
            start, finish = words[a][2], words[b - 1][3]
            if text(a, b).replace(" ", "") == sentence[start:finish].replace(" ", ""):
                out.append((question, start, finish))

        r = self.rng
        # The subject: who or what did it?
        if known and kinds[s0] != "D" or known and words[s0][0].lower() in ("the", "a", "an"):
            who = "Who" if self.person(subject_words, verb) else "What"
            if who == "What" and r.random() < 0.3:
                who = "Which " + (
                    words[s1 - 1][0] if words[s1 - 1][1] == "NN" and kinds[s0:s1].count("I") == 0 else "one"
                )
            if not who.endswith("one"):
                tail = f"{words[lead[0]][0].lower()} {text(lead[0] + 1, lead[1] - 1)}" if lead[1] else ""
                add(f"{who} {text(v0, v1)} {rest(end, end)} {tail}".strip(), s0, s1)
        # What it is.
        if verb in BE and v1 - v0 == 1:
            n = re.match(PHRASE, kinds[v1:])
            if n and kinds[v1] in "DNJ" and v1 + n.end() <= end:
                who = "Who" if self.person(subject.split(), verb) else "What"
                add(f"{who} {verb} {subject}", v1, v1 + n.end())
                role = text(v1, v1 + n.end())
                if known and re.match(r"the\b", role):
                    add(
                        f"{'Who' if who == 'Who' else r.choice(['What', 'Which'])} {verb} {text(v1, stop)}",
                        s0,
                        s1,
                    )
        # What was done, or to whom.
        elif not passive and not (verb in BE):
            n = re.match(PHRASE, kinds[v1:])
            if n and v1 + n.end() <= stop:
                b = v1 + n.end()
                who = "Who" if words[v1][1] == "NNP" and self.person([words[v1][0]]) else "What"
                add(inverted(who, v1, b), v1, b)
                if (
                    words[v1][1] in ("DT", "JJ", "NN")
                    and words[b - 1][1] == "NN"
                    and "I" not in kinds[v1:b]
                    and r.random() < 0.3
                ):
                    add(
                        inverted(f"What {r.choice(['kind of ', 'sort of ', 'type of ', ''])}{words[b - 1][0]}", v1, b),
                        v1,
                        b,
                    )
        # Phrases after the verb: when, where, by whom, how many.
        for n in re.finditer(r"I(" + NOUNS + r"(?:,?C)?)", kinds[:end]):
            a, b = n.start(), n.end()
            if a < v1 and not (lead[1] and a == lead[0]):
                continue
            at_lead = a < v1
            if not at_lead and b > stop and a >= stop:
                continue
            prep = words[a][0].lower()
            noun = [w[0] for w in words[a + 1 : b]]
            timely = any(w in TIME or re.fullmatch(r"1[0-9]{3}|20[0-2][0-9]|\d+s", w) for w in noun)
            full = lambda wh: (
                inverted(wh, a, b, keep_lead=not at_lead) if not at_lead else inverted(wh, end, end, keep_lead=False)
            )
            if timely and prep in (
                "in",
                "on",
                "during",
                "at",
                "around",
                "since",
                "until",
                "by",
                "after",
                "before",
            ):
                if len(noun) == 1 and re.fullmatch(r"\d{4}", noun[0]) and prep == "in":
                    wh = r.choice(["When", "When", "In what year", "In which year", "What year"])
                elif prep == "on" and len(noun) > 1 and any(w in MONTH for w in noun):
                    wh = r.choice(["When", "When", "On what date", "On which day"])
                else:
                    wh = {
                        "since": "Since when",
                        "until": "Until when",
                        "after": "After what",
                        "before": "Before what",
                    }.get(prep, "When")
                add(full(wh), a + 1, b)
            elif prep in ("in", "at", "near", "on", "from", "to") and all(
                t in ("NNP", "NNPS", "POS", "DT") for _, t, _, _ in words[a + 1 : b]
            ):
                if prep in ("in", "at"):
                    add(full("Where"), a + 1, b)
                    if r.random() < 0.3 and prep == "in" and not at_lead:
                        add(
                            full(r.choice(["In which place", "In what place", "In what city or country"])),
                            a + 1,
                            b,
                        )
                elif not at_lead:
                    add(f"{inverted('Where' if prep in ('from', 'to') else 'What', a, b)} {prep}", a + 1, b)
            elif prep == "by" and passive and not at_lead:
                who = "Who" if self.person(noun) or words[a + 1][1] == "NNP" and len(noun) > 1 else "What"
                if v1 - v0 == 2 and r.random() < 0.6:
                    p = words[v1 - 1][0]
                    add(f"{who} {PAST_OF_PARTICIPLE.get(p, p)} {subject} {rest(a, b)}", a + 1, b)
                else:
                    add(
                        (
                            inverted(who, a, b) + " by"
                            if r.random() < 0.5
                            else inverted("By whom" if who == "Who" else "By what", a, b)
                        ),
                        a + 1,
                        b,
                    )
            elif (
                prep in ("for", "with", "into", "against", "about", "as", "through", "between", "under")
                and not at_lead
                and a >= v1
            ):
                who = "whom" if self.person(noun) else "what"
                if r.random() < 0.5:
                    add(f"{inverted('Who' if who == 'whom' else 'What', a, b)} {prep}", a + 1, b)
                else:
                    add(inverted(f"{prep.capitalize()} {who}", a, b), a + 1, b)
        for n in re.finditer(r"C(?=J?N)", kinds[:stop]):
            a = n.start()
            if a < v1 or words[a][0] in MONTH or re.fullmatch(r"1[0-9]{3}|20[0-2]\d", words[a][0]):
                continue
            b = a + 1
            while b < stop and kinds[b] in "JN":
                b += 1
            if words[b - 1][1] == "NNS" and (a == v1 or kinds[a - 1] != "I"):
                add(inverted(f"How many {text(a + 1, b)}", a, b), a, a + 1)
        for i in range(v1 + 1, end - 2):
            w = words[i][0].lower()
            if w in ("because", "due") and words[i - 1][0] != ",":
                until = next((j for j in range(i + 2, end) if words[j][0] in (",", "and", "but")), end)
                if until - i <= 14:
                    add(inverted("Why", i, end, i), i, until)
                break
        return [(self.finish(q), a, b) for q, a, b in out if self.worth(q, sentence[a:b])]

    def worth(self, question, answer):
        """Says enough to be looked for, and does not give its answer away."""
        content = [w for w in re.findall(r"[\w'-]+", question)[1:] if w.lower() not in DULL and len(w) > 2]
        rare = sum(w[0].isupper() or w[0].isdigit() for w in content)
        if len(content) < 3 or (rare == 0 and len(content) < 5) or len(question) > 170 or len(answer) > 110:
            return False
        return answer.lower() not in question.lower() and answer.lower() not in DULL and len(answer) > 1

    def finish(self, question):
        q = re.sub(r"\s+", " ", self.reword(question)).strip(" ,.")
        return q[0].upper() + q[1:] + "?"
