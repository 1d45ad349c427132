# SPDX-License-Identifier: BSD-2-Clause
"""Writes small office files and books, by hand, into the present folder."""
import zipfile
def make(name, members):
    with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as f:
        for n, t in members:
            f.writestr(n, t, zipfile.ZIP_STORED if n == 'mimetype' else None)
W = 'xmlns:w="w" xmlns:r="r" xmlns:m="m" xmlns:a="a" xmlns:c="c" xmlns:p="p"'
def rels(*rows):
    return "<Relationships>" + "".join('<Relationship Id="%s" Type="http://x/%s" Target="%s"/>' % r for r in rows) + "</Relationships>"
def p(text, inside=""):
    return "<w:p>%s<w:r><w:t>%s</w:t></w:r></w:p>" % (inside, text)
def item(text, level):
    return p(text, '<w:pPr><w:tabs><w:tab/></w:tabs><w:numPr><w:ilvl w:val="%d"/><w:numId w:val="7"/></w:numPr></w:pPr>' % level)
body = (p("Report &amp; plan") + item("one", 0) + item("two", 0) + item("below", 1) + item("three", 0) + item("again", 1) + item("unnumbered", 2)
    + p("by style", '<w:pPr><w:pStyle w:val="Dots"/></w:pPr>')
    + '<w:p><w:r><w:t>10</w:t></w:r><w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>6</w:t></w:r><w:r><w:tab/><w:t>m</w:t><w:noBreakHyphen/><w:t>x</w:t></w:r><w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:footnoteReference w:id="2"/></w:r><w:r><w:t>.</w:t></w:r></w:p>'
    + "<w:tbl><w:tr><w:tc>" + p("Year") + "</w:tc><w:tc>" + p("Staff") + "</w:tc></w:tr><w:tr><w:tc>" + p("2018") + "</w:tc><w:tc>" + p("412") + p("people</w:t><w:br/><w:t>in</w:t><w:tab/><w:t>all") + "</w:tc></w:tr></w:tbl>"
    + "<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom><w:r><w:br w:type='page'/></w:r></w:p>"
    + '<w:p><w:r><mc:AlternateContent xmlns:mc="mc"><mc:Choice>' + "<w:t>box</w:t>" + "</mc:Choice><mc:Fallback><w:t>box</w:t></mc:Fallback></mc:AlternateContent></w:r></w:p>"
    + '<w:p><c:chart r:id="rId9"/></w:p>')
numbering = ('<w:numbering %s><w:abstractNum w:abstractNumId="3"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%%1."/></w:lvl>'
    '<w:lvl w:ilvl="1"><w:start w:val="4"/><w:lvlText w:val="%%1.%%2"/></w:lvl><w:lvl w:ilvl="2"><w:numFmt w:val="none"/></w:lvl></w:abstractNum><w:abstractNum w:abstractNumId="4"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum>'
    '<w:num w:numId="7"><w:abstractNumId w:val="3"/></w:num><w:num w:numId="8"><w:abstractNumId w:val="4"/></w:num></w:numbering>') % W
chart = ('<c:chartSpace %s><c:title><a:t>Sales by region</a:t></c:title><c:ser><c:tx><c:v>2019</c:v></c:tx><c:cat><c:v>East</c:v><c:v>West</c:v></c:cat>'
    '<c:val><c:v>19.2</c:v><c:v>21.4</c:v></c:val></c:ser></c:chartSpace>') % W
make("a.docx", [("[Content_Types].xml", "<x/>"), ("word/document.xml", "<w:document %s><w:body>%s</w:body></w:document>" % (W, body)),
    ("word/_rels/document.xml.rels", rels(("rId1", "header", "header1.xml"), ("rId2", "footer", "footer1.xml"), ("rId3", "footnotes", "footnotes.xml"), ("rId4", "endnotes", "endnotes.xml"), ("rId5", "comments", "comments.xml"), ("rId9", "chart", "charts/chart1.xml")).replace("</R", '<Relationship Id="x" Type="http://x/header" Target="header1.xml" TargetMode="External"/></R')),
    ("word/header1.xml", "<w:hdr %s>%s</w:hdr>" % (W, p("The head"))), ("word/footer1.xml", "<w:ftr %s>%s</w:ftr>" % (W, p("The foot"))),
    ("word/footnotes.xml", '<w:footnotes %s><w:footnote w:id="0">%s</w:footnote><w:footnote w:id="2">%s</w:footnote></w:footnotes>' % (W, "<w:p/>", p("The note."))),
    ("word/endnotes.xml", '<w:endnotes %s><w:endnote w:id="2">%s</w:endnote></w:endnotes>' % (W, p("The end note."))),
    ("word/comments.xml", "<w:comments %s><w:comment>%s</w:comment></w:comments>" % (W, p("A comment."))),
    ("word/charts/chart1.xml", chart), ("word/numbering.xml", numbering),
    ("word/styles.xml", '<w:styles %s><w:style w:styleId="Dots"><w:pPr><w:numPr><w:numId w:val="8"/></w:numPr></w:pPr></w:style></w:styles>' % W)])
