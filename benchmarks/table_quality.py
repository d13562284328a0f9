"""Quality of `TableRegressor()` and `TableClassifier()` without arguments beside tuned gradient boosting, on real tables.

    python -m benchmarks.table_quality                          # what is missing, the first split of every set first
    python -m benchmarks.table_quality --task classification
    python -m benchmarks.table_quality --rows 10000             # one split
    python -m benchmarks.table_quality --time 10                # a limit of ten seconds for every fit
    python -m benchmarks.table_quality --show                   # the tables from what is on disk

Protocol: min(2,000, two thirds of n) training rows by seed, tested on up to 5,000 of the others; errors are RMSE relative
to the standard deviation of the target over all rows. The rivals' errors are read from quality/table_rivals.json
(`benchmarks.table_rivals`), those of xRFM on the first split from quality/table_xrfm.json, with mercer's there beside
them. Every split is saved as it ends, and a second start goes on from there.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import table_sets as sets
from benchmarks.results import write_whole
from benchmarks.table_rivals import RESULTS as RIVALS
from benchmarks.table_rivals import loss
from benchmarks.table_xrfm import RESULTS as XRFM

QUALITY = Path(__file__).resolve().parent / "quality"
RESULTS = QUALITY / "table_quality.json"
COVERAGE = 0.9
Record = dict[str, Any]


def measure(X: Any, y: Any, train: Any, test: Any, task: str, limit: float | None) -> Record:
    """One fit with the defaults and what it is worth on the test rows."""
    from mercer import TableClassifier, TableRegressor

    model: Any = TableRegressor(time=limit) if task == "regression" else TableClassifier(time=limit)
    start = time.perf_counter()
    model.fit(X[train], y[train])
    found: Record = {"seconds": time.perf_counter() - start, "trained": len(train), "tested": len(test)}
    found["chosen"] = [f"{attempt.label} ({attempt.weight:.2f})" for attempt in model.result_.chosen]
    if task == "classification":
        found["errors"] = int(np.sum(model.predict(X[test]) != y[test]))
        found["log_loss"] = loss(model, X[test], y[test], task)
        return found
    prediction = model.predict(X[test])
    low, high = model.predict_interval(X[test], COVERAGE).T
    inside = (low <= y[test]) & (y[test] <= high)
    radius = np.quantile(np.abs(y[test] - prediction), COVERAGE)  # the best constant width there is, in hindsight
    constant = np.abs(y[test] - prediction) <= radius
    fifths = np.array_split(np.argsort(prediction, kind="stable"), 5)  # by size of prediction
    found |= {
        "rmse": float(np.sqrt(np.mean((prediction - y[test]) ** 2))),
        "held_out": model.result_.error,
        "inside": int(inside.sum()),
        "width": float(np.mean(high - low)),
        "fifths": [float(inside[part].mean()) for part in fifths],
        "fifths_constant": [float(constant[part].mean()) for part in fifths],
    }
    return found


def key(options: Any) -> str:
    """The entry of the file: rows, and the limit of time where there was one."""
    return str(options.rows) if options.time is None else f"{options.rows}, time={options.time:g}"


def show(results: Record, rivals: Record) -> str:
    """The tables: every set, losses included, and the geometric means."""
    lines = []
    for task, by_key in results.items():
        for name, entries in by_key.items():
            rows = name.split(",")[0]
            lines += ["", f"## {task}, {name} rows", ""]
            lines += (
                _regression(entries, rivals.get(task, {}).get(rows, {}))
                if task == "regression"
                else _classes(entries, rivals.get(task, {}).get(rows, {}))
            )
    return "\n".join(lines).strip() + "\n"


def _pairs(entry: Record, rival: Record) -> list[tuple[Record, Record]]:
    return [(entry[split], rival[split]) for split in sorted(entry) if split in rival]


def _xrfm(name: str, entry: Record, trained: int) -> str:
    """xRFM's error on the first split and, in brackets, mercer's there; it was run with 2,000 rows only."""
    known: Record = json.loads(XRFM.read_text()) if XRFM.exists() else {}
    if name not in known or "0" not in entry or trained > sets.SMALL:
        return ""
    return f"{known[name]['rmse']:.4f} ({entry['0']['rmse']:.4f})"


def _intervals(measured: list[Record]) -> tuple[str, list[tuple[float, float, float]]]:
    """Two cells of the table, and the coverages of all rows and of the worst fifth, pooled over splits."""
    if not measured:
        return " | ", []
    covered = sum(found["inside"] for found in measured) / sum(found["tested"] for found in measured)
    worst, flat = (float(np.mean([found[k] for found in measured], axis=0).min()) for k in ("fifths", "fifths_constant"))
    cells = f"{100 * covered:.1f} %, {len(measured)} splits | {100 * worst:.1f} % ({100 * flat:.1f} %)"
    return cells, [(covered, worst, flat)]


def _regression(entries: Record, rivals: Record) -> list[str]:
    lines = [
        "| set | splits | RMSE | boosting, tuned | ratio | forest | xRFM, first split (mercer) | coverage "
        "| worst fifth (constant width) | seconds |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    ratios, conditional = [], []
    for name in sorted(entries):
        pairs = _pairs(entries[name], rivals.get(name, {}))
        if not pairs:
            continue
        mine, theirs = (np.mean([p[i][k] for p in pairs]) for i, k in ((0, "rmse"), (1, "boosting")))
        forest = np.mean([p[1]["forest"] for p in pairs])
        ratio = float(np.exp(np.mean([np.log(p[0]["rmse"] / p[1]["boosting"]) for p in pairs])))
        ratios.append(ratio)
        coverage, fifths = _intervals([found for found in entries[name].values() if "fifths" in found])
        conditional += fifths
        seconds = np.median([p[0]["seconds"] for p in pairs])
        xrfm = _xrfm(name, entries[name], pairs[0][0]["trained"])
        lines.append(
            f"| {name} | {len(pairs)} | {mine:.4f} | {theirs:.4f} | {ratio:.3f} | {forest:.4f} | {xrfm} "
            f"| {coverage} | {seconds:.0f} |"
        )
    if ratios:
        lost = sum(ratio > 1 for ratio in ratios)
        lines += [
            "",
            f"Geometric mean of the ratio over {len(ratios)} sets: {np.exp(np.mean(np.log(ratios))):.3f}; lost: {lost}.",
        ]
    if conditional:
        lines += [
            "Coverage of the 90 % intervals: {:.1f} % to {:.1f} %.".format(
                *(100 * end(c[0] for c in conditional) for end in (min, max))
            ),
            f"Coverage of the worst fifth by size of prediction, pooled over splits: better on "
            f"{sum(own > flat for _, own, flat in conditional)} sets than the best constant width in hindsight, "
            "mean {:.1f} % against {:.1f} %.".format(*100 * np.mean(conditional, axis=0)[1:]),
        ]
    return lines


def _classes(entries: Record, rivals: Record) -> list[str]:
    lines = [
        "| set | splits | errors | boosting, tuned | ratio | forest | log-loss | boosting's | seconds |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    ratios = []
    for name in sorted(entries):
        pairs = _pairs(entries[name], rivals.get(name, {}))
        if not pairs:
            continue
        mine, theirs, forest = (sum(p[i][k] for p in pairs) for i, k in ((0, "errors"), (1, "boosting"), (1, "forest")))
        ratios.append((mine + 1) / (theirs + 1))
        ours, other = (np.mean([p[i][k] for p in pairs]) for i, k in ((0, "log_loss"), (1, "boosting_log_loss")))
        seconds = np.median([p[0]["seconds"] for p in pairs])
        lines.append(
            f"| {name} | {len(pairs)} | {mine} | {theirs} | {ratios[-1]:.3f} | {forest} | {ours:.4f} | "
            f"{other:.4f} | {seconds:.0f} |"
        )
    if ratios:
        lines += [
            "",
            f"Geometric mean of (errors + 1) ratios over {len(ratios)} sets: {np.exp(np.mean(np.log(ratios))):.3f}.",
        ]
    return lines


def main() -> None:
    """Measure what is missing, save after every split, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", choices=("regression", "classification"), default="regression")
    parser.add_argument("--rows", type=int, default=sets.SMALL)
    parser.add_argument("--splits", type=int, default=None)
    parser.add_argument("--sets", default="")
    parser.add_argument("--time", type=float, default=None)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    results: Record = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    rivals: Record = json.loads(RIVALS.read_text()) if RIVALS.exists() else {}
    if not options.show:
        run(options, results)
    text = show(results, rivals)
    write_whole(QUALITY / "table_quality.md", f"# Tables: mercer beside tuned gradient boosting\n\n{text}")
    print(text)
    print("\n".join(verdicts(text)))


