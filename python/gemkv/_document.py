# SPDX-License-Identifier: BSD-2-Clause
"""Documents, questions about them, and answers."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from ctypes import byref, c_size_t, c_void_p, cast, sizeof, string_at
from dataclasses import dataclass, fields
from types import GeneratorType
from typing import TYPE_CHECKING, Any

from . import _c
from ._c import lib
from ._errors import DocumentError, Error, InvalidError, call
from ._handle import Handle
from ._model import DocumentOptions, Model, QuestionOptions, c_string, default_model, make_options
from ._passages import Passage, Text, widen
from ._read import PIECE, read

if TYPE_CHECKING:
    from typing import Unpack

DOCUMENT_OPTIONS = frozenset(DocumentOptions.__annotations__)
QUESTION_OPTIONS = frozenset(QuestionOptions.__annotations__)
Path = str | os.PathLike[str]
Turns = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Progress:
    """How far a question is."""

    stage: str
    """"first pass", "second pass", "prefill", ..."""
    fraction: float
    """Of this stage's work, 0 to 1, proportional to time."""
    tokens: int
    """Tokens of this stage."""


@dataclass(frozen=True)
class Stats:
    """What an answer cost: gkv_stats of gemkv.h.  Times are seconds, memory is bytes."""

    tokens_document: int
    tokens_prompt: int
    tokens_kept: int
    tokens_answer: int
    load: float
    tokenize: float
    first: float
    second: float
    ttft: float
    decode: float
    total: float
    memory_predicted: int
    memory_peak: int
    memory_limit: int
    memory_kv: int
    layer: int
    method: str
    schedule: str
    device: str
    cpu: str
    chat_template: str
    parameters: str
    device_reason: str | None
    device_model: str | None
    device_memory: int
    device_layers: int
    upload: float
    upload_waited: float
    schedule_reason: str | None
    warning: str | None
    finish: str
    stop: str | None
    incomplete: int
    snap: str | None
    reader: str | None
    load_reader: float
    hand_over: float
    predicted_reader: int
    predicted_answerer: int
    drafted: int
    accepted: int
    tokens_thought: int
    thought: str | None
    can_think: int
    drafted_reader: int
    accepted_reader: int
    processes: int
    waited: float
    drafted_mtp: int
    accepted_mtp: int
    memory_packed: int


@dataclass(frozen=True)
class Answer:
    """An answer and what it was written from."""

    question: str
    text: str
    passages: list[Passage]
    """What was kept, widened to whole sentences, the best first."""
    kept: list[Passage]
    """Just what was kept: runs of tokens, in the order of the document."""
    stats: Stats

    @property
    def cut(self) -> bool:
        """Whether the answer has reached max_tokens and was not finished."""
        return self.stats.finish == "length"

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<gemkv.Answer {self.text!r} from {len(self.passages)} passages>"


class _Watch:
    """What the library calls while it works."""

    def __init__(self) -> None:
        self.progress: Callable[[Progress], None] | None = None
        self.session = 0
        self.error: BaseException | None = None


def _watcher(watch: _Watch) -> Generator[None, Any, None]:
    """Takes what the library reports, and cancels its work after an exception.

    Python delivers Ctrl-C at the first bytecode that the main thread runs, so here.  In a function that would be before
    its "try", and ctypes would print the KeyboardInterrupt and drop it.  A generator is inside already.
    """
    while True:
        try:
            report = yield
            if watch.progress and watch.error is None:
                p = report.contents
                watch.progress(Progress(lib.gkv_stage_name(p.stage).decode(), p.fraction, p.tokens))
        except GeneratorExit:
            return
        except BaseException as error:
            watch.error = watch.error or error
            if watch.session:
                lib.gkv_cancel(watch.session)


# For all sessions, and never freed.  It finds its generator in the first argument.
_on_progress = _c.PROGRESS(GeneratorType.send)


class Watcher:
    """Options with a progress callback, and what has to live as long as they are in use."""

    def __init__(self, options: _c.gkv_options) -> None:
        self.options = options
        self.watch = _Watch()
        self._generator = _watcher(self.watch)
        next(self._generator)
        options.progress = cast(_on_progress, c_void_p)
        options.progress_arg = id(self._generator)

    def check(self) -> None:
        """Raise what was raised in the callback."""
        error, self.watch.error = self.watch.error, None
        if error is not None:
            raise error


