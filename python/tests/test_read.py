# SPDX-License-Identifier: BSD-2-Clause
"""Files as text."""

import bz2
import gzip
import lzma
import os
import shutil
import tempfile
import unittest
from pathlib import Path

from gemkv import DocumentError, FileError
from gemkv._passages import Text, widen
from gemkv._read import html_text, read


def pdf(pages: list[str]) -> bytes:
    """A PDF with a line of text on each page."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>"]
    kids = " ".join(f"{4 + 2 * i} 0 R" for i in range(len(pages)))
    objects.append(f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode())
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for i, line in enumerate(pages):
        stream = f"BT /F1 12 Tf 72 700 Td ({line}) Tj ET".encode() if line else b""
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * i} 0 R "
            f"/Resources << /Font << /F1 3 0 R >> >> >>".encode()
        )
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
    out, at = b"%PDF-1.4\n", []
    for i, body in enumerate(objects, 1):
        at.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (i, body)
    table = b"".join(b"%010d 00000 n \n" % n for n in at)
    n = len(objects) + 1
    return out + b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        n, table, n, len(out))


class Files(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, name: str, data: bytes) -> Path:
        path = self.folder / name
        path.write_bytes(data)
        return path

    def read(self, name: str, data: bytes, encoding: str | None = None) -> str:
        return b"".join(read(self.file(name, data), encoding)).decode()

    def test_plain(self) -> None:
        """plain text is read as it is, in gzip, bzip2 and xz, too, by content"""
        text = "Der Fuß\nund mehr\n" * 3
        data = text.encode()
        two = gzip.compress(data[:9]) + gzip.compress(data[9:])
        for packed in (data, gzip.compress(data), two, bz2.compress(data), lzma.compress(data)):
            self.assertEqual(self.read("x", packed), text)

    def test_encodings(self) -> None:
        """byte order marks say what the encoding is, and are no text; others are named"""
        text = "Der Fuß\n"
        for codec in ("utf-8-sig", "utf-16"):
            self.assertEqual(self.read("x", text.encode(codec)), text)
        self.assertEqual(self.read("x", text.encode("latin-1"), "latin-1"), text)
        with self.assertRaisesRegex(DocumentError, "x: not text in utf-8"):
            self.read("x", text.encode("latin-1"), "utf-8")
        with self.assertRaisesRegex(DocumentError, "no encoding 'klingon'"):
            self.read("x", b"a", "klingon")

    def test_refused(self) -> None:
        """damaged and foreign files are errors that say what to do"""
        for data, text in (
            (gzip.compress(b"a" * 999)[:-9], "damaged data"),
            (gzip.compress(os.urandom(99))[:15] + b"\xff" * 20, "damaged data"),
            (b"PK\x03\x04....", "ZIP archive"),
            (b"GGUF....", "GGUF model"),
            (b"\x28\xb5\x2f\xfd....", "zstd"),
        ):
            with self.assertRaisesRegex(DocumentError, text):
                self.read("x", data)
        for name in ("nothing", "", "a\0b"):
            with self.assertRaisesRegex(FileError, "cannot read"):
                list(read(str(self.folder) + "/" + name))

    def test_html(self) -> None:
        """of a page only what is read is text"""
        page = (
            "<!DOCTYPE html><html><head><title>T</title><style>p {}</style></head><body><p>One &amp; <b>two</b>.\n"
            "<p>Three<br>four<script>var x = '<p>no</p>';</script><pre>a\n  b</pre><table><tr><td>1<td>2</table>"
        )
        want = "T\n\nOne & two.\n\nThree\nfour\n\na\n  b\n\n1\t2\n"
        self.assertEqual(html_text(page), want)
        self.assertEqual(self.read("x", page.encode()), want)
        self.assertEqual(self.read("x.html.gz", gzip.compress(b"<p>a</p>")), "a\n")

    @unittest.skipUnless(shutil.which("pdftotext"), "no pdftotext")
    def test_pdf(self) -> None:
        """a PDF is read page by page; one without text is refused"""
        pages = self.read("-x.pdf", pdf(["First page", "Second page"])).split("\f")
        self.assertEqual([p.strip() for p in pages], ["First page", "Second page", ""])
        with self.assertRaisesRegex(DocumentError, "images; run ocrmypdf"):
            self.read("x.pdf", pdf(["", ""]))
        with self.assertRaisesRegex(DocumentError, "pdftotext could not convert it"):
            self.read("x.pdf", b"%PDF-1.4\nnonsense")

    @unittest.skipIf(shutil.which("nonsense"), "")
    def test_no_converter(self) -> None:
        """a converter that is not installed is named, with its package"""
        path = os.environ["PATH"]
        os.environ["PATH"] = str(self.folder)
        try:
            with self.assertRaisesRegex(DocumentError, "needs pdftotext, .* apt install poppler-utils"):
                self.read("x", b"%PDF-1.4\n")
        finally:
            os.environ["PATH"] = path


class Passages(unittest.TestCase):
    TEXT = (
        "First words. The génie is in\nthe bottle! Was it?\n\nA heading\n\nName   Age   Town\nAnn    31    Rome\n"
        "Bob    45    Oslo\n\n- one item\n- another item\n\fSecond page here. It ends\n"
    )

    def widened(self, part: str) -> str:
        text = Text(self.TEXT.encode())
        at = self.TEXT.index(part)
        start, end = text.sentences(at, at + len(part))
        return self.TEXT[start:end]

    def test_sentences(self) -> None:
        """passages become whole sentences, rows, items"""
        for part, want in (
            ("nie is", "The génie is in\nthe bottle!"),
            ("First", "First words."),
            ("words. The", "First words. The génie is in\nthe bottle!"),
            ("it?", "Was it?"),
            ("head", "A heading"),
            ("31", "Ann    31    Rome"),
            ("45    Os", "Bob    45    Oslo"),
            ("other", "- another item"),
            ("page", "Second page here."),
            ("ends", "It ends"),
            ("\n\n", ""),
        ):
            with self.subTest(part=part):
                self.assertEqual(self.widened(part), want)

    def test_far(self) -> None:
        """text without sentences is widened to words, and not far"""
        text = "word " * 10000
        start, end = Text(text.encode()).sentences(20002, 20003)
        self.assertLess(end - start, 1300)
        self.assertFalse(text[start:end].startswith(" "))
        one = "x" * 10000
        self.assertEqual(Text(one.encode()).sentences(5000, 5001), (5000, 5001))

    def test_places(self) -> None:
        """page and line, from 1 on; offsets in characters and in bytes"""
        text = Text(self.TEXT.encode())
        at = self.TEXT.index("the bottle")
        p = text.passage("a.pdf", 0, at, at + 10, 1.0)
        self.assertEqual((p.page, p.lines, p.text), (1, (2, 2), "the bottle"))
        self.assertEqual(p.bytes, (at + 1, at + 11))
        self.assertEqual(p.place, "a.pdf p. 1, line 2")
        at = self.TEXT.index("another")
        p = text.passage("a.pdf", 0, at, at + 20, 1.0)
        self.assertEqual(p.place, "a.pdf p. 1, line 11 - p. 2, line 1")
        self.assertEqual(Text(b"a\nb c\nd").passage("n", 0, 2, 7, 0.0).place, "n lines 2-3")
        self.assertIsNone(Text(b"a\nb").passage("n", 0, 0, 1, 0.0).page)

    def test_characters(self) -> None:
        """a byte inside of a character stands for all of it; bytes and characters agree everywhere"""
        data = "aé😀z".encode()
        text = Text(data)
        self.assertEqual([text.character(i) for i in range(len(data) + 1)], [0, 1, 1, 2, 2, 2, 2, 3, 4])
        self.assertEqual([text.character(i, up=True) for i in range(len(data) + 1)], [0, 1, 2, 2, 3, 3, 3, 3, 4])
        for order in (range(5), reversed(range(5))):
            text = Text(data)
            for i in order:
                self.assertEqual(text.character(text.byte(i)), i)

    def test_widen(self) -> None:
        """passages of one sentence become one, with the largest score, the best first"""
        text = Text(self.TEXT.encode())
        places = [(0, 3, 1.0), (14, 16, 2.0), (20, 24, 7.0), (len(self.TEXT) - 5, len(self.TEXT), 3.0)]
        found = widen([text.passage("n", 0, *p) for p in places], [text])
        self.assertEqual([(p.text, p.score) for p in found],
                         [("The génie is in\nthe bottle!", 7.0), ("It ends", 3.0), ("First words.", 1.0)])


if __name__ == "__main__":
    unittest.main()
