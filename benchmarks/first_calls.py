"""First calls in fresh processes with a full cache: `python -m benchmarks.first_calls`.

Each estimator is fitted twice in a new process, five times. The first call minus the second is what loading costs; imports
of mercer, NumPy and the class itself are not on the clock. `--shell` times whole commands: `mercer predict` of one row and
`mercer --help`; `--cold` a first fit with an empty cache of compiled loops.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

CODE = """
import json, sys, time
import numpy as np
import mercer
r = np.random.default_rng(0)
n = {n}
{prepare}
model = {model}
before = set(sys.modules)
seconds = []
for _ in range(2):
    start = time.perf_counter(), time.process_time()
    {call}
    seconds.append((time.perf_counter() - start[0], time.process_time() - start[1]))
new = sorted({{name.partition(".")[0] for name in set(sys.modules) - before}})
print(json.dumps({{"seconds": seconds, "loaded": new}}))
"""
VECTORS = "X = r.normal(size=(n, 10)); y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]"
TEXTS = "X = [''.join(r.choice(list('ACGT'), size=30)) for _ in range(n)]"
CALLS = {
    "SVC": (VECTORS, "mercer.SVC(mercer.Gaussian(3.0))", "model.fit(X, y > 0)"),
    "ridge": (VECTORS, "mercer.KernelRidge(mercer.Gaussian(3.0), alpha=0.1)", "model.fit(X, y)"),
    "GP": (
        VECTORS,
        "mercer.GaussianProcessRegressor(mercer.Gaussian(3.0), n_restarts=0, solver='exact')",
        "model.fit(X, y)",
    ),
    "kernel PCA": (VECTORS, "mercer.KernelPCA(mercer.Gaussian(3.0), n_components=5)", "model.fit(X)"),
    "strings": (TEXTS, "mercer.Spectrum(3)", "model(X)"),
}
#: Seconds that the first call may take longer, by rows; those of a first fit with an empty cache, and of one prediction.
WANTED, COLD, PREDICT, TURNS = {300: 0.15, 12_000: 0.25}, 3.0, 0.9, 5
#: The fits that are repeated at 12,000 rows: an exact Gaussian process of that size takes minutes.
LARGE = ("SVC", "ridge", "kernel PCA", "strings")


def once(name: str, n: int, cache: str | None = None) -> tuple[float, float, float, list[str]]:
    """Wall and processor seconds that the first call took longer, the seconds of the first, and what it imported."""
    prepare, model, call = CALLS[name]
    code = CODE.format(n=n, prepare=prepare, model=model, call=call)
    variables = {**os.environ, **({} if cache is None else {"NUMBA_CACHE_DIR": cache})}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=variables)
    found = json.loads(done.stdout)
    (wall, cpu), (again, cpu_again) = found["seconds"]
    return wall - again, cpu - cpu_again, wall, found["loaded"]


def warm(sizes: list[int], names: list[str]) -> bool:
    """Print the cost of first calls; return whether all are within what is wanted."""
    passed = True
    for n in sizes:
        for name in names:
            if n > 1000 and name not in LARGE:
                continue
            once(name, n)  # a file that was never read is slower
            rows = [once(name, n) for _ in range(TURNS)]
            wall, cpu = float(np.median([row[0] for row in rows])), float(np.median([row[1] for row in rows]))
            met = wall <= WANTED.get(n, max(WANTED.values()))
            passed &= met
            numba = "numba" in rows[0][3]
            verdict = "PASS" if met else "FAIL"
            print(
                f"{verdict} {name:10} n = {n:6}: first - second {wall:.3f} s (processor {cpu:.3f} s), wanted "
                f"{WANTED.get(n)} s; numba {'loaded' if numba else 'not loaded'}; imports {', '.join(rows[0][3][:8])}",
                flush=True,
            )
    return passed


def cold(names: list[str]) -> bool:
    """A first fit of 300 rows while nothing is compiled."""
    passed = True
    for name in names:
        with tempfile.TemporaryDirectory() as empty:
            wall = once(name, 300, empty)[2]
        passed &= wall <= COLD
        print(f"{'PASS' if wall <= COLD else 'FAIL'} {name:10} n = 300, empty cache: first call {wall:.2f} s", flush=True)
    return passed


def shell() -> bool:
    """`mercer predict` of one row, and `mercer --help`: whole processes, after one that leaves bytecode."""
    with tempfile.TemporaryDirectory() as folder:
        place, table, row = Path(folder), Path(folder) / "table.csv", Path(folder) / "row.csv"
        rng = np.random.default_rng(0)
        X = rng.normal(size=(200, 4))
        lines = [",".join(f"{v:.4f}" for v in (*x, x[0] + np.sin(x[1]))) for x in X]
        table.write_text("\n".join(["a,b,c,d,y", *lines]) + "\n", encoding="utf-8")
        row.write_text("a,b,c,d\n0.1,0.2,0.3,0.4\n", encoding="utf-8")
        mercer = [str(Path(sys.executable).with_name("mercer"))]
        variables = {**os.environ, "PYTHONPYCACHEPREFIX": str(place / "bytecode")}  # as if installed from a wheel
        variables.pop("PYTHONDONTWRITEBYTECODE", None)
        fit = [*mercer, "fit", str(table), "--target", "y", "--out", str(place / "out")]
        subprocess.run(fit, capture_output=True, check=True)
        model = next((place / "out").glob("*.mercer"))
        passed = True
        predict = [*mercer, "predict", str(model), str(row)]
        for title, command, limit in (
            ("mercer predict, one row", predict, PREDICT),
            ("mercer --help", [*mercer, "--help"], 0.5),
        ):
            seconds = []
            for _ in range(TURNS + 1):
                start = time.perf_counter()
                subprocess.run(command, capture_output=True, check=True, env=variables)
                seconds.append(time.perf_counter() - start)
            middle = float(np.median(seconds[1:]))
            passed &= middle <= limit
            print(f"{'PASS' if middle <= limit else 'FAIL'} {title}: {middle:.2f} s, wanted {limit} s", flush=True)
    return passed


def main(arguments: list[str] | None = None) -> int:
    """Run the selected measurements; return 1 if one misses what is wanted."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.first_calls", description=__doc__)
    options.add_argument("--sizes", type=int, nargs="+", default=[300, 12_000])
    options.add_argument("--only", nargs="+", choices=list(CALLS), default=list(CALLS))
    options.add_argument("--cold", action="store_true")
    options.add_argument("--shell", action="store_true")
    asked = options.parse_args(arguments)
    if asked.shell:
        return 0 if shell() else 1
    return 0 if (cold(asked.only) if asked.cold else warm(asked.sizes, asked.only)) else 1


if __name__ == "__main__":
    sys.exit(main())
