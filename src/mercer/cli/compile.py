"""`mercer compile`: compile every loop now, so that no later process waits for one."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from mercer.cli.terminal import print_text


def compile() -> int:
    """Compile all loops for this machine and keep them, so that first calls start at once.

    They are kept beside the package, or in the folder that the variable NUMBA_CACHE_DIR names.
    """
    from mercer.cli.exercises import EXERCISES, loops, reached
    from mercer.numeric.compiling import always

    start = time.perf_counter()
    with always():
        for exercise in EXERCISES:
            exercise()
    found = loops()
    compiled = sum(sum(loop.stats.cache_misses.values()) for loop in found.values())
    print_text(
        f"{len(reached(found))} loops are ready, {compiled} forms of them compiled now, in "
        f"{time.perf_counter() - start:.1f} s; kept in {folder(next(iter(found.values())))}"
    )
    return 0


def folder(loop: Any) -> Path:
    """Where the compiled code is kept."""
    return Path(loop.stats.cache_path).parent if loop.stats.cache_path else Path()
