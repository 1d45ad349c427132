#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""input-facts.py GEMKV MODEL FOLDER - twenty facts in a file of each kind, and whether gemkv reads them

Writes files with other people's writers (python-docx, openpyxl, python-pptx, reportlab, odfpy by way of pandoc, ...)
into FOLDER, reads each with "gemkv select --method full", and looks for what a person sees on the page.  Prints a
table.  Needs: pip install python-docx openpyxl python-pptx reportlab pillow; pandoc, pdftotext, tesseract.
"""
import datetime
import mailbox
import os
import re
import subprocess
import sys
from email.message import EmailMessage

gemkv, model, folder = sys.argv[1:4]
os.makedirs(folder, exist_ok=True)
os.chdir(folder)

SITES = [("Leeds", 388, 1250.5, "2017-03-04"), ("York", 412, 990.0, "2018-11-30"), ("Hull", 57, 12345.25, "2009-01-15"),
         ("Émilville", 1024, 8.75, "2020-02-29")]
HEAD = ("Site", "Staff", "Cost", "Opened")
TITLE, AUTHOR = "Annual report of Northwind", "Zoë Müller"
LINES = ["Revenue grew to 12.4 million €.", "The vault code is 7391.", "Contact: desk@example.org, phone 0113 496 0000."]
STEPS = ["Close the valve", "Read the meter"]


def table_facts(between):
    """Each row in one line, in order: four facts a row."""
    return [("row %s: %s" % (s[0], HEAD[i]), between(s, i)) for s in SITES for i in range(4)]


def in_row(s, i):
    value = ["%s", "%d", "%s", "%s"][i] % s[i]
    return re.escape(s[0]) + r"[^\n]*" * (i > 0) + (re.escape(value) if i else "")


def behind_header(s, i):
    return re.escape(s[0]) + (r"[^\n]*%s: " % HEAD[i] + re.escape(str(s[i]).removesuffix(".0")) if i else "")


PROSE = [("title", re.escape(TITLE)), ("author", AUTHOR)] + [("line", re.escape(x)) for x in LINES]
LIST = [("step %d" % (i + 1), r"%d\.\s+%s" % (i + 1, s)) for i, s in enumerate(STEPS)]
MARKDOWN = "---\ntitle: %s\nauthor: %s\n---\n\n%s\n\n%s\n\n| %s |\n|---|---|---|---|\n%s\n\nThe last word[^1] is 10^6^ m.\n\n[^1]: A note of 1848.\n" % (
    TITLE, AUTHOR, "\n\n".join(LINES), "\n".join("%d. %s" % (i + 1, s) for i, s in enumerate(STEPS)), " | ".join(HEAD),
    "\n".join("| %s | %d | %s | %s |" % s for s in SITES))
NOTES = [("note", "A note of 1848"), ("power", r"10\^6")]


def facts(*parts):
    """The first twenty."""
    return [f for p in parts for f in p][:20]


def by_pandoc(to):
    def write(name):
        with open("source.md", "w") as f:
            f.write(MARKDOWN)
        subprocess.run(["pandoc", "-s", "source.md", "-o", name] + to, check=True)
    return write


def docx(name):
    import docx
    d = docx.Document()
    d.sections[0].header.paragraphs[0].text = TITLE
    d.sections[0].footer.paragraphs[0].text = AUTHOR
    for x in LINES:
        d.add_paragraph(x)
    for x in STEPS:
        d.add_paragraph(x, style="List Number")
    t = d.add_table(rows=0, cols=4)
    for row in [HEAD] + SITES:
        for cell, value in zip(t.add_row().cells, row):
            cell.text = str(value)
    d.save(name)


def xlsx(name):
    import openpyxl
    w = openpyxl.Workbook()
    s = w.active
    s.title = "Sites"
    s["A1"] = TITLE
    s.append([])
    s.append(HEAD)
    for site in SITES:
        s.append([site[0], site[1], site[2], datetime.date.fromisoformat(site[3])])
    two = w.create_sheet("Notes")
    two.append([AUTHOR])
    two.append([LINES[0]])
    two["A3"] = 0.256
    two["A3"].number_format = "0.0%"
    w.save(name)


def pptx(name):
    import pptx
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE
    p = pptx.Presentation()
    s = p.slides.add_slide(p.slide_layouts[1])
    s.shapes.title.text = TITLE
    s.placeholders[1].text = AUTHOR + "\n" + LINES[1]
    s.notes_slide.notes_text_frame.text = LINES[2]
    s = p.slides.add_slide(p.slide_layouts[5])
    t = s.shapes.add_table(5, 4, 0, 0, 5000000, 2000000).table
    for i, row in enumerate([HEAD] + SITES):
        for k, value in enumerate(row):
            t.cell(i, k).text = str(value)
    c = CategoryChartData()
    c.categories = ["East", "West"]
    c.add_series("Sales", (19.2, 21.4))
    s.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, 3000000, 3000000, c)
    p.save(name)


def pdf(name):
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Table
    style = getSampleStyleSheet()
    p = [Paragraph(x, style["Normal"]) for x in [TITLE, AUTHOR] + LINES]
    p += [PageBreak(), Table([[str(v) for v in row] for row in [HEAD] + SITES])]
    SimpleDocTemplate(name).build(p)


def scan(name):
    from PIL import Image, ImageDraw, ImageFont
    picture = Image.new("L", (2000, 2200), 255)
    draw = ImageDraw.Draw(picture)
    font = ImageFont.truetype("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", 44)
    for i, x in enumerate([TITLE] + LINES[1:] + ["   ".join(str(v) for v in s) for s in SITES[:3]]):
        draw.text((100, 100 + 90 * i), x, fill=0, font=font)
    picture.save(name, resolution=200)


def csv(name):
    with open(name, "w", encoding="latin-1") as f:
        f.write(";".join(HEAD + ("Lead",)) + "\n")
        for s in SITES:
            f.write(";".join(str(v) for v in s) + ';"Ann ""A;"""\n')


