"""Large tables: table models beside HistGradientBoosting with its defaults, with seconds and peak memory.

python -m benchmarks.table_large [--sets flights covtype donors] [--rows 300000] [--out FILE]

Each model runs in a process of its own, so that the peak memory is its own. Tested on 20,000 other rows. Regression is
judged by RMSE, classification by the share of mistakes. Results are kept by set in `benchmarks/quality/table_large.json`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.results import write_whole
from benchmarks.table_sets import DATA

KEPT = Path(__file__).parent / "quality" / "table_large.json"
TESTED = 20_000

#: Most seconds and bytes of a fit.
SECONDS, BYTES = 180.0, 4 * 2**30

#: File, training rows, and whether the target is a class.
SETS = {
    "flights": ("reg_flights", 300_000, False),
    "covtype": ("cls_covtype", 200_000, True),
    "donors": ("adbench/11_donors", 300_000, True),
    "elevation": ("cls_covtype", 200_000, False),
}
MODELS = ("mercer", "boosting")


def load(name: str) -> tuple[Any, Any, bool]:
    """Return the columns and the target of a set, and whether it is a class."""
    file, _, classes = SETS[name]
    path = DATA / f"{file}.npz"
    with np.load(path if path.exists() else DATA / "novelty_donors.npz") as data:
        X, y = data["X"].astype(np.float64), data["y"]
    if name == "elevation":
        X, y = X[:, 1:], X[:, 0]
    return X, (y.astype(int) if classes else y.astype(np.float64)), classes


def one(name: str, model: str, rows: int) -> dict[str, Any]:
    """Return the error of a model on other rows, the seconds of its fit, and the peak memory of this process."""
    from mercer import TableClassifier, TableRegressor
    from mercer.workflow.training import peak_bytes

    X, y, classes = load(name)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:rows], order[rows : rows + TESTED]
    X_train, y_train, X_test, y_test = X[train], y[train], X[test], y[test]
    del X
    start = time.perf_counter()
    made: Any
    if model == "mercer":
        made = (TableClassifier if classes else TableRegressor)().fit(X_train, y_train)
    else:
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        made = (HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor)(random_state=0)
        made.fit(X_train, y_train)
    seconds = time.perf_counter() - start
    found = made.predict(X_test)
    error = float(np.mean(found != y_test)) if classes else float(np.sqrt(np.mean((found - y_test) ** 2)))
    record = {"error": error, "seconds": seconds, "bytes": peak_bytes(), "rows": len(train)}
    if model == "mercer":
        record["route"] = made.result_.route
        record["chosen"] = [f"{attempt.label} ({attempt.weight:.2f})" for attempt in made.result_.chosen]
    return record


def main() -> None:
    """Run what is missing in processes of their own, then print errors, seconds and memory."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--sets", nargs="*", default=["flights", "covtype", "donors"], choices=list(SETS))
    options.add_argument("--models", nargs="*", default=list(MODELS), choices=MODELS)
    options.add_argument("--rows", type=int, default=None, help="training rows; by default those of the set")
    options.add_argument("--again", action="store_true", help="run again what has results")
    options.add_argument("--one", action="store_true", help="run in this process and print a record")
    options.add_argument("--out", type=Path, default=KEPT)
    asked = options.parse_args()
    if asked.one:
        print(json.dumps(one(asked.sets[0], asked.models[0], asked.rows)))
        return
    known: dict[str, Any] = json.loads(asked.out.read_text()) if asked.out.exists() else {}
    for name in asked.sets:
        rows = asked.rows or SETS[name][1]
        for model in asked.models:
            key = f"{name} {rows} {model}"
            if asked.again or key not in known:
                command = [sys.executable, "-m", "benchmarks.table_large", "--one", "--rows", str(rows)]
                done = subprocess.run(
                    [*command, "--sets", name, "--models", model], capture_output=True, text=True, check=True
                )
                known[key] = json.loads(done.stdout.splitlines()[-1])
                write_whole(asked.out, json.dumps(known, indent=1, sort_keys=True) + "\n")
        if asked.models == list(MODELS):
            print(line(name, rows, *(known[f"{name} {rows} {model}"] for model in MODELS)), flush=True)


def line(name: str, rows: int, own: dict[str, Any], other: dict[str, Any]) -> str:
    """Return the results of a set as text, with a verdict."""
    word = "mistakes" if SETS[name][2] else "RMSE"
    held = own["error"] <= other["error"] and own["seconds"] <= SECONDS and own["bytes"] <= BYTES
    return (
        f"{name}, {rows:,} rows: {word} {own['error']:.4g}, boosting {other['error']:.4g}; {own['seconds']:.0f} s, "
        f"{own['bytes'] / 2**30:.2f} GB (boosting {other['seconds']:.0f} s); {own['route']}: "
        f"{'reached' if held else 'NOT REACHED'}"
    )


if __name__ == "__main__":
    main()
