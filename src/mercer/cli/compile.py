"""`mercer compile`: compile every numba loop in advance, by running all of them."""

from __future__ import annotations

import time
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from mercer.cli.output import print_text
from mercer.errors import plural


def compile() -> int:
    """Compile all loops for this machine, so that first calls do not wait for the compiler.

    The compiled code is stored in the package, or in the folder given by the variable NUMBA_CACHE_DIR.
    """
    from mercer.cli.loop_calls import GROUPS, loops
    from mercer.numeric.threads import cpu_count

    start = time.perf_counter()
    first, *others = range(len(GROUPS))
    results = [run(first)]  # loops that all groups share: written once, before several processes write
    workers = min(cpu_count(), len(others))
    try:
        if workers < 2:
            raise OSError("one core: a second process would only wait")
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            results += pool.map(run, others)
    except (OSError, BrokenExecutor):
        results[1:] = [run(number) for number in others]
    ready = set().union(*[names for names, _ in results])
    compiled = sum(count for _, count in results)
    print_text(
        f"{len(ready)} loops are ready; {plural(compiled, 'form')} compiled now, in "
        f"{time.perf_counter() - start:.1f} s. They are stored in {folder(next(iter(loops().values())))}."
    )
    return 0


def run(number: int) -> tuple[set[str], int]:
    """Run one group of loops; return the names that are ready, and how many forms were compiled for it."""
    from mercer.cli.loop_calls import GROUPS, loops, reached
    from mercer.numeric.compiling import always

    before = _compiled(loops())
    with always():
        for exercise in GROUPS[number]:
            exercise()
    found = loops()
    return reached(found), _compiled(found) - before


def _compiled(found: dict[str, Any]) -> int:
    return sum(sum(loop.stats.cache_misses.values()) for loop in found.values())


def folder(loop: Any) -> Path:
    """Return the folder of the compiled code."""
    return Path(loop.stats.cache_path).parent if loop.stats.cache_path else Path()
