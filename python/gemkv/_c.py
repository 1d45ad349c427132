# SPDX-License-Identifier: BSD-2-Clause
"""libgemkv through ctypes: structs and functions of gemkv.h, under the names that they have there.

tests/test_layout.py compares all of it with the header.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import re
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_char,
    c_char_p,
    c_double,
    c_float,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint,
    c_uint32,
    c_uint64,
    c_void_p,
    py_object,
)
from pathlib import Path
from typing import Any

# The version of the header that the structs below are of.  Later versions only add to it.
HEADER = (0, 2)
SONAME = "libgemkv.so.0"


class gkv_error(Structure):
    _fields_ = [("status", c_int), ("text", c_char * 508)]


class gkv_param(Structure):
    _fields_ = [("name", c_char_p), ("value", c_char_p), ("help", c_char_p), ("reserved", c_void_p * 1)]


class gkv_method(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("summary", c_char_p),
        ("params", POINTER(gkv_param)),
        ("two_passes", c_int),
        ("reserved", c_void_p * 3),
    ]


class gkv_schedule(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("summary", c_char_p),
        ("params", POINTER(gkv_param)),
        ("exact", c_int),
        ("reserved", c_void_p * 3),
    ]


class gkv_model_info(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("architecture", c_char_p),
        ("types", c_char_p),
        ("parameters", c_uint64),
        ("file_bytes", c_uint64),
        ("n_layer", c_uint32),
        ("n_embd", c_uint32),
        ("n_head", c_uint32),
        ("n_head_kv", c_uint32),
        ("head_dim", c_uint32),
        ("n_ff", c_uint32),
        ("n_vocab", c_uint32),
        ("context", c_uint32),
        ("rope", c_char_p),
        ("rope_base", c_float),
        ("tokenizer", c_char_p),
        ("pre", c_char_p),
        ("chat_template", c_char_p),
        ("filter_layer", c_uint32),
        ("filter_layer_source", c_char_p),
        ("tsp_layer", c_uint32),
        ("tsp_layer_source", c_char_p),
        ("type_groups", c_void_p),
        ("chat_template_own", c_int),
        ("chat_template_problem", c_char_p),
        ("attending", c_char_p),
        ("mtp", c_uint32),
        ("mtp_problem", c_char_p),
    ]


class gkv_progress(Structure):
    _fields_ = [("stage", c_int), ("fraction", c_double), ("tokens", c_uint64)]


class gkv_options(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("method", c_char_p),
        ("schedule", c_char_p),
        ("device", c_char_p),
        ("chat_template", c_char_p),
        ("kv_type", c_char_p),
        ("gemm", c_char_p),
        ("keep", c_uint32),
        ("keep_percent", c_float),
        ("layer", c_int32),
        ("keep_first", c_uint32),
        ("keep_last", c_uint32),
        ("memory_limit", c_uint64),
        ("max_context", c_uint64),
        ("max_tokens", c_uint32),
        ("threads", c_uint32),
        ("chunk", c_uint32),
        ("raw", c_int),
        ("temperature", c_float),
        ("top_p", c_float),
        ("min_p", c_float),
        ("seed", c_uint64),
        ("progress", c_void_p),
        ("progress_arg", c_void_p),
        ("note", c_void_p),
        ("note_arg", c_void_p),
        ("system", c_char_p),
        ("begin", c_char_p),
        ("gpu_memory", c_uint64),
        ("ignore_end", c_int),
        ("top_k", c_uint32),
        ("repeat_last_n", c_uint32),
        ("repeat_penalty", c_float),
        ("presence_penalty", c_float),
        ("frequency_penalty", c_float),
        ("stop", c_void_p),
        ("n_stop", c_size_t),
        ("grammar", c_void_p),
        ("reader", c_void_p),
        ("snap", c_char_p),
        ("draft", c_uint32),
        ("think", c_int32),
        ("draft_reader", c_int),
        ("group", c_void_p),
        ("reading", c_void_p),
        ("attention", c_char_p),
        ("draft_mtp", c_int),
        ("repack", c_int),
    ]


class gkv_turn(Structure):
    _fields_ = [("question", c_char_p), ("answer", c_char_p), ("reserved", c_void_p * 2)]


class gkv_kept(Structure):
    # text is no c_char_p: it does not end with a NUL.
    _fields_ = [
        ("file", c_uint32),
        ("start", c_uint64),
        ("end", c_uint64),
        ("score", c_float),
        ("best", c_uint64),
        ("text", c_void_p),
        ("reserved", c_void_p * 2),
    ]


class gkv_stats(Structure):
    _fields_ = [
        ("tokens_document", c_uint64),
        ("tokens_prompt", c_uint64),
        ("tokens_kept", c_uint64),
        ("tokens_answer", c_uint64),
        ("load", c_double),
        ("tokenize", c_double),
        ("first", c_double),
        ("second", c_double),
        ("ttft", c_double),
        ("decode", c_double),
        ("total", c_double),
        ("memory_predicted", c_uint64),
        ("memory_peak", c_uint64),
        ("memory_limit", c_uint64),
        ("memory_kv", c_uint64),
        ("layer", c_int32),
        ("method", c_char_p),
        ("schedule", c_char_p),
        ("device", c_char_p),
        ("cpu", c_char_p),
        ("chat_template", c_char_p),
        ("parameters", c_char_p),
        ("device_reason", c_char_p),
        ("device_model", c_char_p),
        ("device_memory", c_uint64),
        ("device_layers", c_uint32),
        ("upload", c_double),
        ("upload_waited", c_double),
        ("schedule_reason", c_char_p),
        ("warning", c_char_p),
        ("finish", c_char_p),
        ("stop", c_char_p),
        ("incomplete", c_int),
        ("snap", c_char_p),
        ("reader", c_char_p),
        ("load_reader", c_double),
        ("hand_over", c_double),
        ("predicted_reader", c_uint64),
        ("predicted_answerer", c_uint64),
        ("drafted", c_uint64),
        ("accepted", c_uint64),
        ("tokens_thought", c_uint64),
        ("thought", c_char_p),
        ("can_think", c_int),
        ("drafted_reader", c_uint64),
        ("accepted_reader", c_uint64),
        ("processes", c_uint32),
        ("waited", c_double),
        ("drafted_mtp", c_uint64),
        ("accepted_mtp", c_uint64),
        ("memory_packed", c_uint64),
    ]


class gkv_source(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("path", c_char_p),
        ("bytes", c_uint64),
        ("modified", c_int64),
        ("layer", c_int32),
        ("grade", c_char_p),
        ("part", c_char_p),
        ("reserved", c_void_p * 3),
    ]


class gkv_library_entry_info(Structure):
    _fields_ = [
        ("source", gkv_source),
        ("id", c_uint64),
        ("bytes", c_uint64),
        ("hash", c_uint64),
        ("tokens", c_uint64),
        ("pages", c_uint64),
        ("segment_bytes", c_uint64),
        ("stored_bytes", c_uint64),
        ("model", c_uint64),
        ("model_name", c_char_p),
        ("added", c_int64),
        ("score", c_double),
        ("start", c_uint64),
        ("end", c_uint64),
    ]


STRUCTS: tuple[type[Structure], ...] = (
    gkv_error,
    gkv_param,
    gkv_method,
    gkv_schedule,
    gkv_model_info,
    gkv_progress,
    gkv_options,
    gkv_turn,
    gkv_kept,
    gkv_stats,
    gkv_source,
    gkv_library_entry_info,
)

# Constants of the header that are used here.
GKV_TOKENS_SPECIAL = 1
GKV_LIBRARY_WRITE = 1
GKV_LIBRARY_CREATE = 2

# The first argument comes back as the object whose address was given as progress_arg.
PROGRESS = CFUNCTYPE(None, py_object, POINTER(gkv_progress))

_ERR = POINTER(gkv_error)
_OPT = POINTER(gkv_options)
_OUT = POINTER(c_void_p)
_SIZE = POINTER(c_size_t)

# name: (result, arguments)
FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "gkv_version": (c_char_p, []),
    "gkv_stage_name": (c_char_p, [c_int]),
    "gkv_cpu": (c_char_p, []),
    "gkv_methods": (POINTER(gkv_method), [_SIZE]),
    "gkv_schedules": (POINTER(gkv_schedule), [_SIZE]),
    "gkv_model_open": (c_int, [_OUT, c_char_p, c_uint, _ERR]),
    "gkv_model_close": (None, [c_void_p]),
    "gkv_model_describe_size": (None, [c_void_p, POINTER(gkv_model_info), c_size_t]),
    "gkv_model_fingerprint": (c_uint64, [c_void_p]),
    "gkv_model_layers": (c_int, [c_void_p, c_uint32, c_uint32, c_char_p, _ERR]),
    "gkv_tokenize": (c_int, [c_void_p, c_char_p, c_size_t, c_uint, POINTER(POINTER(c_uint32)), _SIZE, _ERR]),
    "gkv_detokenize": (c_int, [c_void_p, POINTER(c_uint32), c_size_t, _OUT, _SIZE, _ERR]),
    "gkv_options_init_size": (None, [_OPT, c_size_t]),
    "gkv_document_open": (c_int, [_OUT, c_void_p, _OPT, _ERR]),
    "gkv_document_feed": (c_int, [c_void_p, c_char_p, c_size_t, _ERR]),
    "gkv_document_end_file": (c_int, [c_void_p, _ERR]),
    "gkv_document_close": (None, [c_void_p]),
    "gkv_document_text": (c_void_p, [c_void_p, c_size_t, _SIZE]),
    "gkv_document_tokens": (c_uint64, [c_void_p]),
    "gkv_document_hash": (c_uint64, [c_void_p]),
    "gkv_document_join": (c_int, [_OUT, _OUT, c_size_t, _ERR]),
    "gkv_session_of": (c_int, [_OUT, c_void_p, _OPT, _ERR]),
    "gkv_session_for": (c_int, [_OUT, c_void_p, c_void_p, _OPT, _ERR]),
    "gkv_session_turns": (c_int, [c_void_p, POINTER(gkv_turn), c_size_t, _ERR]),
    "gkv_ask": (c_int, [c_void_p, c_char_p, c_size_t, _ERR]),
    "gkv_select": (c_int, [c_void_p, c_char_p, c_size_t, _ERR]),
    "gkv_next": (c_int, [c_void_p, _OUT, _SIZE, _ERR]),
    "gkv_cancel": (None, [c_void_p]),
    "gkv_session_kept": (POINTER(gkv_kept), [c_void_p, _SIZE]),
    "gkv_session_text": (c_void_p, [c_void_p, c_size_t, _SIZE]),
    "gkv_session_stats_size": (None, [c_void_p, POINTER(gkv_stats), c_size_t]),
    "gkv_session_close": (None, [c_void_p]),
    "gkv_library_open": (c_int, [_OUT, c_char_p, c_uint, _ERR]),
    "gkv_library_close": (None, [c_void_p]),
    "gkv_library_fits": (c_int, [c_void_p, c_void_p, c_int32, _ERR]),
    "gkv_library_put": (c_int, [c_void_p, POINTER(gkv_source), c_void_p, _OPT, _ERR]),
    "gkv_library_note": (c_int, [c_void_p, POINTER(gkv_source), _ERR]),
    "gkv_library_remove": (c_int, [c_void_p, c_char_p, _ERR]),
    "gkv_library_find": (c_int, [c_void_p, c_char_p, c_char_p, c_size_t, _SIZE, _ERR]),
    "gkv_library_entry_size": (None, [c_void_p, c_size_t, POINTER(gkv_library_entry_info), c_size_t]),
    "gkv_library_get_size": (c_int, [c_void_p, c_char_p, POINTER(gkv_library_entry_info), c_size_t, _ERR]),
    "gkv_library_load": (c_int, [c_void_p, c_char_p, c_void_p, _OPT, _OUT, _ERR]),
    "gkv_library_verify_quick": (c_int, [c_void_p, c_char_p, _ERR]),
}


def candidates() -> list[str]:
    """Names to open, in this order: only $GEMKV_LIBRARY if that is set."""
    named = os.environ.get("GEMKV_LIBRARY")
    if named:
        return [named]
    found = ctypes.util.find_library("gemkv")
    here = Path(__file__).parent
    # The loader does not know /usr/local/lib before somebody has run ldconfig.
    return [*([found] if found else []), SONAME, str(here / SONAME), f"/usr/local/lib/{SONAME}"]


def check_version(version: str, path: str) -> None:
    """Raise ImportError unless a library of this version has all that this module needs."""
    number = re.match(r"(\d+)\.(\d+)", version)
    have = (int(number[1]), int(number[2])) if number else (-1, -1)
    if have[0] != HEADER[0] or have < HEADER:
        raise ImportError(
            f"{path} is libgemkv {version}, and this module needs {HEADER[0]}.{HEADER[1]} or a later {HEADER[0]}.x; "
            "install both of the same version, or set GEMKV_LIBRARY to the path of another libgemkv.so"
        )


def load() -> tuple[Any, str]:
    """The library, with the types of its functions, and the name that it was opened by."""
    library, path = None, ""
    why = []
    for path in candidates():
        try:
            library = ctypes.CDLL(path)
            break
        except OSError as error:
            why.append(str(error))
    if library is None:
        raise ImportError(
            "libgemkv was not found; install it (./configure && make && sudo make install && sudo ldconfig), or "
            f"set GEMKV_LIBRARY to the path of libgemkv.so ({'; '.join(why)})"
        )
    try:
        library.gkv_version.restype = c_char_p
        check_version(library.gkv_version().decode(), path)
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(library, name)
            function.restype = result
            function.argtypes = arguments
    except AttributeError as error:
        raise ImportError(f"{path} is no libgemkv, or too old a one: {error}") from None
    return library, path


lib, lib_path = load()
libc: Any = ctypes.CDLL(None)
libc.free.restype = None
libc.free.argtypes = [c_void_p]


class _dl_info(Structure):
    _fields_ = [("file", c_char_p), ("base", c_void_p), ("symbol", c_char_p), ("address", c_void_p)]


def library_file() -> Path | None:
    """The file that the library was loaded from, or None if that cannot be found out."""
    info = _dl_info()
    try:
        libc.dladdr.argtypes = [c_void_p, POINTER(_dl_info)]
        found = libc.dladdr(ctypes.cast(lib.gkv_version, c_void_p), ctypes.byref(info))
    except AttributeError:
        return None
    return Path(os.fsdecode(info.file)).resolve() if found and info.file else None


def values(struct: Structure) -> dict[str, Any]:
    """The fields of a struct by name, text as str."""
    field = {name: getattr(struct, name) for name, *_ in type(struct)._fields_}
    return {k: v.decode("utf-8", "replace") if isinstance(v, bytes) else v for k, v in field.items()}
