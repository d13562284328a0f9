"""The one policy for compiled loops: is the work large enough to load them?

The answer depends on the amount of work alone, never on what a process has loaded before: a compiled loop may round
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


#: Seconds that a process spends in NumPy twins before it loads the compiler, which takes about three times as long: never
#: much more than the better of the two ways, whatever comes. Row: first-svc-compiled.
RENT = 0.1
_spent = 0.0


def spend(seconds: float) -> None:
    """Note time that went into the twin of a compiled loop."""
    global _spent
    _spent += seconds


def rented() -> bool:
    """Whether the compiler is loaded, or enough time was spent without it."""
    return "numba" in sys.modules or _spent >= RENT or LOADING == 0


_said = False


def say_so(stream: Any = None) -> None:
    """Say once, to a person who watches, that a loop is being compiled: this call takes seconds, later ones do not."""
    global _said
    stream = sys.stderr if stream is None else stream
    if not _said and stream is not None and stream.isatty():
        stream.write("mercer: compiling loops for this machine, once; `mercer compile` does it beforehand\n")
        stream.flush()
    _said = True
