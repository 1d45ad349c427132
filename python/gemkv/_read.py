# SPDX-License-Identifier: BSD-2-Clause
"""Files as text, by what is in them: PDF, HTML, DOCX, ODT, EPUB, compressed and plain text."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import os
import subprocess
import tempfile
import zlib
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import IO, Any

from ._errors import DocumentError, FileError

PIECE = 1 << 20

# first bytes: what opens the file
_PACKED: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\0": lzma.open}
# first bytes: (what it is, what to do)
_REFUSED = {
    b"\x28\xb5\x2f\xfd": ("zstd data", "decompress it with 'zstd -d'"),
    b"PK\x03\x04": ("a ZIP archive", "unpack it, or name it .docx, .odt or .epub"),
    b"GGUF": ("a GGUF model", "models are opened with gemkv.Model"),
}
_PANDOC = {".docx": "docx", ".odt": "odt", ".epub": "epub"}
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


class _Text(HTMLParser):
    """The text of a page, without scripts and styles: blocks are lines, and those of text have blank lines around."""

    TEXT = frozenset("article blockquote h1 h2 h3 h4 h5 h6 hr ol p pre section table title ul".split())
    BLOCKS = TEXT.union("address aside br dd div dl dt figcaption footer form header li main nav tr".split())
    SILENT = frozenset(("script", "style", "template", "noscript"))

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self.silent = self.pre = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.silent += tag in self.SILENT
        self.pre += tag == "pre"
        if tag in self.BLOCKS:
            self.found.append("\n\n" if tag in self.TEXT else "\n")
        elif tag in ("td", "th"):
            self.found.append("\t")

    def handle_endtag(self, tag: str) -> None:
        self.silent = max(0, self.silent - (tag in self.SILENT))
        self.pre = max(0, self.pre - (tag == "pre"))
        if tag in self.BLOCKS:
            self.found.append("\n\n" if tag in self.TEXT else "\n")

    def handle_data(self, data: str) -> None:
        if not self.silent:
            blank = self.found[-1:] in ([], ["\n"], ["\n\n"], ["\t"])
            text = data if self.pre else " ".join(data.split())
            if text and not self.pre:
                text = (" " if data[0].isspace() and not blank else "") + text + (" " if data[-1].isspace() else "")
            elif not self.pre and data and not blank:
                text = " "
            self.found.append(text) if text else None

    def text(self) -> str:
        lines = [line.rstrip() for line in "".join(self.found).split("\n")]
        lines = [line[1:] if line.startswith("\t") else line for line in lines]
        kept = [line for i, line in enumerate(lines) if line or (i and lines[i - 1])]
        return "\n".join(kept).strip("\n") + "\n"


def html_text(page: str) -> str:
    """The text of an HTML page."""
    parser = _Text()
    parser.feed(page)
    parser.close()
    return parser.text()


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    while piece := file.read(PIECE):
        yield piece


def _convert(argv: list[str], path: str, package: str) -> Iterator[bytes]:
    """What a program prints.  The file's name is absolute, so that it cannot be an option."""
    with tempfile.TemporaryFile() as messages:
        try:
            child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=messages)
        except FileNotFoundError:
            raise DocumentError(
                f"{path}: needs {argv[0]}, which is not installed; on Debian: apt install {package}"
            ) from None
        assert child.stdout
        try:
            yield from _pieces(child.stdout)
        finally:
            child.stdout.close()                # stops a program that is still writing
            status = child.wait()
        if status:
            messages.seek(0)
            why = messages.read(300).decode("utf-8", "replace").strip().split("\n")[0]
            raise DocumentError(f"{path}: {argv[0]} could not convert it{': ' + why if why else ''}")


def _pdf(path: str, file: str) -> Iterator[bytes]:
    empty = True
    for piece in _convert(["pdftotext", "-q", "-layout", "-enc", "UTF-8", file, "-"], path, "poppler-utils"):
        empty = empty and not piece.strip()
        yield piece
    if empty:
        raise DocumentError(f"{path}: there is no text in it, its pages are images; run ocrmypdf on it first")


def _decoded(path: str, pieces: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    try:
        decoder = codecs.getincrementaldecoder(encoding)()
    except LookupError:
        raise DocumentError(f"no encoding {encoding!r}; Python's list of codecs names those there are") from None
    try:
        for piece in pieces:
            yield decoder.decode(piece).encode()
        yield decoder.decode(b"", True).encode()
    except UnicodeError as error:
        raise DocumentError(f"{path}: not text in {encoding}: {error}") from None


def _text(path: str, pieces: Iterator[bytes], encoding: str | None) -> Iterator[bytes]:
    first = next(pieces, b"")
    head = first.lstrip()[:200].lower()

    def rest() -> Iterator[bytes]:
        yield first
        yield from pieces

    for mark, name in _MARKS.items():
        if not encoding and first.startswith(mark):
            encoding = name
    text = _decoded(path, rest(), encoding) if encoding else rest()
    named = path.lower().endswith((".html", ".htm", ".xhtml"))
    if named or head.startswith((b"<!doctype html", b"<html")):
        page = b"".join(text)
        try:
            yield html_text(page.decode()).encode()
        except UnicodeDecodeError:
            raise DocumentError(f"{path}: not UTF-8 text; say encoding='latin-1', or what it is in") from None
    else:
        yield from text


def read(path: str | os.PathLike[str], encoding: str | None = None) -> Iterator[bytes]:
    """The text of a file in UTF-8, piece by piece.  Form feeds end the pages of a PDF.

    encoding: of plain text and HTML that is not in UTF-8.
    """
    path = os.fspath(path)
    try:
        with open(path, "rb") as file:
            head = file.read(8)
            file.seek(0)
            full = os.path.abspath(path)
            suffix = os.path.splitext(path)[1].lower()
            if head.startswith(b"%PDF-"):
                yield from _pdf(path, full)
            elif head.startswith(b"PK\x03\x04") and suffix in _PANDOC:
                argv = ["pandoc", "-f", _PANDOC[suffix], "-t", "plain", "--wrap=none", full]
                yield from _convert(argv, path, "pandoc")
            elif opener := next((f for magic, f in _PACKED.items() if head.startswith(magic)), None):
                inner = os.path.splitext(path)[0]
                try:
                    with opener(file) as unpacked:
                        yield from _text(inner, _pieces(unpacked), encoding)
                except (zlib.error, EOFError, lzma.LZMAError, gzip.BadGzipFile) as error:
                    raise DocumentError(f"{path}: damaged data: {error}; get the file again") from None
            else:
                for magic, (what, advice) in _REFUSED.items():
                    if head.startswith(magic):
                        raise DocumentError(f"{path}: {what}, not text; {advice}")
                yield from _text(path, _pieces(file), encoding)
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{path}: cannot read: {error.strerror or error}") from error
    except ValueError as error:
        if isinstance(error, DocumentError):
            raise
        raise FileError(f"{path!r}: cannot read: {error}") from error
