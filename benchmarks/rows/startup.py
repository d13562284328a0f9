"""What `import mercer` costs in a fresh interpreter."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from benchmarks.row import Claim, Peer, Row, Timed

#: Slow to load, and of no use to somebody who only imports.
UNWANTED = ("numba", "matplotlib")

# scikit-learn first and off the clock: mercer stands on it, and whoever imports mercer has it.
AFTER_SKLEARN = f"""
import json, sys, time
import sklearn
start = time.perf_counter()
import mercer
seconds = time.perf_counter() - start
print(json.dumps({{"seconds": seconds, "loaded": [m for m in {UNWANTED!r} if m in sys.modules]}}))
"""
SKLEARN = """
import json, time
start = time.perf_counter()
import sklearn
print(json.dumps({"seconds": time.perf_counter() - start, "loaded": []}))
"""


def in_fresh_interpreter(code: str) -> Timed:
    """Run code that prints its own seconds; starting Python is not on the clock."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    return Timed(found["seconds"], found["loaded"])


def loaded(_: Any, modules: list[str]) -> dict[str, float]:
    """How many of the unwanted modules were loaded."""
    return {"numba or matplotlib loaded": float(len(modules))}


ROWS = [
    Row(
        name="import",
        title="`import mercer` after `import sklearn`, in fresh interpreters; beside it, `import sklearn` itself",
        data=lambda: None,
        mercer=lambda _: in_fresh_interpreter(AFTER_SKLEARN),
        peers=(
            Peer(
                rival=False,
                name="import sklearn",
                run=lambda _: in_fresh_interpreter(SKLEARN),
                modules=("sklearn",),
                package="scikit-learn",
            ),
        ),
        claims=(
            Claim(measure="seconds", at_most=0.3),
            Claim(measure="numba or matplotlib loaded", at_most=0),
        ),
        agreement=None,
        quality=loaded,
        repeats=15,
        memory=False,
    )
]