def mail(name):
    box = mailbox.mbox(name)
    for x in LINES:
        m = EmailMessage()
        m["From"], m["To"], m["Subject"] = AUTHOR + " <z@example.org>", "bob@example.org", TITLE
        m["Date"] = "Mon, 04 Mar 2019 10:00:00 +0000"
        m.set_content(x)
        m.add_alternative("<p>other</p>", subtype="html")
        box.add(m)
    m = EmailMessage()
    m["From"], m["Subject"] = "x@example.org", "Sites"
    m.set_content("<table>%s</table>" % "".join("<tr>%s</tr>" % "".join("<td>%s</td>" % v for v in s) for s in SITES),
                  subtype="html", cte="base64")
    box.add(m)
    box.flush()


def text16(name):
    with open(name, "w", encoding="utf-16") as f:
        f.write(MARKDOWN)


def xz(name):
    by_pandoc([])("inner.html")
    with open(name, "wb") as f:
        subprocess.run(["xz", "-c", "inner.html"], stdout=f, check=True)


TABLE = table_facts(in_row)
FILES = [
    ("a.pdf", pdf, [], facts(PROSE, TABLE)),
    ("scan.tiff", scan, ["--ocr"], facts(PROSE[:1], PROSE[3:], [f for f in TABLE if f[0].split(":")[0] != "row Émilville"])),
    ("a.docx", docx, [], facts(PROSE, LIST, TABLE)),
    ("b.docx", by_pandoc([]), [], facts(NOTES, PROSE, LIST, TABLE)),
    ("a.odt", by_pandoc([]), [], facts(NOTES, PROSE, LIST, TABLE)),
    ("a.epub", by_pandoc([]), [], facts(NOTES, PROSE, LIST, TABLE)),
    ("a.html", by_pandoc([]), [], facts(NOTES, PROSE, LIST, TABLE)),
    ("a.rtf", by_pandoc([]), [], facts(NOTES, PROSE, LIST, TABLE)),
    ("a.pptx", pptx, [], facts(PROSE[:2], PROSE[3:], [("chart", "East 19.2; West 21.4")], TABLE)),
    ("a.xlsx", xlsx, [], facts(PROSE[:3], [("percent", r"25\.6%")], table_facts(behind_header))),
    ("a.csv", csv, [], facts(table_facts(lambda s, i: behind_header(s, i) if i != 2 else re.escape(s[0]) + r".*Cost: %s" % s[2]),
                             [("lead", r'Lead: Ann "A;"')] * 4)),
    ("a.mbox", mail, [], facts(PROSE, [("date", "Mon, 04 Mar 2019")], TABLE)),
    ("utf16.md", text16, [], facts(PROSE, LIST, [("row %s" % s[0], r"\| %s \| %d \| %s \| %s \|" % s) for s in SITES] * 4)),
    ("a.html.xz", xz, [], facts(NOTES, PROSE, LIST, TABLE)),
]

missed = 0
for name, write, options, wanted in FILES:
    if os.path.exists(name):
        os.unlink(name)
    write(name)
    run = subprocess.run([gemkv, "select", "-q", "-m", model, "--method", "full", "-f", name] + options + ["q"],
                         capture_output=True, text=True)
    lost = [what for what, pattern in wanted if not re.search(pattern, run.stdout)]
    missed += len(lost)
    print("%-12s %2d of %d%s" % (name, len(wanted) - len(lost), len(wanted), "; lost: " + ", ".join(lost) if lost else ""))
    if run.returncode:
        print(run.stderr)
sys.exit(missed > 0)
