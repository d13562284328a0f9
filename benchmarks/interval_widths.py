"""Intervals of table models on sixteen tables: coverage in fifths of the predictions, and widths beside an earlier rule.

    python -m benchmarks.interval_widths [--splits 5] [--sets pol wine] [--again] [--learned]

Each table is cut as in `benchmarks.table_quality`: at most 2,000 training rows, at most 5,000 test rows. The model is
`TableRegressor(kernel="Laplacian()")`, whose residuals are held out like those of every table model and which is fitted in
seconds; with `--learned` it is `TableRegressor()`, which takes a minute. The intervals for 90 % are judged on the test rows:
their mean width, and the coverage in the five fifths of the test rows by size of the prediction, pooled over splits. The
earlier rule has the same residuals and spreads, a line through the quantiles of five groups and one factor for all of them,
used if the coverage of the groups differs at the level of 5 %. Results are kept by set and split in
`benchmarks/quality/interval_widths.json`. The exit code is 1 if the geometric mean over the tables of the ratios of widths
exceeds 1, or if a worst fifth is covered by less than 88 %.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import chdtri

from benchmarks import table_sets as sets
from benchmarks.results import write_whole
from mercer import TableRegressor
from mercer.estimators.intervals import conformal_radius

KEPT = Path(__file__).parent / "quality" / "interval_widths.json"
COVERAGE, LEAST, SPLITS, GROUPS = 0.9, 0.88, 5, 5
Record = dict[str, Any]


def earlier(scores: Any, at: Any, new: Any) -> Any:  # (m,), (m,), (n,) -> (n,)
    """Return the quantiles of scores at new predictions by the earlier rule."""
    parts = np.array_split(np.argsort(at, kind="stable"), GROUPS)
    inside = scores <= conformal_radius(scores, COVERAGE)
    share = inside.mean()
    distance = sum(len(part) * (inside[part].mean() - share) ** 2 for part in parts) / (share * (1.0 - share))
    if distance <= chdtri(GROUPS - 1, 0.05):
        return np.full(len(new), conformal_radius(scores, COVERAGE))
    levels = np.array([conformal_radius(scores[part], COVERAGE) for part in parts])
    middles = np.array([np.median(at[part]) for part in parts])
    factor = conformal_radius(scores / np.interp(at, middles, levels), COVERAGE)
    return factor * np.interp(new, middles, levels)


def measure(name: str, split: int, learned: bool) -> Record:
    """Fit a model and judge both rules on the test rows."""
    X, y = sets.load_regression(name)
    train, test = sets.split(len(y), split)
    started = time.perf_counter()
    model = (TableRegressor() if learned else TableRegressor(kernel="Laplacian()")).fit(X[train], y[train])
    inputs = model.new_inputs(X[test])
    centers = model.scores(inputs)[:, 0]
    low, high = model.intervals(inputs, centers, COVERAGE).T
    radii, found = {"now": 0.5 * (high - low)}, model._calibration
    radii["earlier"] = radii["now"]
    if found.predictions is not None:  # otherwise neither rule has groups
        radii["earlier"] = earlier(found.scores, found.predictions, centers) * found.width(inputs[model.spread_scaling])
    parts = np.array_split(np.argsort(centers, kind="stable"), 5)
    record: Record = {"tested": len(test), "groups": found.groups, "seconds": round(time.perf_counter() - started, 1)}
    for rule, radius in radii.items():
        inside = np.abs(y[test] - centers) <= radius
        record[rule] = {"width": float(2.0 * radius.mean()), "fifths": [float(inside[part].mean()) for part in parts]}
    return record


def report(kept: Record, names: Sequence[str], splits: int) -> bool:
    """Print a line for each set; return whether the widths and the worst fifths are as claimed."""
    ratios, worst = [], []
    for name in names:
        found = [kept[name][str(split)] for split in range(splits)]
        fifths = {rule: np.mean([one[rule]["fifths"] for one in found], axis=0) for rule in ("now", "earlier")}
        ratio = float(np.exp(np.mean([np.log(one["now"]["width"] / one["earlier"]["width"]) for one in found])))
        ratios.append(ratio)
        worst.append(float(fifths["now"].min()))
        before = fifths["earlier"].min()
        print(
            f"{name}: covers {fifths['now'].mean():.3f}, worst fifth {worst[-1]:.3f} (earlier {before:.3f}), "
            f"width {ratio:.3f} of the earlier one"
        )
    mean = float(np.exp(np.mean(np.log(ratios))))
    good = mean <= 1.0 and min(worst) >= LEAST
    low = [f"{name} {100 * value:.1f} %" for name, value in zip(names, worst, strict=True) if value < LEAST]
    print(
        f"{'PASS' if good else 'FAIL'}: mean width {mean:.3f} of the earlier one; worst fifth of all {len(names)} sets "
        f"{100 * min(worst):.1f} %{'; below 88 %: ' + ', '.join(low) if low else ''}"
    )
    return good


def main(words: Sequence[str] | None = None) -> int:
    """Run what is missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--sets", nargs="+", default=list(sets.REGRESSION), choices=sets.REGRESSION)
    parser.add_argument("--again", action="store_true", help="run again what has results")
    parser.add_argument("--learned", action="store_true", help="models with all candidates")
    parser.add_argument("--out", type=Path, default=KEPT)
    asked = parser.parse_args(words)
    known: Record = json.loads(asked.out.read_text()) if asked.out.exists() else {}
    kept: Record = known.setdefault("learned" if asked.learned else "one kernel", {})
    for split in range(asked.splits):
        for name in asked.sets:
            if asked.again or str(split) not in kept.setdefault(name, {}):
                kept[name][str(split)] = measure(name, split, asked.learned)
                write_whole(asked.out, json.dumps(known, indent=1, sort_keys=True) + "\n")
    return 0 if report(kept, asked.sets, asked.splits) else 1


if __name__ == "__main__":
    sys.exit(main())
