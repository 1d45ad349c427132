#!/usr/bin/env python3
"""Step 1: read the public repositories and write plain documents and question rows.

    python3 sources.py REPOSITORIES OUT

REPOSITORIES holds one bare clone per source, named owner+name/repo (README.md lists them with
their licences). OUT receives

    wiki.jsonl   {"title", "text"}                              encyclopedia articles
    books.jsonl  {"title", "text"}                              novels and other old books
    qa.jsonl     {"source", "title", "context", "held_out",
                  "qas": [{"q", "a", "start"}]}                 paragraphs with human questions

"start" is where the answer begins in the context. An empty answer is a question that the
paragraph does not answer. Everything that this project evaluates on is kept out: see AVOID.
"""

import csv
import gzip
import io
import json
import os
import random
import re
import subprocess
import sys
from collections import defaultdict

SEED = 20261123
WIKI_CHARACTERS = 100_000_000  # about 23 million tokens
BOOK_CHARACTERS = 30_000_000
HELD_OUT_SHARE = 0.2  # of the SQuADShifts articles

# Articles of the SQuAD development sets: questions on them measure the model, so neither their
# questions nor their text may be trained on.
AVOID = set("""
1973_oil_crisis Amazon_rainforest American_Broadcasting_Company Apollo_program Black_Death
Chloroplast Civil_disobedience Computational_complexity_theory Construction Ctenophora Doctor_Who
Economic_inequality European_Union_law Force French_and_Indian_War Fresno,_California
Genghis_Khan Geology Harvard_University Huguenot Huguenots Immune_system Imperialism
Intergovernmental_Panel_on_Climate_Change Islamism Jacksonville,_Florida Kenya Martin_Luther
Newcastle_upon_Tyne Nikola_Tesla Normans Oxygen Packet_switching Pharmacy Prime_number
Private_school Rhine Scottish_Parliament Sky_(United_Kingdom) Sky_UK Southern_California
Steam_engine Super_Bowl_50 Teacher United_Methodist_Church University_of_Chicago
Victoria_(Australia) Victoria_and_Albert_Museum Warsaw Yuan_dynasty
""".split())
# Other articles that share paragraphs with those.
SHARED = {"History_of_the_Internet", "Immunology"}
# Novels that the evaluation hides its sentences in.
AVOID_BOOKS = re.compile(
    r"prophet'?s.mantle|domitia|red as a rose|paul ferroll|mistress and maid" r"|hosts of the lord|nesbit", re.I
)


