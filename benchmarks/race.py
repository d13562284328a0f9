"""Time contestants in turns in one process: a slow minute of the machine then affects all of them."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.row import Peer, Timed

#: One reading of the clock covers at least this long; quicker calls are repeated inside it.
SHORTEST = 0.02
#: Calls longer than this are warm after one run.
LONG_CALL = 5.0


class ContestantError(RuntimeError):
    """A contestant broke a rule of the race."""


@dataclass(frozen=True)
class Timing:
    """The readings of one contestant, in seconds per call."""

    times: tuple[float, ...]
    loops: int = 1
    first: float | None = None  # the cold call, compilation and all

    @property
    def median(self) -> float:
        return float(np.median(self.times))

    @property
    def spread(self) -> float:
        """The interquartile range over the median."""
        low, high = np.quantile(self.times, [0.25, 0.75])
        return float((high - low) / self.median) if self.median > 0 else 0.0


@dataclass(frozen=True)
class Warm:
    """A contestant that has run: the result to compare, and how long calls take."""

    result: Any
    first: float
    loops: int


def warm(contestant: Peer, data: Any) -> Warm:
    """Run a contestant off the record, until nothing is left to compile or load."""
    for module in contestant.modules:
        __import__(module)
    threads = _blas_threads()
    first, result = _call(contestant, data, 1)
    again = first if contestant.once or first > LONG_CALL else _call(contestant, data, 1)[0]
    _check_threads(contestant, threads)
    loops = 1 if isinstance(result, Timed) else max(1, math.ceil(SHORTEST / max(again, 1e-9)))
    return Warm(result.value if isinstance(result, Timed) else result, first, min(loops, 10_000))


def race(
    contestants: Sequence[Peer],
    data: Any,
    repeats: int,
    loops: dict[str, int],
    progress: Callable[[int], None] | None = None,
) -> dict[str, tuple[float, ...]]:
    """Return the readings of every contestant. Each round starts with another contestant, so none is always first."""
    times: dict[str, list[float]] = {one.name: [] for one in contestants}
    for turn in range(repeats):
        start = turn % len(contestants)
        for contestant in [*contestants[start:], *contestants[:start]]:
            threads = _blas_threads()
            seconds, _ = _call(contestant, data, loops[contestant.name])
            _check_threads(contestant, threads)
            times[contestant.name].append(seconds)
        if progress is not None:
            progress(turn + 1)
    return {name: tuple(readings) for name, readings in times.items()}


def _call(contestant: Peer, data: Any, loops: int) -> tuple[float, Any]:
    """Seconds per call, and the last result; the caller drops it off the clock."""
    inputs = [contestant.inputs(data) for _ in range(loops)]
    run, result = contestant.run, None
    gc.collect()
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        start = time.perf_counter()
        for one in inputs:
            result = run(one)
        seconds = (time.perf_counter() - start) / loops
    finally:
        if was_enabled:
            gc.enable()
    return (result.seconds if isinstance(result, Timed) else seconds), result


def _blas_threads() -> dict[str, int]:
    from threadpoolctl import threadpool_info

    return {library["filepath"]: library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def _check_threads(contestant: Peer, before: dict[str, int]) -> None:
    """A contestant that leaves BLAS with fewer threads would slow down the next one, and win by it."""
    after = _blas_threads()
    changed = [path for path in before if path in after and before[path] != after[path]]
    if changed:
        raise ContestantError(
            f"{contestant.name} left BLAS with {after[changed[0]]} threads; there were {before[changed[0]]}"
        )
