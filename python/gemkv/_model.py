# SPDX-License-Identifier: BSD-2-Clause
"""Models, and the tables of methods and schedules."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Sequence
from ctypes import POINTER, byref, c_size_t, c_uint32, c_void_p, sizeof, string_at
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypedDict

from . import _c
from ._c import lib
from ._errors import FileError, InvalidError, call
from ._handle import Handle

BUNDLED = "gemkv-mini-q8_0.gguf"


class DocumentOptions(TypedDict, total=False):
    """Options of a document.  gemkv-ask(1) describes each under the name of its option."""

    chat_template: str
    system: str
    raw: bool
    think: int
    memory_limit: int
    max_context: int


class QuestionOptions(TypedDict, total=False):
    """Options of a question.  gemkv-ask(1) describes each under the name of its option."""

    method: str
    schedule: str
    attention: str
    device: str
    kv_type: str
    gemm: str
    keep: int
    keep_percent: float
    layer: int
    keep_first: int
    keep_last: int
    memory_limit: int
    max_context: int
    max_tokens: int
    threads: int
    chunk: int
    temperature: float
    top_p: float
    min_p: float
    top_k: int
    repeat_last_n: int
    repeat_penalty: float
    presence_penalty: float
    frequency_penalty: float
    seed: int
    begin: str
    snap: str
    draft: int
    draft_reader: bool
    draft_mtp: bool
    repack: bool
    think: int
    gpu_memory: int
    ignore_end: bool


def c_string(name: str, text: str) -> bytes:
    """Text for the library: UTF-8 without a NUL."""
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise InvalidError(f"{name}: not Unicode text: {error.reason}") from None
    if b"\0" in data:
        raise InvalidError(f"{name}: there is a NUL character in it")
    return data


def make_options(given: dict[str, Any], known: frozenset[str]) -> _c.gkv_options:
    """gkv_options with these set; None leaves the default.  The struct keeps its strings alive."""
    options = _c.gkv_options()
    lib.gkv_options_init_size(byref(options), sizeof(options))
    for name, value in given.items():
        if name not in known:
            raise TypeError(f"no option {name!r}; there are: {', '.join(sorted(known))}")
        if value is None:
            continue
        if name == "think" and value is True:       # without a number: GKV_THINK
            value = -1
        try:
            setattr(options, name, c_string(name, value) if isinstance(value, str) else value)
        except TypeError:
            raise TypeError(f"{name}: {value!r} is of the wrong type") from None
        if isinstance(value, int) and getattr(options, name) != value:     # ctypes cuts what does not fit
            raise InvalidError(f"{name}: {value} is out of range")
    return options


@dataclass(frozen=True)
class ModelInfo:
    """gkv_model_info of gemkv.h: what a model is."""

    name: str
    architecture: str
    types: str
    parameters: int
    file_bytes: int
    n_layer: int
    n_embd: int
    n_head: int
    n_head_kv: int
    head_dim: int
    n_ff: int
    n_vocab: int
    context: int
    rope: str
    rope_base: float
    tokenizer: str
    pre: str
    chat_template: str | None
    filter_layer: int
    filter_layer_source: str
    tsp_layer: int
    tsp_layer_source: str
    chat_template_own: int
    chat_template_problem: str | None
    attending: str | None
    mtp: int
    mtp_problem: str | None


def bundled_model() -> Path | None:
    """The model that comes with the library, or None if it is not installed."""
    file = _c.library_file()
    folders = [parent / "share" for parent in (file.parents if file else [])]
    for folder in [*folders, Path("/usr/local/share"), Path("/usr/share")]:
        path = folder / "gemkv" / BUNDLED
        if path.is_file():
            return path
    return None


def _default_path() -> str:
    path = os.environ.get("GEMKV_MODEL") or bundled_model()
    if not path:
        raise FileError("no bundled model found; name a GGUF file, or set GEMKV_MODEL to its path")
    return os.fspath(path)


def _calibration(fingerprint: int) -> tuple[int, int] | None:
    """What gemkv calibrate found for the model: the same as the command line would take."""
    data = os.environ.get("XDG_DATA_HOME", "")
    folder = Path(data) if data.startswith("/") else Path(os.path.expanduser("~/.local/share"))
    try:
        found = json.loads((folder / "gemkv" / f"{fingerprint:016x}.json").read_bytes())
        return int(found["layer"]), int(found["tsp_layer"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


class Model:
    """A language model in a GGUF file, mapped read-only.  Any number of threads may use it.

    Without a path it is the one that $GEMKV_MODEL names, or else the bundled one, which is a small demonstration.
    layer is the layer whose attention selects the passages; without it, it is the one that gemkv calibrate found, or
    that the file, a paper or a rule of thumb names.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, layer: int | None = None) -> None:
        self.path = os.fspath(path) if path is not None else _default_path()
        pointer = c_void_p()
        if "\0" in self.path:
            raise FileError(f"{self.path!r}: there is a NUL character in the name")
        call("gkv_model_open", byref(pointer), os.fsencode(self.path), 0)
        self._handle = Handle("model", pointer, lib.gkv_model_close)
        self._set_layer(layer)

    def _set_layer(self, layer: int | None) -> None:
        info = self.info
        if layer is not None:
            if not 0 <= layer < info.n_layer:
                raise InvalidError(f"layer: {layer} is out of range; the model has layers 0 to {info.n_layer - 1}")
            call("gkv_model_layers", self._handle.pointer, layer, info.tsp_layer, b"given")
            return
        found = _calibration(lib.gkv_model_fingerprint(self._handle.pointer))
        if found and all(0 <= n < info.n_layer for n in found):
            call("gkv_model_layers", self._handle.pointer, *found, b"calibration")

    @property
    def info(self) -> ModelInfo:
        """What the model is."""
        out = _c.gkv_model_info()
        with self._handle.hold() as model:
            lib.gkv_model_describe_size(model, byref(out), sizeof(out))
            value = _c.values(out)
        return ModelInfo(**{f.name: value[f.name] for f in fields(ModelInfo)})

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        """The tokens of a text.  special: special tokens in it are parsed, and the model's first one is added."""
        ids, n = POINTER(c_uint32)(), c_size_t()
        data = text.encode()
        flags = _c.GKV_TOKENS_SPECIAL if special else 0
        with self._handle.hold() as model:
            call("gkv_tokenize", model, data, len(data), flags, byref(ids), byref(n))
        try:
            return ids[: n.value] if ids else []
        finally:
            _c.libc.free(ids)

    def detokenize(self, ids: Sequence[int]) -> str:
        """The text of tokens."""
        text, n = c_void_p(), c_size_t()
        with self._handle.hold() as model:
            call("gkv_detokenize", model, (c_uint32 * len(ids))(*ids), len(ids), byref(text), byref(n))
        try:
            return string_at(text.value, n.value).decode("utf-8", "replace") if text.value else ""
        finally:
            _c.libc.free(text)

    def close(self) -> None:
        """Unmap the file, once the last document of the model is closed."""
        self._handle.drop()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<gemkv.Model {self.path!r}{' closed' if self._handle.dropped else ''}>"


