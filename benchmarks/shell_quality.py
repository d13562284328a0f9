"""`mercer fit` and `mercer predict` as a person types them, on real tables, beside tuned gradient boosting.

    python -m benchmarks.shell_quality              # what is missing, saved table by table, then the table
    python -m benchmarks.shell_quality --show       # the table from what is on disk

The training rows of the first split of `benchmarks.table_quality` (at most 2,000) are written as CSV, TSV, .csv.gz or
Parquet, `mercer fit FILE --target y` runs in a process of its own without other options, and `mercer predict` on the test
rows gives the error. The seconds are those from the command to the report, start of Python included. The rivals' errors on
the same rows are read from quality/table_rivals.json.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import table_sets as sets
from benchmarks.results import write_whole
from benchmarks.table_rivals import RESULTS as RIVALS

QUALITY = Path(__file__).resolve().parent / "quality"
RESULTS = QUALITY / "shell_quality.json"
REGRESSION = ("airfoil", "concrete", "kin8nm", "power_plant", "wine", "parkinsons", "sml", "elevators", "california_housing")
CLASSIFICATION = ("spambase", "satellite", "letter", "shuttle")
SUFFIXES = (".csv", ".csv.gz", ".tsv", ".parquet")
COVERAGE = 0.9
Record = dict[str, Any]


def write(path: Path, columns: dict[str, list[Any]]) -> None:
    """Columns as a file of the kind that its name says."""
    if path.suffix == ".parquet":
        import pyarrow as pa
        from pyarrow import parquet

        parquet.write_table(pa.table(columns), path)
        return
    opener: Any = gzip.open if path.suffix == ".gz" else open
    with opener(path, "wt", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",")
        writer.writerows([list(columns), *zip(*columns.values(), strict=True)])


def mercer(*arguments: Any) -> tuple[float, float]:
    """Run a command; returns its seconds, and those of all processors."""
    start, before = time.perf_counter(), os.times()
    command = [sys.executable, "-m", "mercer.cli", *map(str, arguments)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = os.times()
    busy = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - start, busy


def measure(name: str, task: str, suffix: str, folder: Path) -> Record:
    """One fit and one prediction through the shell."""
    load = sets.load_regression if task == "regression" else sets.load_classification
    X, y = load(name)
    target: Any = y if task == "regression" else np.array([f"class {label}" for label in y])
    train, test = sets.split(len(y), 0)
    parts = {"train": train, "test": test}
    for part, rows in parts.items():
        columns = {f"x{j}": X[rows, j].tolist() for j in range(X.shape[1])} | {"y": target[rows].tolist()}
        write(folder / f"{part}{suffix}", columns)
    seconds, busy = mercer("fit", folder / f"train{suffix}", "--target", "y", "--out", folder / "out")
    options = ("--interval", COVERAGE) if task == "regression" else ()
    predicting, _ = mercer("predict", folder / "out", folder / f"test{suffix}", *options, "--out", folder / "p.csv")
    with (folder / "p.csv").open(encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    record: Record = {"file": suffix, "rows": len(train), "tested": len(test), "seconds": seconds, "busy": busy,
                      "predicting": predicting}  # fmt: skip
    if task == "classification":
        return record | {"errors": int(np.sum(np.array([row["prediction"] for row in found]) != target[test]))}
    numbers = {key: np.array([float(row[key]) for row in found]) for key in ("prediction", "lower", "upper")}
    inside = (numbers["lower"] <= y[test]) & (y[test] <= numbers["upper"])
    error = float(np.sqrt(np.mean((numbers["prediction"] - y[test]) ** 2)))
    return record | {"rmse": error, "inside": int(inside.sum())}


def show(results: Record, rivals: Record) -> str:
    """Every table, losses included."""
    lines = [
        "| table | file | error | boosting, tuned | ratio | 90 % inside | seconds to report | processors | predicting |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    ratios = []
    for task in ("regression", "classification"):
        for name, found in sorted(results.get(task, {}).items()):
            rival = rivals[task]["2000"].get(name, {}).get("0", {}).get("boosting", np.nan)  # not tuned on every table
            if task == "regression":
                ratio = found["rmse"] / rival
                error = f"{found['rmse']:.4f} | {rival:.4f}"
                held = f"{100 * found['inside'] / found['tested']:.1f} %"
            else:
                ratio = (found["errors"] + 1) / (rival + 1)
                error, held = f"{found['errors']} wrong | {rival:g}", ""
            if np.isfinite(ratio):
                ratios.append(ratio)
            seconds = f"{found['seconds']:.1f} | {found['busy']:.1f} | {found['predicting']:.1f}"
            beside = f"{error} | {ratio:.3f}".replace("nan", "–")
            lines.append(f"| {name} | {found['file']} | {beside} | {held} | {seconds} |")
    if ratios:
        lines += ["", f"Geometric mean of the ratio over {len(ratios)} tables: {np.exp(np.mean(np.log(ratios))):.3f}; "
                  f"lost: {sum(ratio > 1 for ratio in ratios)}."]  # fmt: skip
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure what is missing, save after every table, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    results: Record = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    rivals: Record = json.loads(RIVALS.read_text())
    todo = [("regression", name) for name in REGRESSION] + [("classification", name) for name in CLASSIFICATION]
    for place, (task, name) in enumerate([] if options.show else todo):
        if name in results.get(task, {}):
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = measure(name, task, SUFFIXES[place % len(SUFFIXES)], Path(folder))
        results.setdefault(task, {})[name] = found
        write_whole(RESULTS, json.dumps(results, indent=1, sort_keys=True) + "\n")
        print(name, found, flush=True)
    text = show(results, rivals)
    write_whole(QUALITY / "shell_quality.md", f"# The tool on real tables\n\n{text}")
    print(text)


if __name__ == "__main__":
    main()
