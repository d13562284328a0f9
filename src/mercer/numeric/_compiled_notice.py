"""Report compilation of numba functions; functions that come from the cache are not reported.

Every module of compiled loops imports this one.
"""

from __future__ import annotations

from typing import Any, final

from numba.core import event

from mercer.numeric.compiling import say_so


@final
class _Notice(event.Listener):
    def on_start(self, event: Any) -> None:
        if event.data["dispatcher"].py_func.__module__.startswith("mercer."):
            say_so()

    def on_end(self, event: Any) -> None:
        """Report nothing."""


event.register("numba:compile", _Notice())  # type: ignore[no-untyped-call]
