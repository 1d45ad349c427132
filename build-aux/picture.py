#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Draw the picture of README.md: a document in pages, the kept passages on them, and the answer.

    Q="What is the code word for operation Kestrel?"
    ./gemkv ask --json --schedule stream -f data/prophets-mantle.txt "$Q" >answer.json
    build-aux/picture.py answer.json data/prophets-mantle.txt "$Q" >data/picture.svg

answer.json must be about one document, in plain text.  Needs the standard library only."""
import json
import sys
from xml.sax.saxutils import escape

PER_LINE, LINES, COLUMNS = 84, 24, 36                   # bytes of a line, lines of a page, pages in a row
LINE, PAGE_W = 1.6, 21                                  # height of a line, width of a page
PAGE_H = LINES * LINE + 5
STEP_X, STEP_Y = 25.6, PAGE_H + 7
WIDTH, LEFT, TOP = 1000, 40, 136
PAPER, INK, FAINT, MARK, BEST = "#fffdf8", "#2b2a33", "#77747f", "#f4a63a", "#d1380f"
FONT = "font-family='Georgia, \"DejaVu Serif\", serif'"
SANS = "font-family='Helvetica, Arial, \"DejaVu Sans\", sans-serif'"

answer = json.load(open(sys.argv[1], encoding="utf-8"))
text = open(sys.argv[2], "rb").read()
question = sys.argv[3]
kept = sorted(answer["kept"], key=lambda k: k["score"])
low, high = kept[0]["score"], kept[-1]["score"]
pages = -(-len(text) // (PER_LINE * LINES))
rows = -(-pages // COLUMNS)
bottom = TOP + rows * STEP_Y
out = []


def put(s, *a):
    out.append(s % a)


def label(x, y, size, fill, s, font=SANS, more=""):
    put("<text x='%g' y='%g' font-size='%g' fill='%s' %s %s>%s</text>", x, y, size, fill, font, more, escape(s))


def page(n):
    return LEFT + n % COLUMNS * STEP_X, TOP + n // COLUMNS * STEP_Y


def pieces(k):
    """Rectangles (x, y, width) of the lines of a passage; the least width can still be seen."""
    at = k["start"]
    while at < k["end"]:
        n, line, byte = at // (PER_LINE * LINES), at // PER_LINE % LINES, at % PER_LINE
        end = min(k["end"], at - byte + PER_LINE)
        x, y = page(n)
        scale = (PAGE_W - 4) / PER_LINE
        yield x + 2 + byte * scale, y + 2.5 + line * LINE, max(3, (end - at) * scale)
        at = end


def words(start, end):
    return " ".join(text[start:end].decode("utf-8", "ignore").split())


put("<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' role='img'>", WIDTH, bottom + 178)
put("<title>%s</title>", escape("The passages that gemkv kept of a document, and its answer"))
put("<defs><pattern id='t' width='%g' height='%g' patternUnits='userSpaceOnUse'>"
    "<rect width='%g' height='.7' y='.4' fill='#cfcbc2'/></pattern></defs>", WIDTH, LINE, WIDTH)
put("<rect width='%d' height='%d' rx='14' fill='#f3f0e8'/>", WIDTH, bottom + 178)
label(LEFT, 50, 17, FAINT, "The question")
label(LEFT, 82, 27, INK, "“%s”" % question, FONT)
label(LEFT, 117, 15, FAINT, "The document: {:,} tokens, drawn as {} pages. gemkv kept {:,} of them, by score:".format(
    answer["tokens"]["document"], pages, answer["tokens"]["kept"]))
put("<linearGradient id='g'><stop stop-color='%s' stop-opacity='.45'/><stop offset='1' stop-color='%s'/></linearGradient>",
    MARK, MARK)
put("<rect x='800' y='106' width='60' height='11' rx='2' fill='url(#g)'/>")
put("<rect x='866' y='106' width='20' height='11' rx='2' fill='%s'/>", BEST)
label(894, 117, 15, FAINT, "best")

for n in range(pages):
    x, y = page(n)
    lines = LINES if n < pages - 1 else -(-(len(text) - n * PER_LINE * LINES) // PER_LINE)
    put("<rect x='%g' y='%g' width='%g' height='%g' rx='1.5' fill='%s' stroke='#ddd8cb' stroke-width='.6'/>",
        x, y, PAGE_W, PAGE_H, PAPER)
    put("<g transform='translate(%g %g)'><rect width='%g' height='%g' fill='url(#t)'/></g>",
        x + 2, y + 2.5, PAGE_W - 4, lines * LINE)
for k in kept[:-1]:
    shade = .45 + .55 * (k["score"] - low) / max(kept[-2]["score"] - low, 1e-9)
    for x, y, w in pieces(k):
        put("<rect x='%.1f' y='%.1f' width='%.1f' height='3' rx='1' fill='%s' opacity='%.2f'/>", x, y - .7, w, MARK, shade)
best = kept[-1]
spots = list(pieces(best))
for x, y, w in spots:
    put("<rect x='%.1f' y='%.1f' width='%.1f' height='4' rx='1' fill='%s'/>", x, y - 1.2, w, BEST)

# The page with the best passage, and a line from it to the passage's text.
x, y = page(best["start"] // (PER_LINE * LINES))
put("<rect x='%g' y='%g' width='%g' height='%g' rx='3' fill='none' stroke='%s' stroke-width='2'/>",
    x - 2, y - 2, PAGE_W + 4, PAGE_H + 4, BEST)
card = bottom + 16
put("<path d='M%g %g V%g' stroke='%s' stroke-width='2' fill='none'/>", x + PAGE_W + 2, y + PAGE_H, card, BEST)
put("<rect x='%g' y='%g' width='600' height='128' rx='8' fill='%s' stroke='%s' stroke-width='2'/>", LEFT, card, PAPER, BEST)
label(LEFT + 20, card + 30, 14, BEST, "The passage with the highest score, {:.0f} (the next best has {:.0f}), on page {}".format(
    high, kept[-2]["score"], best["start"] // (PER_LINE * LINES) + 1))
start, end = best["start"], best["end"]
while not text[start:start + 1].isalnum():
    start += 1
before, after = words(start - 150, start), words(end, end + 120)
shown = words(start, end)
first = shown if len(shown) < 60 else shown[:60].rsplit(" ", 1)[0]
more = shown[len(first):].strip()[:60]
after = after[:max(0, 58 - len(more))].rsplit(" ", 1)[0] + " …"
put("<rect x='%g' y='%g' width='572' height='24' rx='3' fill='%s' opacity='.3'/>", LEFT + 16, card + 65, MARK)
for row, line in enumerate(([("… " + before[-60:].split(" ", 1)[-1], FAINT)], [(first, INK)], [(more, INK), (after, FAINT)])):
    put("<text x='%g' y='%g' font-size='15' %s>%s</text>", LEFT + 22, card + 57 + 25 * row, FONT,
        " ".join("<tspan fill='%s'>%s</tspan>" % (fill, escape(s)) for s, fill in line if s))

put("<path d='M655 %g h30 m-8 -7 l8 7 l-8 7' stroke='%s' stroke-width='2.5' fill='none'/>", card + 64, INK)
label(702, card + 30, 17, FAINT, "The answer")
label(702, card + 68, 29, INK, "“%s”" % answer["answer"].strip().rstrip("."), FONT)
label(704, card + 97, 14, FAINT, "written from %.0f %% of the text," % (100 * answer["tokens"]["kept"] / answer["tokens"]["prompt"]))
label(704, card + 117, 14, FAINT, "in {:.0f} MB of memory".format(answer["memory"]["peak"] / 1e6))
put("</svg>")
print("\n".join(out))
