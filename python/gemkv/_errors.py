# SPDX-License-Identifier: BSD-2-Clause
"""What can go wrong: an exception for each gkv_status."""

from __future__ import annotations

import re
from ctypes import byref
from enum import IntEnum
from typing import Any

from ._c import gkv_error, lib


class Status(IntEnum):
    """gkv_status of gemkv.h."""

    OK = 0
    END = 1
    NOMEM = 2
    LIMIT = 3
    IO = 4
    FORMAT = 5
    UNSUPPORTED = 6
    INVALID = 7
    DOCUMENT = 8
    DEVICE = 9
    CANCELLED = 10


class Error(Exception):
    """All errors of gemkv.  The text is one line for a person: what, where, remedy."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class NotFoundError(Error, LookupError):
    """A library has no document of that name."""


class OutOfMemoryError(Error, MemoryError):
    """The system refused memory."""


class LimitError(Error):
    """It would need more than memory_limit or max_context; the text says how much."""


class FileError(Error, OSError):
    """A file cannot be opened, read or written."""


class FormatError(Error, ValueError):
    """A file of gemkv, or the model, is damaged."""


class UnsupportedError(Error):
    """The model is sound, but this build of libgemkv cannot run it."""


class InvalidError(Error, ValueError):
    """An option has a wrong value, or calls came out of order."""


class DocumentError(Error, ValueError):
    """The document has no text, or is not text."""


class DeviceError(Error):
    """The GPU failed."""


class CancelledError(Error):
    """The question was cancelled."""


EXCEPTIONS: dict[Status, type[Error]] = {
    Status.END: NotFoundError,
    Status.NOMEM: OutOfMemoryError,
    Status.LIMIT: LimitError,
    Status.IO: FileError,
    Status.FORMAT: FormatError,
    Status.UNSUPPORTED: UnsupportedError,
    Status.INVALID: InvalidError,
    Status.DOCUMENT: DocumentError,
    Status.DEVICE: DeviceError,
    Status.CANCELLED: CancelledError,
}

# The library names options as the command line does; here they are keywords.
_KEYWORDS = {"memory": "memory_limit", "context": "max_context", "template": "chat_template"}


def _keyword(match: re.Match[str]) -> str:
    name = match[1].replace("-", "_")
    return _KEYWORDS.get(name, name)


def error(status: int, text: str) -> Error:
    """The exception for a status."""
    known = EXCEPTIONS.get(Status(status), Error) if status in list(Status) else Error
    advice = re.sub(r"(?<![\w-])--([a-z]+(?:-[a-z]+)*)\b", _keyword, text)
    return known(advice or f"libgemkv failed with status {status}")


def call(name: str, *arguments: Any, about: str = "", ends: bool = False) -> bool:
    """Call a function whose last argument is a gkv_error, and raise what it reports.

    about is put in front of the text.  With ends, GKV_END is no error: the result says whether it came.
    """
    err = gkv_error()
    status = getattr(lib, name)(*arguments, byref(err))
    if status == Status.OK:
        return False
    if ends and status == Status.END:
        return True
    text = err.text.decode("utf-8", "replace")
    raise error(status, f"{about}: {text}" if about else text)
