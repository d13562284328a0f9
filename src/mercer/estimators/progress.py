"""Progress of long work: the steps of loops are shown on a terminal, or sent to a function."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

Watcher = Callable[[str, int, int], None]

#: The function that receives progress instead of the terminal; set by `watched`.
_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Send the progress of all work inside to watcher(label, done, total): for programs with a bar of their own."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


class Meter:
    """A line on the terminal that appears once work has lasted `after` seconds; silent if the output is not a terminal.

    Called as meter(done, total). `verbose` True shows it at once, False never, None ("auto") when standard error is a
    terminal. Ctrl-C is left to Python: estimators set their fitted attributes only at the very end of `fit`.
    """

    def __init__(self, label: str, verbose: bool | None = None, after: float = 3.0, stream: Any = None) -> None:
        self.label = label
        self.watcher = _watcher.get()  # now, since the calls may come from other threads
        self.stream = sys.stderr if stream is None else stream
        self.shown = verbose if verbose is not None else bool(getattr(self.stream, "isatty", lambda: False)())
        self.after = 0.0 if verbose else after
        self.start = self.last = time.monotonic()
        self.written = False

    def __call__(self, done: int, total: int) -> None:
        if self.watcher is not None:
            self.watcher(self.label, done, total)
            return
        now = time.monotonic()
        if not self.shown or total == 0 or now - self.start < self.after:
            return
        if now - self.last < 0.2 and done < total:
            return
        self.last = now
        spent = now - self.start
        left = f", about {spent * (total - done) / done:.0f} s left" if 0 < done < total else ""
        self.stream.write(f"\r{self.label}: {done} of {total} ({100 * done // total} %), {spent:.0f} s{left}\x1b[K")
        self.stream.flush()
        self.written = True

    def close(self) -> None:
        """End the line, if one was written."""
        if self.written:
            self.stream.write("\n")
            self.stream.flush()

    def __enter__(self) -> Meter:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
