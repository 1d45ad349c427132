# SPDX-License-Identifier: BSD-2-Clause
"""Libraries: documents in a folder, read once, found by their words."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from ctypes import byref, c_size_t, c_void_p, sizeof
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from . import _c
from ._c import lib
from ._document import Answer, Document, Path, Progress, Stream, Turns, Watcher
from ._errors import DocumentError, call
from ._handle import Handle
from ._model import Model, QuestionOptions, c_string, default_model, make_options
from ._passages import Passage

if TYPE_CHECKING:
    from typing import Unpack

# As gemkv ask -L: documents that are asked about, and tokens of them
TOP, MOST = 16, 4_000_000
MODES = {"r": 0, "w": _c.GKV_LIBRARY_WRITE, "c": _c.GKV_LIBRARY_WRITE | _c.GKV_LIBRARY_CREATE}
# A file that was written in the second when it was read may have changed after that (ns).
SURE = 2_000_000_000


@dataclass(frozen=True)
class Entry:
    """A document of a library."""

    name: str
    path: str | None
    grade: str
    layer: int
    id: int
    bytes: int
    """Of its text."""
    tokens: int
    pages: int
    stored_bytes: int
    """What it takes on the disk."""
    model: str
    added: datetime
    score: float
    """With a question: how well the words of its best passage fit (BM25)."""


def _entry(e: _c.gkv_library_entry_info) -> Entry:
    return Entry(
        name=os.fsdecode(e.source.name),
        path=os.fsdecode(e.source.path) if e.source.path is not None else None,
        grade=e.source.grade.decode(),
        layer=e.source.layer,
        id=e.id,
        bytes=e.bytes,
        tokens=e.tokens,
        pages=e.pages,
        stored_bytes=e.stored_bytes,
        model=(e.model_name or b"").decode("utf-8", "replace"),
        added=datetime.fromtimestamp(e.added / 1e9, UTC),
        score=e.score,
    )


class Library:
    """A folder that gemkv index or this class writes, of documents of one model.

    mode: "r" reads; "w" writes as well, and no other process can meanwhile; "c" also makes the folder if there is none.
    """

    def __init__(self, path: Path, mode: str = "r", *, model: Model | None = None) -> None:
        if mode not in MODES:
            raise ValueError(f"mode {mode!r}: it is 'r', 'w' or 'c'")
        self.path = os.fspath(path)
        self.model = model or default_model()
        self._lock = threading.RLock()
        self._document: tuple[tuple[int, ...], Document] | None = None
        pointer = c_void_p()
        call("gkv_library_open", byref(pointer), os.fsencode(self.path), MODES[mode])
        self._handle = Handle("library", pointer, lib.gkv_library_close)
        self._layer = self.model.info.filter_layer
        call("gkv_library_fits", self._handle.pointer, self.model._handle.pointer, self._layer)

    # ---- what is in it

    def entries(self, question: str | None = None, *, among: str | None = None, top: int = 0) -> list[Entry]:
        """Its documents, or those that share words with the question, the best first.

        among: of names that this pattern fits, as in "*.pdf".  top: at most so many, 0: all.
        """
        n = c_size_t()
        words = c_string("question", question) if question is not None else None
        pattern = os.fsencode(among) if among is not None else None
        found = []
        with self._lock, self._handle.hold() as l:
            call("gkv_library_find", l, words, pattern, top, byref(n))
            for i in range(n.value):
                e = _c.gkv_library_entry_info()
                lib.gkv_library_entry_size(l, i, byref(e), sizeof(e))
                found.append(_entry(e))
        return found

    def _get(self, name: str) -> _c.gkv_library_entry_info | None:
        """Its text is valid until the next call."""
        e = _c.gkv_library_entry_info()
        gone = call(
            "gkv_library_get_size", self._handle.pointer, os.fsencode(name), byref(e), sizeof(e), ends=True
        )
        return None if gone else e

    def __contains__(self, name: object) -> bool:
        with self._lock:
            return isinstance(name, str) and self._get(name) is not None

    def __len__(self) -> int:
        return len(self.entries())

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries())

    # ---- writing

    def add(
        self,
        path: Path,
        *,
        grade: str | None = None,
        again: bool = False,
        encoding: str | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> Entry:
        """Read a file into the library, under its path as the name; unless it is there and has not changed.

        grade: "compact", "exact", "q8" or "q4", as gemkv index has them.  An exception in progress, or Ctrl-C, is
        raised when the document is finished.
        """
        name = os.fspath(path)
        with self._lock:
            source = _c.gkv_source(name=os.fsencode(name), layer=self._layer)
            try:
                facts = os.stat(path)
                source.path = os.fsencode(os.path.realpath(path))
                source.bytes, source.modified = facts.st_size, facts.st_mtime_ns
            except OSError:
                pass                            # reading it says why
            old = self._get(name)
            kept = old is not None and not again and grade in (None, old.source.grade.decode()) and self._whole(name)
            if old is not None and kept and self._same_file(source, old):
                return _entry(old)
            with Document.open(path, model=self.model, encoding=encoding) as document:
                return self._put(source, document, grade, progress, old if kept else None)

    def put(
        self,
        name: str,
        text: str,
        *,
        grade: str | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> Entry:
        """Put a text into the library under this name, in place of what had it."""
        with self._lock, Document.from_text(text, name, model=self.model) as document:
            source = _c.gkv_source(name=c_string("name", name), layer=self._layer)
            return self._put(source, document, grade, progress, None)

    def _whole(self, name: str) -> bool:
        return bool(lib.gkv_library_verify_quick(self._handle.pointer, os.fsencode(name), None) == 0)

    @staticmethod
    def _same_file(new: _c.gkv_source, old: _c.gkv_library_entry_info) -> bool:
        was = old.source
        same = (new.path, new.bytes, new.modified) == (was.path, was.bytes, was.modified)
        return bool(new.path and same and new.modified + SURE < old.added)

    def _put(
        self,
        source: _c.gkv_source,
        document: Document,
        grade: str | None,
        progress: Callable[[Progress], None] | None,
        old: _c.gkv_library_entry_info | None,
    ) -> Entry:
        with self._handle.hold() as l, document._handle.hold() as d:
            if old is not None and old.hash == lib.gkv_document_hash(d):
                call("gkv_library_note", l, byref(source))
            else:
                was = self._get(source.name.decode("utf-8", "surrogateescape"))
                source.grade = grade.encode() if grade else was.source.grade if was else b"compact"
                watcher = Watcher(make_options({"layer": self._layer}, frozenset(["layer"])))
                watcher.watch.progress = progress
                call("gkv_library_put", l, byref(source), d, byref(watcher.options), about=self.path)
                watcher.check()
            e = self._get(source.name.decode("utf-8", "surrogateescape"))
            assert e is not None
            return _entry(e)

    def remove(self, name: str) -> None:
        """Take a document out; NotFoundError if there is none of that name."""
        with self._lock:
            call("gkv_library_remove", self._handle.pointer, os.fsencode(name))

    # ---- asking

    def load(self, *names: str) -> Document:
        """Documents of these names, as one."""
        if not names:
            raise TypeError("no document named")
        parts: list[Handle] = []
        options = make_options({}, frozenset())
        with self._lock, self._handle.hold() as l, self.model._handle.hold() as m:
            for name in names:
                part = c_void_p()
                ended = call(
                    "gkv_library_load", l, os.fsencode(name), m, byref(options), byref(part), about=name
                )
                assert not ended
                parts.append(Handle("document", part, lib.gkv_document_close, self.model._handle))
            pointers = (c_void_p * len(parts))(*(p.pointer for p in parts))
            joined = c_void_p()
            call("gkv_document_join", byref(joined), pointers, len(parts))
            for part_handle in parts:
                part_handle.forget()            # they are the joined one's now
            handle = Handle("document", joined, lib.gkv_document_close, self.model._handle)
        return Document(handle, self.model, names, range(len(names)), {})

    def document(self, question: str, *, top: int = TOP, among: str | None = None) -> Document:
        """The documents that a question is asked about, as one: at most top, chosen by its words."""
        with self._lock:
            found = self.entries(among=among)
            if not found:
                like = f" like {among!r}" if among else ""
                raise DocumentError(f"{self.path}: there are no documents in it{like}")
            if len(found) > top or sum(e.tokens for e in found) > MOST:
                # If none has a word of the question, the first ones are asked.
                found = self.entries(question, among=among, top=top) or found[:top]
            tokens = 0
            chosen: list[Entry] = []
            for e in found:
                tokens += e.tokens
                if chosen and tokens > MOST:
                    break
                chosen.append(e)
            chosen.sort(key=lambda e: e.id)
            ids = tuple(e.id for e in chosen)
            if self._document is None or self._document[0] != ids or self._document[1]._handle.dropped:
                self._document = (ids, self.load(*(e.name for e in chosen)))
            return self._document[1]

    def ask(
        self,
        question: str,
        *,
        top: int = TOP,
        among: str | None = None,
        turns: Turns = (),
        progress: Callable[[Progress], None] | None = None,
        **options: Unpack[QuestionOptions],
    ) -> Answer:
        """Document.ask of the documents that the question's words choose."""
        return self.document(question, top=top, among=among).ask(question, turns=turns, progress=progress, **options)

    def stream(
        self,
        question: str,
        *,
        top: int = TOP,
        among: str | None = None,
        turns: Turns = (),
        progress: Callable[[Progress], None] | None = None,
        **options: Unpack[QuestionOptions],
    ) -> Stream:
        """Document.stream of the documents that the question's words choose."""
        return self.document(question, top=top, among=among).stream(question, turns=turns, progress=progress, **options)

    def select(
        self,
        question: str,
        *,
        top: int = TOP,
        among: str | None = None,
        turns: Turns = (),
        progress: Callable[[Progress], None] | None = None,
        **options: Unpack[QuestionOptions],
    ) -> list[Passage]:
        """Document.select of the documents that the question's words choose."""
        return self.document(question, top=top, among=among).select(question, turns=turns, progress=progress, **options)

    def close(self) -> None:
        """Close it; documents that were loaded from it stay."""
        with self._lock:
            self._document = None
            self._handle.drop()

    def __enter__(self) -> Library:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<gemkv.Library {self.path!r}{' closed' if self._handle.dropped else ''}>"


