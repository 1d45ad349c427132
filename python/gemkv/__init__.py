# SPDX-License-Identifier: BSD-2-Clause
"""Answer questions about long documents with a local language model.

    import gemkv

    document = gemkv.Document.open("report.pdf")
    answer = document.ask("What was the revenue in 2019?")
    print(answer)
    for passage in answer.passages:
        print(passage.place, passage.text)

It calls libgemkv, which has to be installed.
"""

from ._c import lib as _lib
from ._document import Answer, Document, Progress, Stats, Stream
from ._errors import (
    CancelledError,
    DeviceError,
    DocumentError,
    Error,
    FileError,
    FormatError,
    InvalidError,
    LimitError,
    NotFoundError,
    OutOfMemoryError,
    Status,
    UnsupportedError,
)
from ._library import Entry, Library
from ._model import (
    DocumentOptions,
    Method,
    Model,
    ModelInfo,
    Parameter,
    QuestionOptions,
    Schedule,
    bundled_model,
    default_model,
    methods,
    schedules,
)
from ._passages import Passage

__version__ = "0.2.0"


def version() -> str:
    """The version of libgemkv."""
    return str(_lib.gkv_version().decode())


__all__ = [
    "Answer",
    "CancelledError",
    "DeviceError",
    "Document",
    "DocumentError",
    "DocumentOptions",
    "Entry",
    "Error",
    "FileError",
    "FormatError",
    "InvalidError",
    "Library",
    "LimitError",
    "Method",
    "Model",
    "ModelInfo",
    "NotFoundError",
    "OutOfMemoryError",
    "Parameter",
    "Passage",
    "Progress",
    "QuestionOptions",
    "Schedule",
    "Stats",
    "Status",
    "Stream",
    "UnsupportedError",
    "bundled_model",
    "default_model",
    "methods",
    "schedules",
    "version",
]