def _close_and(held: contextlib.ExitStack) -> Callable[[Any], None]:
    """Closes a session, and then lets go of the other model that it used."""

    def close(pointer: Any) -> None:
        lib.gkv_session_close(pointer)
        held.close()

    return close


class _Session:
    """A session of the library: one question at a time."""

    def __init__(self, document: Handle, given: dict[str, Any], answerer: Model | None) -> None:
        self.given = given
        self.answerer = answerer
        self.watcher = Watcher(make_options(given, QUESTION_OPTIONS | DOCUMENT_OPTIONS))
        self.has_turns = self.broken = False
        pointer = c_void_p()
        options = byref(self.watcher.options)
        with document.hold() as d, contextlib.ExitStack() as held:
            if answerer is None:
                call("gkv_session_of", byref(pointer), d, options)
            else:
                call("gkv_session_for", byref(pointer), held.enter_context(answerer._handle.hold()), d, options)
            self.handle = Handle("session", pointer, _close_and(held.pop_all()), document, self.watcher)
        self.watcher.watch.session = self.handle.pointer

    def call(self, name: str, *arguments: Any, ends: bool = False) -> bool:
        """A call that takes long.  What came up in the callback goes before what the library says of it."""
        try:
            ended = call(name, self.handle.pointer, *arguments, ends=ends)
        except Error:
            self.broken = True
            self.watcher.check()
            raise
        if self.watcher.watch.error is not None:
            self.broken = True                  # its cancellation would be the next call's
            self.watcher.check()
        return ended

    def set_turns(self, turns: Turns) -> None:
        if not turns and not self.has_turns:
            return
        rows = (_c.gkv_turn * (len(turns) or 1))()
        for row, (question, answer) in zip(rows, turns, strict=False):
            row.question, row.answer = c_string("turns", question), c_string("turns", answer)
        call("gkv_session_turns", self.handle.pointer, rows, len(turns))
        self.has_turns = bool(turns)

    def next(self) -> str | None:
        """The next piece of the answer, or None."""
        text, n = c_void_p(), c_size_t()
        if self.call("gkv_next", byref(text), byref(n), ends=True):
            return None
        return string_at(text.value or 0, n.value).decode("utf-8", "replace") if n.value else ""

    def stats(self) -> Stats:
        out = _c.gkv_stats()
        lib.gkv_session_stats_size(self.handle.pointer, byref(out), sizeof(out))
        value = _c.values(out)
        return Stats(**{f.name: value[f.name] for f in fields(Stats)})


class Stream(Iterator[str]):
    """An answer while it is written: iterate over its pieces.  Its passages are known from the beginning."""

    def __init__(self, document: Document, session: _Session, question: str, kept: list[Passage]) -> None:
        self._document = document
        self._session: _Session | None = session
        self._text: list[str] = []
        self._stats: Stats | None = None
        self.question = question
        self.kept = kept
        self.passages = widen(kept, document._texts)

    def __next__(self) -> str:
        if self._session is None:
            raise StopIteration
        try:
            piece = self._session.next()
        except BaseException:
            self.close()
            raise
        if piece is None:
            self.close()
            raise StopIteration
        self._text.append(piece)
        return piece

    @property
    def text(self) -> str:
        """The answer so far."""
        return "".join(self._text)

    @property
    def stats(self) -> Stats:
        """What it cost so far."""
        if self._session is not None:
            return self._session.stats()
        assert self._stats
        return self._stats

    def read(self) -> Answer:
        """Take the rest of the pieces; the whole answer."""
        for _ in self:
            pass
        return Answer(self.question, self.text, self.passages, self.kept, self.stats)

    def close(self) -> None:
        """Take no more pieces: the rest of the answer is not written."""
        session, self._session = self._session, None
        if session is not None:
            self._stats = session.stats()
            self._document._give_back(session)

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "passages"):
            self.close()

    def __repr__(self) -> str:
        return f"<gemkv.Stream {self.text!r}{'' if self._session is None else ' ...'}>"


