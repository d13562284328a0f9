"""The decorator of compiled loops: code is kept on disk, and compilation is reported.

numba reads all its declarations of types and functions before it loads code from disk, which takes longer than loading.
Only the compiler needs them, so here they are read where code is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import numba
from numba.core import event
from numba.core.caching import FunctionCache
from numba.core.runtime import rtsys  # type: ignore[attr-defined]

from mercer.numeric.compiling import say_so


class _StoredCode(FunctionCache):
    """The compiled forms of one loop on disk."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled form for a signature, or None."""
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            found = self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]
            if found is not None:
                return found
        return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return numba.njit with these options; code is kept on disk and runs without the interpreter's lock."""

    def compiled(function: Callable[..., Any]) -> Any:
        loop: Any = numba.njit(**{"nogil": True} | options)(function)
        loop._cache = _StoredCode(function)  # type: ignore[no-untyped-call]
        return loop

    return compiled


@final
class _Notice(event.Listener):
    def on_start(self, event: Any) -> None:
        if event.data["dispatcher"].py_func.__module__.startswith("mercer."):
            say_so()

    def on_end(self, event: Any) -> None:
        """Report nothing."""


event.register("numba:compile", _Notice())  # type: ignore[no-untyped-call]
