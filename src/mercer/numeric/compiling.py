"""The one policy for compiled loops: is the work large enough to load them?

The answer depends on the amount of work alone, never on what a process has loaded before: a compiled loop may round
differently from NumPy, and the same call must give the same digits every time.
"""

from __future__ import annotations

#: What must be saved, in nanoseconds. The savings per step that callers state are on this scale: each puts the change of
#: loops where the benchmark row of its kernel found it.
LOADING = 2**23


def worth(steps: int, saved: float) -> bool:
    """Whether a compiled loop over this many steps, each of which saves this many nanoseconds, repays its loading.

    >>> worth(2**15, saved=256), worth(2**15 - 1, saved=256)
    (True, False)
    """
    return steps * saved >= LOADING