def verdicts(text: str) -> list[str]:
    """The summary lines of the tables, each with the heading of its table."""
    found, heading = [], ""
    for line in text.splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
        elif line.startswith(("Geometric mean", "Coverage")):
            found.append(f"{heading}: {line}")
    return found


def run(options: Any, results: Record) -> None:
    """Measure what is missing."""
    regression = options.task == "regression"
    names = options.sets.split(",") if options.sets else (sets.REGRESSION if regression else sets.CLASSIFICATION)
    load = sets.load_regression if regression else sets.load_classification
    done = results.setdefault(options.task, {}).setdefault(key(options), {})
    for seed in range(options.splits or (sets.SPLITS if options.rows <= sets.SMALL else 1)):
        for name in names:
            if str(seed) in done.get(name, {}):
                continue
            X, y = load(name)
            if options.rows > sets.SMALL and len(y) < 1.2 * options.rows:
                continue
            found = measure(X, y, *sets.split(len(y), seed, options.rows), options.task, options.time)
            done.setdefault(name, {})[str(seed)] = found
            write_whole(RESULTS, json.dumps(results, indent=1, sort_keys=True) + "\n")
            print(name, seed, {k: v for k, v in found.items() if k != "chosen"}, flush=True)


if __name__ == "__main__":
    main()
