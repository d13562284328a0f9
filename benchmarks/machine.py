"""What this machine can do at best: the constants behind "% of limit", measured before every run."""

from __future__ import annotations

import dataclasses
import os
import platform
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.exponential import Exp, candidates

DTYPES = ("float32", "float64")
#: The three buffers of one thread's exp together: half of the smallest L2 cache in use today.
EXP_BYTES = 256 * 2**10
#: Several times the largest L3 cache of a desktop.
STREAM_BYTES = 256 * 2**20
#: Written down with every run; the peers of a row add their own.
PACKAGES = ("mercer", "numpy", "scipy", "scikit-learn", "numba")


@dataclass(frozen=True)
class Constants:
    """Rates per second with all threads at work: flops, exponentials, bytes."""

    gemm: dict[str, float]
    exp: dict[str, float]
    exp_by: dict[str, str]  # which of benchmarks.exponential was the fastest
    read: float
    write: float
    copy: float  # bytes read plus bytes written
    touch: float  # first writing to fresh memory: what a new result costs beside its values; not part of any limit

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Constants:
        return cls(**values)


def cpu_count() -> int:
    """The number of processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def measure(scale: float = 1.0, repeats: int = 5) -> Constants:
    """Measure all constants in about ten seconds; `scale` < 1 shrinks the arrays, for tests."""
    side = max(32, int(4096 * scale))
    length = max(1024, int(STREAM_BYTES * scale) // 8)
    with ThreadPoolExecutor(cpu_count()) as pool:
        gemm = {dtype: _gemm(side, dtype, min(repeats, 3)) for dtype in DTYPES}
        exps = {dtype: _exp(pool, dtype, max(2, int(400 * scale)), repeats) for dtype in DTYPES}
        source, target = np.ones(length), np.zeros(length)
        nbytes = float(source.nbytes)
        # np.max reads with SIMD and keeps up with memory; a sum would wait for its own additions
        read = nbytes / _best(lambda: _each(pool, lambda part: source[part].max(), length), repeats)
        write = nbytes / _best(lambda: _each(pool, lambda part: target[part].fill(1.0), length), repeats)
        copy = 2 * nbytes / _best(lambda: _each(pool, lambda part: _assign(target, source, part), length), repeats)
        touch = nbytes / min(_touch(pool, length) for _ in range(repeats))
    exp, exp_by = {t: exps[t][0] for t in DTYPES}, {t: exps[t][1] for t in DTYPES}
    return Constants(gemm, exp, exp_by, read, write, copy, touch)


def _best(run: Callable[[], Any], repeats: int) -> float:
    """The least time: a limit is what the machine did when nothing was in its way."""
    run()
    return min(_seconds(run) for _ in range(repeats))


def _seconds(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _gemm(side: int, dtype: str, repeats: int) -> float:
    rng = np.random.default_rng(0)
    a, b = (rng.random((side, side), dtype=np.dtype(dtype)) for _ in range(2))
    out = np.empty_like(a)
    return 2.0 * side**3 / _best(lambda: np.matmul(a, b, out=out), repeats)


def _exp(pool: ThreadPoolExecutor, dtype: str, loops: int, repeats: int) -> tuple[float, str]:
    """The best rate of all implementations we have, and its name."""
    size = EXP_BYTES // 3 // np.dtype(dtype).itemsize

    def work(exponential: Exp) -> None:
        values = np.linspace(-10.0, 0.0, size, dtype=dtype)  # where the exponents of kernels lie
        out, spare = np.empty_like(values), np.empty_like(values)
        for _ in range(loops):
            exponential(values, out, spare)  # gives up the GIL

    threads = cpu_count()
    rates = []
    for name, exponential in candidates(dtype).items():
        work(exponential)  # compiles, before several threads would do so at once
        seconds = _best(partial(_all, pool, work, [exponential] * threads), repeats)
        rates.append((threads * loops * size / seconds, name))
    return max(rates)


def _all(pool: ThreadPoolExecutor, work: Callable[[Any], Any], items: Sequence[Any]) -> None:
    list(pool.map(work, items))


def _each(pool: ThreadPoolExecutor, work: Callable[[slice], Any], length: int) -> None:
    """Run `work` on one contiguous part of the array per thread."""
    bounds = np.linspace(0, length, cpu_count() + 1).astype(int)
    _all(pool, work, [slice(a, b) for a, b in pairwise(bounds)])


def _assign(target: NDArray[Any], source: NDArray[Any], part: slice) -> None:
    target[part] = source[part]


def _touch(pool: ThreadPoolExecutor, length: int) -> float:
    fresh = np.empty(length)  # the operating system hands out its pages at the first write
    return _seconds(lambda: _each(pool, lambda part: fresh[part].fill(1.0), length))


def describe() -> dict[str, Any]:
    """The machine and how busy it is; no names of hosts or people."""
    from threadpoolctl import threadpool_info

    blas = sorted(
        {
            f"{lib['internal_api']} {lib.get('version')} ({lib.get('architecture')})"
            for lib in threadpool_info()
            if lib["user_api"] == "blas"
        }
    )
    return {
        "cpu": _cpu_name(),
        "threads": cpu_count(),
        "memory_bytes": _memory_bytes(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "blas": ", ".join(blas),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


def _cpu_name() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def versions(packages: tuple[str, ...] | list[str]) -> dict[str, str]:
    """The versions of those packages that are installed."""
    found = {}
    for package in packages:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found