_default: Model | None = None
_lock = threading.Lock()


def default_model() -> Model:
    """The model of documents that are opened without one: Model(), opened once."""
    global _default
    with _lock:
        if _default is None or _default._handle.dropped:
            _default = Model()
        return _default


@dataclass(frozen=True)
class Parameter:
    """A parameter of a method or schedule, set as in "gemfilter:pool=max"."""

    name: str
    value: str
    help: str


@dataclass(frozen=True)
class Method:
    """A way to select passages, by name the option method."""

    name: str
    summary: str
    parameters: tuple[Parameter, ...]
    two_passes: bool


@dataclass(frozen=True)
class Schedule:
    """An order in which a first pass is computed, by name the option schedule."""

    name: str
    summary: str
    parameters: tuple[Parameter, ...]
    exact: bool


def _parameters(row: Any) -> tuple[Parameter, ...]:
    found, i = [], 0
    while row and row[i].name is not None:
        value = _c.values(row[i])
        found.append(Parameter(value["name"], value["value"], value["help"]))
        i += 1
    return tuple(found)


def methods() -> list[Method]:
    """The methods of this library; gemkv-methods(7) describes them."""
    n = c_size_t()
    rows = lib.gkv_methods(byref(n))
    return [
        Method(r.name.decode(), r.summary.decode(), _parameters(r.params), bool(r.two_passes)) for r in rows[: n.value]
    ]


def schedules() -> list[Schedule]:
    """The schedules of this library; gemkv-ask(1) describes them."""
    n = c_size_t()
    rows = lib.gkv_schedules(byref(n))
    return [
        Schedule(r.name.decode(), r.summary.decode(), _parameters(r.params), bool(r.exact)) for r in rows[: n.value]
    ]
