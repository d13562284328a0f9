"""A limit of address space (ulimit -v): what libraries reserve without using is kept small, and what fails is said.

Such a limit counts addresses, not memory. Reserving them is free elsewhere, so that allocators and threads do it lavishly.
"""

from __future__ import annotations

import ctypes
import errno
from contextlib import suppress
from pathlib import Path

from mercer.errors import MemoryBudgetError

#: M_ARENA_MAX of glibc's mallopt: every new thread reserves 64 to 128 MiB for an arena of its own otherwise.
ARENAS = -8

#: With less than this some library ends the process by itself, or never ends, while it is loaded.
FLOOR = 2**30

#: An unexpected error is laid at the limit's door where this part of it has been taken.
MUCH = 0.5


def limit() -> int | None:
    """The bytes of address space that this process may take, or None."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if most == resource.RLIM_INFINITY else int(most)


def save_addresses() -> None:
    """Let this process reserve less, where there is a limit; before threads begin and libraries are loaded."""
    if limit() is None:
        return
    with suppress(OSError, AttributeError):  # another C library than glibc
        ctypes.CDLL(None).mallopt(ARENAS, 1)


def refuse_too_little() -> None:
    """Say at once what no command can work with."""
    most = limit()
    if most is not None and most < FLOOR:
        raise MemoryBudgetError(
            f"this process may take {most / 2**20:.0f} MiB of address space (ulimit -v), in which its libraries do not "
            f"work; allow at least {FLOOR / 2**20:.0f} MiB."
        )


def ran_out(error: BaseException) -> str | None:
    """One line where an error means that there was no memory left, or None."""
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
    """The most address space that this process has taken so far; 0 where the system does not say."""
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmPeak:"):
                return int(line.split()[1]) * 1024
    return 0