class Repository:
    """A bare clone, read without a work tree."""

    def __init__(self, root, name):
        path = os.path.join(root, name.replace("/", "+"), "repo")
        self.git = ["git", "--git-dir", path + "/.git" if os.path.isdir(path + "/.git") else path]

    def bytes(self, path):
        return subprocess.check_output(self.git + ["show", "HEAD:" + path])

    def read(self, path):
        return self.bytes(path).decode("utf-8", "replace")

    def list(self, folder=""):
        """(size, path) of every file that is there."""
        out = subprocess.check_output(self.git + ["ls-tree", "-r", "-l", "-z", "HEAD", folder or "."])
        for entry in out.decode("utf-8", "replace").split("\0"):
            if "\t" in entry:
                about, path = entry.split("\t", 1)
                size = about.split()[3]
                if size.isdigit():
                    yield int(size), path

    def read_many(self, paths):
        """Texts of many files through one git process."""
        git = subprocess.Popen(self.git + ["cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for path in paths:
            git.stdin.write(f"HEAD:{path}\n".encode())
            git.stdin.flush()
            head = git.stdout.readline().split()
            if len(head) == 3:
                text = git.stdout.read(int(head[2]))
                git.stdout.read(1)
                yield path, text.decode("utf-8", "replace")
        git.stdin.close()


# What a lost template leaves behind: "an area of (not including", "a depth of ,".
HOLE = re.compile(
    r"\b(of|about|is|was|by|to|from|and|in|an?|the|at|with|over|around|approximately) ?[,.;:)]"
    r"|\( ?[,;)]|\b(of|is|was|about|over) \(not|\]\]|\[\[|\{\||\|\}|==|  +[,.]"
)


def wiki_text(title, raw):
    """Prose paragraphs of one article; headings stay on lines of their own, tables and lists go."""
    name = title.replace("_", " ")
    out = []
    for block in re.split(r"\n\s*\n", raw):
        block = re.sub(r"\s+", " ", re.sub(r"\[\d+\]|\[note \d+\]", "", block)).strip()
        block = re.sub(r"(?<!\w)_([^_]+)_(?!\w)", r"\1", block).replace("**", "")
        block = re.sub(r"\S+\.(jpe?g|png|svg|gif)\S*\s*", "", block, flags=re.I)
        if not out:  # the lead writes names in capitals
            plain = re.sub(r" \(.*\)$", "", name)
            block = re.sub(re.escape(plain.upper()) + "S?", plain, block, count=1)
            block = re.sub(re.escape(plain) + r"S\b", plain + "s", block, count=1)
            block = re.sub(r"\b[A-Z][A-Z'-]{2,}(?: [A-Z][A-Z'.-]+)+", lambda m: m[0].title(), block)
        if block in ("References", "See also", "Notes", "External links", "Further reading", "Bibliography"):
            break
        if re.match(r"[-+*|=:;#>]|\d+\.", block) or "|" in block or "---" in block:
            continue
        letters = sum(c.isalpha() or c == " " for c in block)
        if len(block) < 80:
            if out and 3 < len(block) < 50 and letters == len(block):
                out.append(block)
            continue
        if letters < 0.86 * len(block) or not re.search(r"[.!?]['\")]?$", block):
            continue
        sentences = re.split(r"(?<=[.!?]) (?=[A-Z\"'(])", block)
        kept = [s for s in sentences if not HOLE.search(s)]
        if len(kept) * 3 >= len(sentences) * 2:
            out.append(" ".join(kept))
    while out and len(out[-1]) < 50:
        out.pop()
    return "\n\n".join(out)


def wiki(repositories):
    avoid = AVOID | held_out_titles(repositories)
    repo = Repository(repositories, "chinapedia/wikipedia.abstract.en")
    names = []
    for size, path in repo.list("Page"):
        title = path[5:-3]
        if (
            3_000 < size < 90_000
            and title not in avoid
            and not re.match(r"List_of|Lists_of|Index_of|Timeline|\d|.*_in_\d{4}|.*disambig|Foreign_relations", title)
        ):
            names.append(path)
    random.Random(SEED).shuffle(names)
    total = 0
    for path, raw in repo.read_many(p for p in names if p[5:-3] not in SHARED):
        text = wiki_text(path[5:-3], raw)
        if len(text) > 1_500:
            yield {"title": path[5:-3].replace("_", " "), "text": text}
            total += len(text)
            if total > WIKI_CHARACTERS:
                return


def straight(text):
    """Straight quotes and plain dashes, as many documents have them."""
    for a, b in (
        ("\u2019", "'"),
        ("\u2018", "'"),
        ("\u201c", '"'),
        ("\u201d", '"'),
        ("\u2014", " - "),
        ("\u2013", "-"),
        ("\u2026", "..."),
        ("\u00a0", " "),
    ):
        text = text.replace(a, b)
    return text


def books(repositories):
    repo = Repository(repositories, "mlschmitt/classic-books-markdown")
    names = [p for s, p in repo.list() if p.endswith(".md") and "/" in p and s > 100_000 and not AVOID_BOOKS.search(p)]
    rng = random.Random(SEED)
    rng.shuffle(names)
    total = 0
    for path, text in repo.read_many(names):
        text = re.sub(r"^.*?-------\n", "", text, count=1, flags=re.S)  # the front matter
        text = re.sub(r"[*_#]+", "", re.sub(r"[ \t]+\n", "\n", text.replace("\r", "")))
        text = re.sub(r"\n{3,}", "\n\n", text).strip()
        if rng.random() < 0.5:
            text = straight(text)
        at = rng.randrange(max(1, len(text) - 400_000))
        yield {"title": os.path.basename(path)[:-3], "text": text[at : at + 400_000]}
        total += min(len(text), 400_000)
        if total > BOOK_CHARACTERS:
            return


def squad_format(source, text, held_out=()):
    """Rows of a file in SQuAD's format."""
    for article in json.loads(text)["data"]:
        title = article.get("title") or source
        if title in AVOID:
            continue
        for p in article["paragraphs"]:
            qas = []
            for q in p["qas"]:
                answers = sorted((a for a in q["answers"] if a["text"].strip()), key=lambda a: len(a["text"]))
                if answers:
                    a = answers[len(answers) // 2]
                    text, start = a["text"], a["answer_start"]
                    if p["context"][start : start + len(text)] != text:
                        start = p["context"].find(text)
                    if start >= 0:
                        qas.append({"q": q["question"].strip(), "a": text.strip(), "start": start})
                elif q.get("is_impossible"):
                    qas.append({"q": q["question"].strip(), "a": "", "start": -1})
            if qas:
                yield {
                    "source": source,
                    "title": title.replace("_", " "),
                    "context": p["context"],
                    "held_out": title in held_out,
                    "qas": qas,
                }


SQUADSHIFTS = "modestyachts/squadshifts-website", "datasets/new_wiki_v1.0.json"


def held_out_titles(repositories):
    text = Repository(repositories, SQUADSHIFTS[0]).read(SQUADSHIFTS[1])
    titles = sorted(a["title"] for a in json.loads(text)["data"])
    random.Random(SEED).shuffle(titles)
    return set(titles[: round(HELD_OUT_SHARE * len(titles))])


def squadshifts(repositories):
    repo = Repository(repositories, SQUADSHIFTS[0])
    yield from squad_format("squadshifts-wiki", repo.read(SQUADSHIFTS[1]), held_out_titles(repositories))
    yield from squad_format("squadshifts-reddit", repo.read("datasets/reddit_v1.0.json"))
    yield from squad_format("squadshifts-amazon", repo.read("datasets/amazon_reviews_v1.0.json"))


def untokenised(words):
    """Words with spaces between them, written as a person would."""
    s = " ".join(words).replace("-LRB- ", "(").replace(" -RRB-", ")").replace("`` ", '"').replace(" ''", '"')
    s = re.sub(r" ([.,;:?!'%)])", r"\1", s).replace(" n't", "n't").replace("$ ", "$").replace("( ", "(")
    return re.sub(r" - (?=\w)(?<=\w - )", "-", s).replace(" -- ", " - ")


def qamr(repositories):
    repo = Repository(repositories, "uwnlp/qamr")
    sentences = dict(line.split("\t", 1) for line in repo.read("data/wiki-sentences.tsv").splitlines())
    rows = defaultdict(dict)
    for part in ("dev", "test"):
        for line in repo.read(f"data/filtered/{part}.tsv").splitlines():
            f = line.split("\t")
            rows[f[0]][f[5]] = f[6]
    for key, questions in rows.items():
        words = sentences.get(key, "").split()
        context = untokenised(words)
        qas = []
        for q, indices in questions.items():
            i = [int(x) for x in indices.split()]
            answer = (
                untokenised(words[i[0] : i[-1] + 1])
                if words and i[-1] < len(words) and i[-1] - i[0] < len(i) + 2
                else ""
            )
            start = context.find(answer) if answer else -1
            if start >= 0:
                qas.append({"q": q if q.endswith("?") else q + "?", "a": answer, "start": start})
        if qas:
            yield {"source": "qamr", "title": "Text", "context": context, "held_out": False, "qas": qas}


def qed(repositories):
    repo = Repository(repositories, "google-research-datasets/QED")
    for line in repo.read("qed-dev.jsonlines").splitlines():
        d = json.loads(line)
        answers = sorted({a["string"] for group in d["original_nq_answers"] for a in group if a["string"]}, key=len)
        if not answers or d["title_text"].replace(" ", "_") in AVOID:
            continue
        tidy = (
            lambda s: re.sub(r" ([.,;:?!'%)])", r"\1", s)
            .replace("( ", "(")
            .replace(" n't", "n't")
            .replace("`` ", '"')
            .replace(" ''", '"')
        )
        context, answer = tidy(d["paragraph_text"]), tidy(answers[0])
        q = d["question_text"].strip()
        start = context.find(answer)
        if start >= 0:
            yield {
                "source": "qed",
                "title": d["title_text"],
                "context": context,
                "held_out": False,
                "qas": [{"q": q[0].upper() + q[1:] + "?", "a": answer, "start": start}],
            }


def policyqa(repositories):
    repo = Repository(repositories, "wasiahmad/PolicyQA")
    for part in ("dev", "test"):
        yield from squad_format("policyqa", repo.read(f"data/{part}.json"))


LONGEST = 150  # characters of an answer in the sets below: longer ones are whole sentences


def naturalquestions(repositories):
    """Development questions of Natural Questions with the paragraph that answers each, but for those of QED."""
    known = {q["q"] for row in qed(repositories) for q in row["qas"]}
    text = gzip.decompress(Repository(repositories, "nelson-liu/lost-in-the-middle").bytes("qa_data/nq-open-oracle.jsonl.gz"))
    avoid = AVOID | held_out_titles(repositories)
    for line in text.decode().splitlines():
        d = json.loads(line)
        gold, q = d["nq_annotated_gold"], d["question"].strip()
        context, q = re.sub(r"\s+", " ", gold["long_answer"]).strip(), q[0].upper() + q[1:] + "?"
        answers = sorted((a for a in gold["short_answers"] if a in context and len(a) < LONGEST), key=len)
        if answers and q not in known and gold["title"].replace(" ", "_") not in avoid and len(context) < 3000:
            a = answers[len(answers) // 2]
            qas = [{"q": q, "a": a, "start": context.find(a)}]
            yield {"source": "nq", "title": gold["title"], "context": context, "held_out": False, "qas": qas}


def timeqa(repositories):
    """A paragraph behind its article's first one. Questions for other times, which it does not answer, go along."""
    repo = Repository(repositories, "wenhuchen/Time-Sensitive-QA")
    avoid = AVOID | held_out_titles(repositories)
    for part in ("train", "test"):
        for d in json.loads(repo.read(f"dataset/human_annotated_{part}.json")):
            title = d["link"].split("/")[-1]
            if title in avoid:
                continue
            asked = [(q, [a for a in answers if a["answer"]]) for q, answers in d["questions"]]
            for n in sorted({a["para"] for _, answers in asked for a in answers}):
                lead, text = (untokenised(d["paras"][i].split()) for i in (1, n))
                if len(text) < 120:  # a heading
                    continue
                before = lead + "\n\n" if n > 1 else ""
                context, qas = before + text, []
                for q, answers in asked:
                    words = [untokenised(a["answer"].split()) for a in answers]
                    here = [w for a, w in zip(answers, words) if a["para"] == n and w in text]
                    if here:
                        qas.append({"q": q, "a": here[0], "start": context.find(here[0], len(before))})
                    elif not any(w in context for w in words):
                        qas.append({"q": q, "a": "", "start": -1})
                if any(q["a"] for q in qas):
                    name = title.replace("_", " ")
                    yield {"source": "timeqa", "title": name, "context": context, "held_out": False, "qas": qas}


def passages(text, size=1600):
    """[(beginning, end)] of paragraphs of a long text, short ones together."""
    at = 0
    for m in re.finditer(r"\n\n|$", text):
        if m.start() - at >= size or m.start() == len(text):
            yield at, m.start()
            at = m.end()


def covidqa(repositories):
    repo = Repository(repositories, "deepset-ai/COVID-QA")
    for article in json.loads(repo.read("data/question-answering/200423_covidQA.json"))["data"]:
        for p in article["paragraphs"]:
            title = p["context"].split("\n")[0].strip()
            for a, b in passages(p["context"]):
                qas = []
                for q in p["qas"]:
                    for answer in q["answers"][:1]:
                        s, text = answer["answer_start"], answer["text"].rstrip(" .")
                        if a <= s and s + len(text) <= b and p["context"].startswith(text, s) and 0 < len(text) < LONGEST:
                            qas.append({"q": q["question"].strip(), "a": text.replace("\n", " "), "start": s - a})
                if qas:
                    context = p["context"][a:b].replace("\n", " ")
                    yield {"source": "covidqa", "title": title, "context": context, "held_out": False, "qas": qas}


def cpgqa(repositories):
    by = defaultdict(list)
    for d in json.loads(Repository(repositories, "mmahbub/cpgQA").read("dataset/cpgQA-v1.0.json"))["data"]:
        p = d["paragraphs"]
        q, a = p["qas"][0]["question"].strip(), p["qas"][0]["answers"][0]["text"].strip(" .")
        if a and len(a) < LONGEST and a in p["context"]:
            by[d["title"], p["context"]].append({"q": q, "a": a, "start": p["context"].find(a)})
    for (title, context), qas in by.items():
        yield {"source": "cpgqa", "title": title, "context": context, "held_out": False, "qas": qas}


def fairytales(repositories):
    repo = Repository(repositories, "uci-soe/FairytaleQAData")
    paths = [p for _, p in repo.list("data-by-train-split")]
    texts = dict(repo.read_many([p for p in paths if re.search(r"/(questions|section-stories)/(train|val)/", p)]))
    for path, text in texts.items():
        if "/questions/" not in path:
            continue
        story = path.replace("/questions/", "/section-stories/").replace("-questions.csv", "-story.csv")
        sections = {r["section"]: r["text"] for r in csv.DictReader(io.StringIO(texts.get(story, "")))}
        by = defaultdict(list)
        for r in csv.DictReader(io.StringIO(text)):
            section, a = sections.get(r.get("cor_section")), (r.get("answer1") or "").strip().rstrip(".")
            if r.get("ex-or-im1") == "explicit" and section and a:
                section = re.sub(r" ([.,;:?!])", r"\1", section)
                start = section.lower().find(a.lower())
                if start >= 0:
                    by[section].append(
                        {"q": r["question"].strip(), "a": section[start : start + len(a)], "start": start}
                    )
        for section, qas in by.items():
            yield {
                "source": "fairytaleqa",
                "title": os.path.basename(path)[:-14].replace("-", " "),
                "context": section,
                "held_out": False,
                "qas": qas,
            }


QUESTIONS = squadshifts, qamr, qed, policyqa, fairytales, naturalquestions, timeqa, covidqa, cpgqa


def main():
    repositories, out = sys.argv[1:3]
    os.makedirs(out, exist_ok=True)
    for name, rows in (
        ("qa", (r for f in QUESTIONS for r in f(repositories))),
        ("books", books(repositories)),
        ("wiki", wiki(repositories)),
    ):
        count = characters = questions = 0
        with open(f"{out}/{name}.jsonl", "w") as f:
            for r in rows:
                f.write(json.dumps(r, ensure_ascii=False) + "\n")
                count += 1
                characters += len(r.get("text") or r["context"])
                questions += len(r.get("qas", ()))
        print(f"{name}: {count} documents, {characters} characters, {questions} questions", flush=True)


if __name__ == "__main__":
    main()