slide = '<p:sld %s><a:p><a:r><a:t>%%s</a:t></a:r></a:p></p:sld>' % W
make("a.pptx", [("[Content_Types].xml", "<x/>"), ("ppt/presentation.xml", '<p:presentation %s><p:sldId id="1" r:id="b"/><p:sldId id="2" r:id="a"/></p:presentation>' % W),
    ("ppt/_rels/presentation.xml.rels", rels(("a", "slide", "slides/slide1.xml"), ("b", "slide", "slides/slide2.xml"))),
    ("ppt/slides/slide1.xml", slide % "Last"), ("ppt/slides/slide2.xml", slide % "First"),
    ("ppt/slides/_rels/slide2.xml.rels", rels(("n", "notesSlide", "../notesSlides/n.xml"))), ("ppt/notesSlides/n.xml", slide % "Speak")])
sheet = ('<worksheet><row r="1"><c r="A1" t="s"><v>0</v></c></row><row r="3"><c r="A3" t="s"><v>1</v></c><c r="B3" t="s"><v>2</v></c><c r="C3" t="inlineStr"><is><t>Share</t></is></c><c r="D3" t="inlineStr"><is><t>Paid</t></is></c></row>'
    '<row r="4"><c r="A4" t="inlineStr"><is><t>Ann</t></is></c><c r="B4" s="1"><v>29358</v></c><c r="C4" s="2"><v>0.2561</v></c><c r="D4" s="3"><v>-51234.5</v></c></row>'
    '<row r="5"><c r="A5" t="inlineStr"><is><t>Bob</t></is></c><c r="B5" s="4"><v>29358.5</v></c><c r="C5"><f>A1+B1</f></c><c r="D5" t="b"><v>1</v></c></row><row r="6"><c r="A6" s="1"><v>1e300</v></c><c r="B6" s="4"><v>inf</v></c></row></worksheet>')
make("a.xlsx", [("[Content_Types].xml", "<x/>"), ("xl/workbook.xml", '<workbook xmlns:r="r"><sheets><sheet name="Staff" r:id="a"/><sheet name="Empty" r:id="b"/></sheets></workbook>'),
    ("xl/_rels/workbook.xml.rels", rels(("a", "worksheet", "worksheets/sheet1.xml"), ("b", "worksheet", "/xl/worksheets/sheet2.xml"))),
    ("xl/sharedStrings.xml", "<sst><si><t>People</t></si><si><r><t>Na</t></r><r><t>me</t></r></si><si><t>Born</t></si></sst>"),
    ("xl/styles.xml", '<styleSheet><numFmts><numFmt numFmtId="170" formatCode="&quot;€&quot;#,##0.00;[Red]-0"/><numFmt numFmtId="171" formatCode="dd/mm/yyyy\\ hh:mm"/></numFmts><cellStyleXfs><xf numFmtId="9"/></cellStyleXfs>'
     '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="10"/><xf numFmtId="170"/><xf numFmtId="171"/></cellXfs></styleSheet>'),
    ("xl/worksheets/sheet1.xml", sheet), ("xl/worksheets/sheet2.xml", '<worksheet><row r="1"><c r="B1"><v>7</v></c></row></worksheet>')])
make("b.xlsx", [("xl/workbook.xml", '<workbook xmlns:r="r"><workbookPr date1904="1"/><sheet name="S" r:id="a"/><sheet name="T" r:id="b"/></workbook>'),
    ("xl/_rels/workbook.xml.rels", rels(("a", "worksheet", "a.xml"), ("b", "worksheet", "b.xml"))),
    ("xl/styles.xml", '<styleSheet><numFmt numFmtId="170" formatCode="[h]:mm"/><numFmt numFmtId="171" formatCode="_-* #,##0_-"/><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="21"/><xf numFmtId="170"/><xf numFmtId="171"/></cellXfs></styleSheet>'),
    ("xl/a.xml", '<worksheet><row><c t="inlineStr"><is><t>Tokyo</t><rPh><t>TOKYO</t></rPh></is></c><c t="inlineStr"><is><t>To</t></is></c></row>'
     '<row r="2"><c s="1"><v>27895.999999</v></c><c s="1"><v>27896.5</v></c><c s="2"><v>1.50001</v></c><c s="3"><v>1.5</v></c><c s="4"><v>1234</v></c><c><f>A1</f></c><c/></row></worksheet>'),
    ("xl/b.xml", '<worksheet><row r="2"><c><v>7</v></c></row></worksheet>')])
with zipfile.ZipFile("crc.docx", "w") as f:
    f.writestr("word/document.xml", "<w:document %s>%s</w:document>" % (W, p("A letter is right")))
