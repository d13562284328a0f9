"""How much memory this process may still take: what the machine has, and what a container or a limit leaves of it.

A container (control group) ends a process that takes more than its limit, whatever the machine has; a resource limit makes
allocations fail. Both are read anew at every question, since others of the same container take memory too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

#: A control group without a limit says "max", or a number near 2^63.
UNLIMITED = 1 << 60


def machine_bytes() -> int | None:
    """What the machine can give without swapping, or None where it does not say."""
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    with suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def limited_bytes(proc: Path = Path("/proc/self"), groups: Path = Path("/sys/fs/cgroup")) -> int | None:
    """What the limits of this process and of its control groups leave, or None where there are none."""
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
    """Pages of files that the system gives back when asked: they count as used."""
    with suppress(OSError, ValueError):
        for line in _read(path).splitlines():
            if line.startswith(f"{name} "):
                return int(line.split()[1])
    return 0


def _left_of_rlimits(proc: Path) -> Iterator[int]:
    """What RLIMIT_AS and RLIMIT_DATA leave of the address space and of the data of this process."""
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