class Document:
    """Text that is read once and asked often; of one file or of several.

    Any number of threads may ask it at the same time.  What of a first pass does not depend on the question is kept
    for the next one with the same options.
    """

    def __init__(
        self, handle: Handle, model: Model, names: Sequence[str], files: Sequence[int], given: dict[str, Any]
    ) -> None:
        """For Document.open and the like."""
        self._handle = handle
        self.model = model
        self.names = tuple(names)
        """The names of its files."""
        self._files = list(files)               # the library's number: ours; it has no empty ones
        self._given = given
        self._lock = threading.RLock()      # a garbage collection may give a session back meanwhile
        self._idle: _Session | None = None
        self._found: list[Text] | None = None

    @classmethod
    def open(
        cls, *paths: Path, model: Model | None = None, encoding: str | None = None, **options: Unpack[DocumentOptions]
    ) -> Document:
        """Read files: PDF, HTML, DOCX, ODT, EPUB, text, and text in gzip, bzip2 or xz.

        encoding: of text that is not UTF-8.
        """
        if not paths:
            raise TypeError("no file named")
        named = ((os.fspath(path), read(path, encoding)) for path in paths)
        return cls._feed(named, model, dict(options), empty=False)

    @classmethod
    def from_text(
        cls, text: str, name: str = "text", *, model: Model | None = None, **options: Unpack[DocumentOptions]
    ) -> Document:
        """A document of this text."""
        return cls._feed([(name, _encoded(name, text))], model, dict(options), empty=False)

    @classmethod
    def from_texts(
        cls, texts: Mapping[str, str] | Iterable[str], *, model: Model | None = None, **options: Unpack[DocumentOptions]
    ) -> Document:
        """A document of several texts, by name, or named "text 1" and so on.  Some of them may be empty."""
        named = texts.items() if isinstance(texts, Mapping) else ((f"text {i}", t) for i, t in enumerate(texts, 1))
        return cls._feed(((n, _encoded(n, t)) for n, t in named), model, dict(options), empty=True)

    @classmethod
    def _feed(
        cls, texts: Iterable[tuple[str, Iterable[bytes]]], model: Model | None, given: dict[str, Any], empty: bool
    ) -> Document:
        model = model or default_model()
        options = make_options(given, DOCUMENT_OPTIONS)
        pointer = c_void_p()
        names: list[str] = []
        files: list[int] = []
        with model._handle.hold() as m:
            call("gkv_document_open", byref(pointer), m, byref(options))
            handle = Handle("document", pointer, lib.gkv_document_close, model._handle, options)
        for number, (name, pieces) in enumerate(texts):
            blank = True
            n = 0
            for piece in pieces:
                n += len(piece)
                blank = blank and not piece.strip()
                if piece:
                    call("gkv_document_feed", handle.pointer, piece, len(piece), about=name)
            if blank and not empty:
                raise DocumentError(f"{name}: there is no text in it")
            call("gkv_document_end_file", handle.pointer, about=name)
            names.append(name)
            files += [number] if n else []
        if not files:
            raise DocumentError("the document is empty")
        return cls(handle, model, names, files, given)

    @property
    def _texts(self) -> list[Text]:
        if self._found is None:
            found = [Text(b"") for _ in self.names]
            with self._handle.hold() as d:
                for i, number in enumerate(self._files):
                    n = c_size_t()
                    found[number] = Text(string_at(lib.gkv_document_text(d, i, byref(n)), n.value))
            self._found = found
        return self._found

    @property
    def texts(self) -> tuple[str, ...]:
        """The text of each file."""
        return tuple(t.text for t in self._texts)

    @property
    def tokens(self) -> int:
        """How many tokens it has; until the first question, that no question can change."""
        with self._handle.hold() as d:
            return int(lib.gkv_document_tokens(d))

    def ask(
        self,
        question: str,
        *,
        turns: Turns = (),
        answerer: Model | None = None,
        progress: Callable[[Progress], None] | None = None,
        **options: Unpack[QuestionOptions],
    ) -> Answer:
        """Ask a question, and wait for the answer.

        turns: earlier questions and their answers, which this one may refer to.
        answerer: another model, which answers from the text that the document's model has read and chosen: the option
        --reader of gemkv-ask(1), from the other side.
        progress: called a few times a second.  An exception in it cancels the question, and is raised by ask.  So does
        Ctrl-C.
        """
        with self.stream(question, turns=turns, answerer=answerer, progress=progress, **options) as stream:
            return stream.read()

    def stream(
        self,
        question: str,
        *,
        turns: Turns = (),
        answerer: Model | None = None,
        progress: Callable[[Progress], None] | None = None,
        **options: Unpack[QuestionOptions],
    ) -> Stream:
        """Ask a question, and take the answer piece by piece, as it is written."""
        session = self._start("gkv_ask", question, turns, answerer, progress, dict(options))
        return Stream(self, session, question, self._kept(session))

    def select(
        self,
        question: str,
        *,
        turns: Turns = (),
        answerer: Model | None = None,
        progress: Callable[[Progress], None] | None = None,
        **options: Unpack[QuestionOptions],
    ) -> list[Passage]:
        """The passages that an answer would be written from, as whole sentences, the best first."""
        session = self._start("gkv_select", question, turns, answerer, progress, {"device": "cpu", **options})
        kept = self._kept(session)
        self._give_back(session)
        return widen(kept, self._texts)

    def _start(
        self,
        how: str,
        question: str,
        turns: Turns,
        answerer: Model | None,
        progress: Callable[[Progress], None] | None,
        options: dict[str, Any],
    ) -> _Session:
        data = c_string("question", question)
        if not data.strip():
            raise InvalidError("the question is empty")
        # The document's template is not for another model.
        ours = {k: v for k, v in self._given.items() if answerer is None or k not in ("chat_template", "system")}
        session = self._take({**ours, **{k: v for k, v in options.items() if v is not None}}, answerer)
        try:
            session.watcher.watch.progress = progress
            session.set_turns(turns)
            session.call(how, data, len(data))
        except BaseException:
            self._give_back(session)
            raise
        return session

    def _take(self, given: dict[str, Any], answerer: Model | None) -> _Session:
        """The session of the last question, if it had the same options, or a new one."""
        unknown = given.keys() - QUESTION_OPTIONS - DOCUMENT_OPTIONS
        if unknown:
            make_options(dict.fromkeys(unknown), QUESTION_OPTIONS)
        with self._lock:
            session, self._idle = self._idle, None
            if session is not None and session.given == given and session.answerer is answerer:
                return session
            if session is not None:
                session.handle.drop()           # its memory is free for the next one
            return _Session(self._handle, given, answerer)

    def _give_back(self, session: _Session) -> None:
        session.watcher.watch.progress = None
        with self._lock:
            keep = self._idle is None and not self._handle.dropped and not session.broken
            if keep:
                self._idle = session
        if not keep:
            session.handle.drop()

    def _kept(self, session: _Session) -> list[Passage]:
        n = c_size_t()
        rows = lib.gkv_session_kept(session.handle.pointer, byref(n))
        found = []
        for row in rows[: n.value] if n.value else []:
            number = self._files[row.file]
            text = self._texts[number]
            start, end = text.character(row.start), text.character(row.end, up=True)
            found.append(text.passage(self.names[number], number, start, end, row.score))
        return found

    def close(self) -> None:
        """Free it, once the answers that are being written are finished."""
        with self._lock:
            idle, self._idle = self._idle, None
        if idle is not None:
            idle.handle.drop()
        self._handle.drop()

    def __enter__(self) -> Document:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._handle.dropped else f"{self.tokens} tokens"
        return f"<gemkv.Document {', '.join(self.names)}: {state}>"


def _encoded(name: str, text: str) -> Iterator[bytes]:
    for i in range(0, len(text), PIECE):
        try:
            yield text[i : i + PIECE].encode()
        except UnicodeEncodeError as error:
            raise DocumentError(f"{name}: not Unicode text: {error.reason}") from None


__all__ = ["Answer", "Document", "Progress", "Stats", "Stream"]