with open("crc.docx", "r+b") as f:
    data = f.read().replace(b"right", b"wrong")
    f.seek(0)
    f.write(data)
O = 'xmlns:text="text" xmlns:table="table" xmlns:office="office" xmlns:style="style" xmlns:draw="draw"'
make("a.odt", [("mimetype", "application/vnd.oasis.opendocument.text"), ("content.xml", ('<office:document-content %s><office:automatic-styles><style:style style:name="T1"><style:text-properties style:text-position="super 58%%"/></style:style>'
    '<text:list-style style:name="L1"><text:list-level-style-number text:level="1"/><text:list-level-style-bullet text:level="2"/></text:list-style></office:automatic-styles>'
    '<text:h>Plan</text:h>\n<text:p>10<text:span text:style-name="T1">6</text:span>  m<text:tab/>a<text:s text:c="3"/>b<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Why.</text:p></text:note-body></text:note></text:p>'
    '<text:list text:style-name="L1"><text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>dot</text:p></text:list-item></text:list></text:list-item><text:list-item><text:p>two</text:p></text:list-item></text:list>'
    '<table:table><table:table-row><table:table-cell><text:p>Year</text:p></table:table-cell><table:table-cell><text:p>Staff</text:p></table:table-cell></table:table-row></table:table><text:soft-page-break/><text:p>Next page</text:p></office:document-content>') % O)])
make("a.odp", [("mimetype", "application/vnd.oasis.opendocument.presentation"), ("content.xml", ('<x %s><style:style style:name="T2"><style:text-properties style:text-position="33%% 58%%"/></style:style><style:style style:name="T3"><style:text-properties style:text-position="-33%% 58%%"/></style:style>'
    '<draw:page draw:name="p1"><text:p>One 10<text:span text:style-name="T2">6</text:span> H<text:span text:style-name="T3">2</text:span>O</text:p></draw:page><draw:page draw:name="p2"><text:p>Two</text:p></draw:page></x>') % O)])
make("a.ods", [("mimetype", "application/vnd.oasis.opendocument.spreadsheet"), ("content.xml", ('<x %s><table:table table:name="S1"><table:table-row><table:table-cell><text:p>Name</text:p></table:table-cell><table:table-cell><text:p>Fee</text:p></table:table-cell></table:table-row>'
    '<table:table-row table:number-rows-repeated="2"><table:table-cell/></table:table-row><table:table-row><table:table-cell><office:annotation><text:p>Said</text:p></office:annotation><text:p>Ann</text:p><text:p/><text:p>Lee</text:p></table:table-cell><table:table-cell table:number-columns-repeated="2"><text:p>5 €</text:p></table:table-cell><table:table-cell><text:p>last</text:p></table:table-cell></table:table-row>'
    '<table:table-row table:number-rows-repeated="1048570"><table:table-cell table:number-columns-repeated="16000"/></table:table-row></table:table><table:table table:name="S2"/></x>') % O)])
make("a.epub", [("mimetype", "application/epub+zip"), ("META-INF/container.xml", '<container><rootfile full-path="OPS/b.opf"/></container>'),
    ("OPS/b.opf", '<package><item id="x" href="two%20.xhtml"/><item id="y" href="../one.xhtml#top"/><itemref idref="y"/><itemref idref="x"/></package>'),
    ("OPS/two .xhtml", "<html><title>t</title><body><p>Second&nbsp;chapter</p></body></html>"), ("one.xhtml", "<html><head><title>t</title></head><body><h1>First</h1><script>no()</script><pre>k  k</pre><ol start='3'><li>c</li></ol></body></html>")])
make("laughs.docx", [("word/document.xml", '<!DOCTYPE x [<!ENTITY a "ha ha"><!ENTITY b "&a;&a;&a;"><!ENTITY c SYSTEM "file:///etc/passwd">]><w:document %s><w:p><w:t>x&b;&c;y</w:t></w:p></w:document>' % W)])
make("empty.docx", [("word/document.xml", "<w:document %s><w:body/></w:document>" % W)])
make("pages.docx", [("word/document.xml", "<w:document %s>%s<w:p><w:r><w:br w:type='page'/></w:r></w:p><w:p><w:r><w:lastRenderedPageBreak/><w:t>Two</w:t></w:r></w:p></w:document>" % (W, p("One")))])
make("none.docx", [("word/document.xml", "")])
make("deep.docx", [("word/document.xml", ("<w:tbl %s>" % W) + "<w:tr><w:tc>" * 100 + "<w:p><w:t>deep</w:t></w:p>" + "</w:tc></w:tr>" * 100 + "</w:tbl>")])
make("late.docx", [("mimetype", "more than is looked at " * 50000), ("word/document.xml", "<w:document %s>%s</w:document>" % (W, p("Its name is at the end only")))])
