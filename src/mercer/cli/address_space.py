"""Limits of address space (ulimit -v): smaller reservations of libraries, and messages if the limit is reached.

Such a limit counts addresses, not memory. Without a limit reserving addresses is free, and allocators reserve many.
"""

from __future__ import annotations

import ctypes
import errno
from contextlib import suppress
from pathlib import Path

from mercer.errors import MemoryBudgetError

#: M_ARENA_MAX of glibc's mallopt: every new thread reserves 64 to 128 MiB for an arena of its own otherwise.
ARENAS = -8

#: With less than this some library ends the process, or hangs, while it is loaded.
FLOOR = 2**30

#: An unexpected error is attributed to the limit if the process has used this share of it.
MUCH = 0.5


def limit() -> int | None:
    """Return the limit of the address space of this process in bytes, or None."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if most == resource.RLIM_INFINITY else int(most)


def save_addresses() -> None:
    """Reduce reservations of address space if there is a limit; call it before threads start and libraries are loaded."""
    if limit() is None:
        return
    with suppress(OSError, AttributeError):  # another C library than glibc
        ctypes.CDLL(None).mallopt(ARENAS, 1)


def refuse_too_little() -> None:
    """Raise if the limit is too low for any command."""
    most = limit()
    if most is not None and most < FLOOR:
        raise MemoryBudgetError(
            f"the address space of this process is limited to {most / 2**20:.0f} MiB (ulimit -v), too little for its "
            f"libraries; allow at least {FLOOR / 2**20:.0f} MiB."
        )


def ran_out(error: BaseException) -> str | None:
    """Return a message if an error means that memory ran out, otherwise None."""
    most = limit()
    plain = isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
    if not plain and (most is None or _peak() < MUCH * most):
        return None
    what = f"{type(error).__name__}: {error}".rstrip(": ").splitlines()[0]
    if most is None:
        return f"there is not enough memory for this; take fewer rows, or let a fit use less with --memory ({what})"
    return (
        f"memory ran out: this process may take {most / 2**30:.2g} GiB of address space (ulimit -v); allow more, or take "
        f"fewer rows ({what})"
    )


def _peak() -> int:
    """Return the peak address space of this process; 0 if the system does not report it."""
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmPeak:"):
                return int(line.split()[1]) * 1024
    return 0
