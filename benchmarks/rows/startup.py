"""What `import mercer` and first calls cost in a fresh interpreter, with and without compiled loops in the cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from typing import Any

from benchmarks.row import Claim, Peer, Row, Timed

#: Slow to load, and of no use to somebody who only imports.
UNWANTED = ("numba", "matplotlib")

# scikit-learn is imported first and not timed, because mercer depends on it.
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


# A first call and a second one: what the first takes longer is loading or compiling. Imports are not on the clock.
FIRST = """
import json, time
import numpy as np
import mercer
mercer.SVC, mercer.GappedSpectrum
{prepare}
seconds = []
for _ in range(2):
    start = time.perf_counter()
    {call}
    seconds.append(time.perf_counter() - start)
print(json.dumps({{"seconds": seconds[0] - seconds[1], "loaded": []}}))
"""
SVC = FIRST.format(
    prepare="X = np.random.default_rng(0).normal(size=(800, 10)); y = X[:, 0] + X[:, 1] * X[:, 2] > 0",
    call="mercer.SVC(mercer.Gaussian(3.0)).fit(X, y)",
)
GAPPED = FIRST.format(
    prepare="r = np.random.default_rng(0); X = [''.join(r.choice(list('ACGT'), size=200)) for _ in range(400)]",
    call="mercer.GappedSpectrum(6, gaps=2)(X)",
)
COMPILE = "import sys; from mercer.cli.app import app; sys.argv = ['mercer', 'compile']; app()"


def first_call(code: str, compiled: bool) -> Timed:
    """Seconds that a first call takes longer than the second, in a cache of its own: empty, or from `mercer compile`."""
    if compiled:
        return in_fresh_interpreter(code, {"NUMBA_CACHE_DIR": filled_cache().name})
    with tempfile.TemporaryDirectory() as empty:
        return in_fresh_interpreter(code, {"NUMBA_CACHE_DIR": empty})


@cache
def filled_cache() -> tempfile.TemporaryDirectory[str]:
    """What `mercer compile` leaves, made once for all rows of a run; gone with the process."""
    folder = tempfile.TemporaryDirectory()
    subprocess.run([sys.executable, "-c", COMPILE], env={**os.environ, "NUMBA_CACHE_DIR": folder.name}, check=True)
    return folder


def compile_all() -> Timed:
    """Seconds of `mercer compile` with an empty cache."""
    import time

    with tempfile.TemporaryDirectory() as empty:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", COMPILE], env={**os.environ, "NUMBA_CACHE_DIR": empty}, check=True)
        return Timed(time.perf_counter() - start)


def in_fresh_interpreter(code: str, variables: dict[str, str] | None = None) -> Timed:
    """Run code that prints its own seconds; starting Python is not on the clock."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **(variables or {})}
    )
    found = json.loads(done.stdout)
    return Timed(found["seconds"], found["loaded"])


def loaded(_: Any, modules: list[str]) -> dict[str, float]:
    """How many of the unwanted modules were loaded."""
    return {"numba or matplotlib loaded": float(len(modules))}


def first(name: str, title: str, code: str, compiled: bool) -> Row:
    """A first call; its rival is the same call with the cache in the other state."""
    return Row(
        name=name,
        title=f"{title}: seconds that the first call of a process takes longer than its second",
        data=lambda: None,
        mercer=lambda _: first_call(code, compiled),
        agreement=None,
        repeats=5 if compiled else 1,
        memory=False,
        long=True,
    )


ROWS = [
    first("first-svc-cold", "SVC, n = 800, nothing compiled", SVC, False),
    first("first-svc-compiled", "SVC, n = 800, after `mercer compile`", SVC, True),
    first("first-gapped-cold", "GappedSpectrum(6, gaps=2), 400 strings, nothing compiled", GAPPED, False),
    first("first-gapped-compiled", "GappedSpectrum(6, gaps=2), 400 strings, after `mercer compile`", GAPPED, True),
    Row(
        name="compile",
        title="`mercer compile` with an empty cache",
        data=lambda: None,
        mercer=lambda _: compile_all(),
        claims=(Claim(measure="seconds", at_most=25),),
        agreement=None,
        repeats=1,
        memory=False,
        long=True,
    ),
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
    ),
]
