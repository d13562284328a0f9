"""`KernelRidgeCV()` as a user calls it, on many rows: `python -m benchmarks.default_rows SET [SET …]`.

Sets: flights-10000, flights-200000, flights (all rows), covtype (classes, 500,000 rows), terrain (Matern 3/2, two columns).
Prints seconds against the plan, the test error with its standard error, and what was compared on how many rows. `--whole`
fits the exact surface of all rows instead (10,000 rows only; minutes).
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rows.large import regression_rows, rows_of, terrain

Array = NDArray[Any]

#: Seconds that are wanted, by set.
SECONDS = {"flights-10000": 15.0, "flights-200000": 60.0, "flights": 90.0, "covtype": 90.0, "terrain": 60.0}
METERS, COVERAGE = 3.4, (0.88, 0.92)


def data_of(name: str) -> tuple[Array, ...]:
    """Training and test rows."""
    if name == "terrain":
        X, y, new, truth = terrain().data()
        return X, y, new, truth
    if name == "covtype":
        return rows_of("cls_covtype", 555_556)
    most = int(name.rpartition("-")[2]) if "-" in name else None
    return regression_rows("reg_flights", None if most is None else int(most / 0.9))


def model_of(name: str, solver: str) -> Any:
    """The estimator with default parameters."""
    import mercer

    if name == "covtype":
        return mercer.KernelRidgeClassifier(alpha="loo", solver=solver, verbose=False)
    kernel = {"kernel": mercer.Matern(1.5)} if name == "terrain" else {}
    return mercer.KernelRidgeCV(solver=solver, verbose=False, **kernel)


def error_of(name: str, model: Any, new: Array, truth: Array) -> tuple[float, float]:
    """Test error with its standard error: the share of wrong labels, or the root mean squared error."""
    predicted = model.predict(new)
    if name == "covtype":
        wrong = (predicted != truth).astype(float)
        return float(wrong.mean()), float(wrong.std() / len(wrong) ** 0.5)
    squares = (predicted - truth) ** 2
    root = float(np.sqrt(squares.mean()))
    return root, float(squares.std() / len(squares) ** 0.5 / (2.0 * root))


def measure(name: str, solver: str) -> bool:
    """Fit one set and print what it took; return whether all is as wanted."""
    import mercer

    X, y, new, truth = data_of(name)
    model = model_of(name, solver)
    planned = mercer.plan(model, X, y).seconds
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    error, spread = error_of(name, model, new, truth)
    met = solver != "auto" or (seconds <= SECONDS[name] and 0.5 <= planned / seconds <= 2.0)
    more = ""
    if name == "terrain":
        interval = model.predict_interval(new, coverage=0.9)
        covered = float(np.mean((interval[:, 0] <= truth) & (truth <= interval[:, 1])))
        met &= error <= METERS and COVERAGE[0] <= covered <= COVERAGE[1]
        more = f", {100 * covered:.1f} % of heights in 90 % intervals"
    wanted = f", wanted {SECONDS[name]:g} s" if solver == "auto" else ""
    print(
        f"{'PASS' if met else 'FAIL'} {name} ({len(y)} rows, {solver}): {seconds:.1f} s{wanted}, planned {planned:.1f} s; "
        f"test error {error:.4f} +- {spread:.4f}{more}; {model.best_params_}; {model.surface_.how}",
        flush=True,
    )
    return met


def main(arguments: list[str] | None = None) -> int:
    """Run the selected sets; return 1 if one is not as wanted."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.default_rows", description=__doc__)
    options.add_argument("sets", nargs="*", default=list(SECONDS), metavar="SET")
    options.add_argument("--whole", action="store_true", help="fit the exact surface of all rows instead")
    asked = options.parse_args(arguments)
    warnings.simplefilter("ignore")
    met = [measure(name, "exact" if asked.whole else "auto") for name in asked.sets]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
