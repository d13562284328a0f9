"""The rule for compiled loops: they are loaded if the work is large enough.

The answer depends on the amount of work alone, not on what a process has loaded before, because a compiled loop may round
differently from NumPy, and the same call must give the same digits every time. Only loops that have a twin in NumPy which
rounds the same way, bit for bit, may ask what a process has spent so far (`rented`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: What must be saved, in nanoseconds. The savings per step that callers state are on this scale: each puts the change of
#: loops where the benchmark row of its kernel found it.
LOADING = 2**23


def worth(steps: int, saved: float) -> bool:
    """Whether a compiled loop over this many steps, each of which saves this many nanoseconds, repays its loading.

    >>> worth(2**15, saved=256), worth(2**15 - 1, saved=256)
    (True, False)
    """
    return steps * saved >= LOADING


@contextmanager
def always() -> Iterator[None]:
    """Use compiled loops for any amount of work, in order to fill the cache beforehand."""
    global LOADING
    before, LOADING = LOADING, 0
    try:
        yield
    finally:
        LOADING = before


#: Seconds that a process spends in NumPy twins before it loads the compiler, which takes about three times as long. So a
#: process never takes much longer than the faster of the two ways. Row: first-svc-compiled.
RENT = 0.1
_spent = 0.0


def spend(seconds: float) -> None:
    """Add time that was spent in the twin of a compiled loop."""
    global _spent
    _spent += seconds


def rented() -> bool:
    """Return whether the compiler is loaded, or enough time was spent without it."""
    return "numba" in sys.modules or _spent >= RENT or LOADING == 0


_said = False


def say_so(stream: Any = None) -> None:
    """Print once, on a terminal, that a loop is being compiled: this call takes seconds, later ones do not."""
    global _said
    stream = sys.stderr if stream is None else stream
    if not _said and stream is not None and stream.isatty():
        stream.write("mercer: compiling loops for this machine, once; `mercer compile` does it beforehand\n")
        stream.flush()
    _said = True
