# SPDX-License-Identifier: BSD-2-Clause
"""Objects of the library, closed in the right order."""

from __future__ import annotations

import threading
from collections.abc import Callable
from ctypes import c_void_p
from typing import Any

from ._errors import InvalidError

# One for all: it is held for a moment only.  A garbage collection may come in between and close other handles
# from the same thread, so it has to be an RLock.
_lock = threading.RLock()


class Handle:
    """A pointer and the function that closes it.

    An object of the library has to be closed after those that were made from it, while Python closes in any
    order.  So a handle that is dropped is closed when the last one made from it is.
    """

    def __init__(
        self,
        what: str,
        pointer: c_void_p,
        close: Callable[[Any], None],
        parent: Handle | None = None,
        keep: object = None,
    ) -> None:
        """keep: what has to live as long, strings and callbacks that the library knows by their address."""
        self._keep = keep
        self._what = what
        self._pointer = pointer.value
        self._close = close
        self._parent = parent
        self._children: set[int] = set()
        self._dropped = False
        if parent:
            with _lock:
                parent._children.add(id(self))

    @property
    def pointer(self) -> int:
        """The pointer; InvalidError if it was dropped."""
        if self._dropped or self._pointer is None:
            raise InvalidError(f"the {self._what} is closed")
        return self._pointer

    @property
    def dropped(self) -> bool:
        return self._dropped

    def hold(self) -> Hold:
        """A with block, during which the pointer stays valid even if another thread drops the handle."""
        return Hold(self)

    def drop(self) -> None:
        """Close it as soon as nothing needs it.  Nobody may use it from now on."""
        self._dropped = True
        self._settle()

    def forget(self) -> None:
        """Something else closes it."""
        self._close = lambda pointer: None
        self.drop()

    def _settle(self) -> None:
        with _lock:
            if not self._dropped or self._children or self._pointer is None:
                return
            pointer, self._pointer = self._pointer, None
        self._close(pointer)
        if self._parent:
            with _lock:
                self._parent._children.discard(id(self))
            self._parent._settle()

    def __del__(self) -> None:
        if hasattr(self, "_dropped"):
            self.drop()


class Hold:
    """See Handle.hold."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    def __enter__(self) -> int:
        with _lock:
            pointer = self._handle.pointer
            self._handle._children.add(id(self))
        return pointer

    def __exit__(self, *_: object) -> None:
        with _lock:
            self._handle._children.discard(id(self))
        self._handle._settle()
