"""`mercer compile`: compile every numba loop in advance, by running all of them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from mercer.cli.output import print_text
from mercer.errors import plural


def compile() -> int:
    """Compile all loops for this machine, so that first calls do not wait for the compiler.

    The compiled code is stored in the package, or in the folder given by the variable NUMBA_CACHE_DIR.
    """
    from mercer.cli.loop_calls import EXERCISES, loops, reached
    from mercer.numeric.compiling import always

    start = time.perf_counter()
    with always():
        for exercise in EXERCISES:
            exercise()
    found = loops()
    compiled = sum(sum(loop.stats.cache_misses.values()) for loop in found.values())
    print_text(
        f"{len(reached(found))} loops are ready; {plural(compiled, 'form')} compiled now, in "
        f"{time.perf_counter() - start:.1f} s. They are stored in {folder(next(iter(found.values())))}."
    )
    return 0


def folder(loop: Any) -> Path:
    """Return the folder of the compiled code."""
    return Path(loop.stats.cache_path).parent if loop.stats.cache_path else Path()
