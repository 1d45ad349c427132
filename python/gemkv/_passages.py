# SPDX-License-Identifier: BSD-2-Clause
"""Passages: what was kept of a document, widened to whole sentences, with page and lines."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# Characters that are searched for the beginning of a sentence: more than nearly all sentences have.
FAR = 600

# A line of a table (tabs, bars, three spaces), of a list, or a heading of Markdown
_ROW = r"[ \t]*(?:[-*+#•|][ \t#|]|\d{1,3}[.)] )[^\n\f]*|[^\n\f]*[^\s](?:\t| {3,}| \| )[^\n\f]*"
# What stands before a sentence: an end of page, a blank line, a row of a table or list, an end of sentence
_BREAK = re.compile(
    rf"\f\s*|\n[ \t\r]*\n\s*|^(?:{_ROW})\n+|\n(?=(?:{_ROW})$)"
    r"|(?<![\s.][A-Z])(?<!\bMr)(?<!\bDr)(?<!\bSt)(?<!\bMrs)(?<!\bvs)[.!?…][\"')\]”’»*_]*\s+(?=[^\sa-z])"
    r"|[。！？]",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Passage:
    """A part of a document: document.texts[passage.index][passage.start:passage.end] is its text."""

    text: str
    document: str
    """The name of the document, a file's path."""
    index: int
    """Its number in document.names, from 0 on."""
    start: int
    end: int
    """Characters of the document's text, from 0 on."""
    bytes: tuple[int, int]
    """The same in bytes of UTF-8, as gemkv ask --json has them."""
    score: float
    """The largest score of its tokens; what it means depends on the method."""
    page: int | None
    """From 1 on, or None: the document has no pages."""
    lines: tuple[int, int]
    """The first and the last line, from 1 on, of the page on which each is."""
    last_page: int | None = None

    @property
    def place(self) -> str:
        """Where it is, for people: "report.pdf p. 12, lines 3-9"."""
        first, last = self.lines
        if self.page != self.last_page:
            return f"{self.document} p. {self.page}, line {first} - p. {self.last_page}, line {last}"
        lines = f"line {first}" if first == last else f"lines {first}-{last}"
        return f"{self.document} p. {self.page}, {lines}" if self.page else f"{self.document} {lines}"

    def __str__(self) -> str:
        return self.text


class Text:
    """A document's text, in which places are looked up."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.text = data.decode("utf-8", "replace")
        self._ascii = len(self.text) == len(data)
        self._known: list[tuple[int, int]] = [(0, 0)]
        self._pages = [m.end() for m in re.finditer("\f", self.text)]

    def character(self, byte: int, *, up: bool = False) -> int:
        """The character that a byte belongs to; up: the next one, unless the byte begins one."""
        data = self.data
        while 0 < byte < len(data) and data[byte] & 0xC0 == 0x80:
            byte += 1 if up else -1
        if self._ascii:
            return byte
        at, characters = self._known[bisect_right(self._known, (byte, len(data))) - 1]
        characters += len(data[at:byte].decode("utf-8", "replace"))
        if byte > self._known[-1][0]:           # mostly they come in the order of the text
            self._known.append((byte, characters))
        return characters

    def byte(self, character: int) -> int:
        if self._ascii:
            return character
        known = self._known[bisect_right(self._known, character, key=lambda k: k[1]) - 1]
        return known[0] + len(self.text[known[1] : character].encode())

    def place(self, character: int) -> tuple[int | None, int]:
        """Page, or None, and line of a character."""
        page = bisect_right(self._pages, character)
        begins = self._pages[page - 1] if page else 0
        return (page + 1 if self._pages else None), self.text.count("\n", begins, character) + 1

    def sentences(self, start: int, end: int) -> tuple[int, int]:
        """start and end, widened to whole sentences, without white space around them."""
        text = self.text
        start, end = trim(text, start, end)
        if start == end:
            return start, end
        low, high = max(0, start - FAR), min(len(text), end + FAR)
        begins = []
        for match in _BREAK.finditer(text, low, high):
            if match.end() > start:
                break
            begins.append(match.end())
        if begins:
            first = begins[-1]
        elif low == 0:
            first = 0
        else:
            cut = text.rfind("\n", low, start)
            cut = cut if cut >= 0 else text.rfind(" ", low, start)
            first = cut + 1 if cut >= 0 else start
        # From the line's beginning, so that a row is seen as one.
        line = max(text.rfind("\n", low, end) + 1, low)
        last = next((m.end() for m in _BREAK.finditer(text, line, high) if m.end() >= end), None)
        if last is None:
            cut = text.find("\n", end, high)
            cut = cut if cut >= 0 else text.find(" ", end, high)
            last = high if high == len(text) else cut if cut >= 0 else end
        return trim(text, first, last)

    def passage(self, name: str, index: int, start: int, end: int, score: float) -> Passage:
        first, last = trim(self.text, start, end)
        page, line = self.place(first)
        last_page, last_line = self.place(max(first, last - 1))
        return Passage(
            text=self.text[start:end],
            document=name,
            index=index,
            start=start,
            end=end,
            bytes=(self.byte(start), self.byte(end)),
            score=score,
            page=page,
            lines=(line, last_line),
            last_page=last_page,
        )


def trim(text: str, start: int, end: int) -> tuple[int, int]:
    """start and end without the white space there."""
    while end > start and text[end - 1].isspace():
        end -= 1
    while start < end and text[start].isspace():
        start += 1
    return start, end


def widen(kept: Iterable[Passage], texts: Sequence[Text]) -> list[Passage]:
    """Whole sentences around what was kept, those that overlap as one, the best first."""
    found: list[tuple[int, int, int, float, str]] = []
    for k in kept:
        start, end = texts[k.index].sentences(k.start, k.end)
        if start == end:
            continue
        if found and found[-1][0] == k.index and start < found[-1][2]:
            index, first, last, score, name = found.pop()
            found.append((index, min(first, start), max(last, end), max(score, k.score), name))
        else:
            found.append((k.index, start, end, k.score, k.document))
    passages = [texts[i].passage(name, i, start, end, score) for i, start, end, score, name in found]
    return sorted(passages, key=lambda p: -p.score)
