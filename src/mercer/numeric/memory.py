"""Memory: how much this process may still allocate, sizes as text, and allocations that are checked first.

A container (control group) kills a process that takes more than its limit, whatever the machine has; a resource limit makes
allocations fail. Both are read at every call, because other processes of the same container allocate too.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from numbers import Real
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from mercer.arrays import Array
from mercer.errors import InputError, MemoryBudgetError

#: The limit of a control group without one is "max", or a number near 2^63.
UNLIMITED = 1 << 60


def machine_bytes() -> int | None:
    """Return the bytes that the machine can provide without swapping, or None if unknown."""
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    with suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def limited_bytes(proc: Path = Path("/proc/self"), groups: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Return the bytes that the limits of this process and its control groups leave; None if there are no limits."""
    left = [*_left_in_groups(proc, groups), *_left_of_rlimits(proc)]
    return max(0, min(left)) if left else None


def _left_in_groups(proc: Path, groups: Path) -> Iterator[int]:
    """Limit less use of every control group this process is in, from its own up to the root, in both versions.

    Names of files are texts here: making paths takes longer than reading what they name.
    """
    try:
        lines = _read(f"{proc}/cgroup").splitlines()
    except OSError:
        return
    for line in lines:
        _, names, path = line.split(":", 2)
        if names == "":
            root, limit, used, idle = str(groups), "memory.max", "memory.current", "inactive_file"
        elif "memory" in names.split(","):
            root, limit, used = f"{groups}/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
            idle = "total_inactive_file"
        else:
            continue
        inside = path.strip("/").split("/") if path.strip("/") else []
        # inside a container the path is the one outside, which is not there: its own group is mounted as the root
        if not os.path.isdir("/".join([root, *inside])):
            inside = []
        for depth in range(len(inside), -1, -1):
            folder = "/".join([root, *inside[:depth]])
            with suppress(OSError, ValueError):
                most = int(_read(f"{folder}/{limit}"))  # "max" is no number
                if most < UNLIMITED:
                    yield most - int(_read(f"{folder}/{used}")) + _idle(f"{folder}/memory.stat", idle)


def _read(name: str) -> str:
    with open(name, encoding="utf-8") as file:
        return file.read()


def _idle(path: str, name: str) -> int:
    """Return bytes of file pages that the system can free, although they count as used."""
    with suppress(OSError, ValueError):
        for line in _read(path).splitlines():
            if line.startswith(f"{name} "):
                return int(line.split()[1])
    return 0


def _left_of_rlimits(proc: Path) -> Iterator[int]:
    """Return the bytes that RLIMIT_AS and RLIMIT_DATA leave to this process."""
    try:
        import resource
    except ImportError:  # Windows
        return
    limits = [
        (resource.getrlimit(which)[0], name)
        for which, name in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData"))
    ]
    finite = [(most, name) for most, name in limits if most != resource.RLIM_INFINITY]
    if not finite:
        return
    try:
        status = dict(line.split(":", 1) for line in _read(f"{proc}/status").splitlines())
    except (OSError, ValueError):
        status = {}
    for most, name in finite:
        yield most - int(status.get(name, "0 kB").split()[0]) * 1024


#: Default budget for one result. Fixed, so that the same script takes the same route on another day.
DEFAULT_BUDGET = 8 * 2**30

#: Reserve of a process under a limit, for libraries that are still to be loaded, stacks of threads and small arrays.
RESERVE = 256 * 2**20

#: Smaller allocations count as part of RESERVE and are not compared with limits, because reading those takes longer.
LITTLE = RESERVE // 16

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


def format_bytes(count: float) -> str:
    """Return a byte count for people.

    >>> format_bytes(3 * 2**30)
    '3.00 GiB'
    """
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.2f} GiB"


def parse_bytes(value: int | float | str | None) -> int:
    """Return a memory budget in bytes from a number or a text such as "4 GB" or "512 MiB"; None is the default budget."""
    if value is None:
        return DEFAULT_BUDGET
    if isinstance(value, str):
        number = value.strip().rstrip("KkMmGgIiBb ")
        unit = value.strip()[len(number) :].strip().upper()
        try:
            value = float(number) * _UNITS[unit]
        except (KeyError, ValueError):
            raise InputError(f"memory: cannot read {value!r}; write a number of bytes or e.g. '4 GB', '512 MiB'.") from None
    if isinstance(value, bool) or not isinstance(value, Real) or not value > 0:
        raise InputError(f"memory: a budget is a positive number of bytes or a text such as '4 GB'; got {value!r}.")
    return sys.maxsize if value == float("inf") else int(value)


def available_bytes() -> int | None:
    """Bytes that this process may still allocate: the least of machine, container and limits; None if all are unknown."""
    known = [count for count in (machine_bytes(), limited_bytes()) if count is not None]
    return min(known, default=None)


def budget_bytes(value: int | float | str | None, most: float = math.inf) -> int:
    """Return a memory budget in bytes, cut to what a container or a limit leaves: beyond that the process would be killed.

    Limits are read only if `most`, the largest need, could exceed them. Memory that happens to be free is not considered,
    because the same script must take the same route on another day.
    """
    budget = parse_bytes(value)
    limit = limited_bytes() if most > LITTLE else None
    return budget if limit is None else min(budget, max(1, limit - RESERVE))


def within(bytes_needed: int, memory: int | float | str | None) -> bool:
    """Whether an allocation is within a budget and the limits of this process; a small one is not compared with limits."""
    return bytes_needed <= min(LITTLE, parse_bytes(memory)) or bytes_needed <= budget_bytes(memory)


def check_fits(bytes_needed: int, what: str, remedy: str, budget: int | None = None) -> None:
    """Raise if a result exceeds the budget or the free memory of the machine."""
    if budget is not None and bytes_needed > budget:
        raise MemoryBudgetError(
            f"{what} needs {format_bytes(bytes_needed)}, over the memory budget of {format_bytes(budget)}. {remedy}"
        )
    free = available_bytes() if bytes_needed > LITTLE else None
    if free is not None and bytes_needed > free:
        raise MemoryBudgetError(
            f"{what} needs {format_bytes(bytes_needed)}, but only {format_bytes(free)} of memory is free. {remedy}"
        )


def allocate(shape: tuple[int, ...], dtype: DTypeLike, what: str, remedy: str, budget: int | None = None) -> Array:
    """Return an uninitialized array; raise MemoryBudgetError before allocating if it does not fit."""
    check_fits(math.prod(shape) * np.dtype(dtype).itemsize, f"{what} of shape {shape}", remedy, budget)
    return np.empty(shape, dtype)
