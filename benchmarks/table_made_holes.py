"""Holes made at random in complete tables: `TableRegressor()` as it is, and after filling by hand.

python -m benchmarks.table_made_holes [--rows 300] [--rates 0.01 0.05 0.3] [--sets airfoil wine] [--out FILE]

By hand: missing cells get the training median, and every column with holes an indicator column. Test rows have holes at the
same rate; for the rate "predict" they have 5 % of holes and the training rows none. Results are kept by set and rate in
`benchmarks/quality/table_made_holes.json`; a run continues where the last one ended.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.results import write_whole
from benchmarks.table_sets import load_regression

KEPT = Path(__file__).parent / "quality" / "table_made_holes.json"
SETS = ("airfoil", "concrete", "kin8nm", "power_plant", "wine")
RATES = ("0.01", "0.05", "0.3", "predict")
TESTED = 2000


def by_hand(X: Any, medians: Any, marked: Any) -> Any:
    """Return rows with medians for missing cells, and indicators for the marked columns."""
    holes = np.isnan(X)
    return np.column_stack([np.where(holes, medians, X), holes[:, marked].astype(float)])


def one(name: str, rate: str, rows: int) -> list[float]:
    """Return the RMSE of the model on tables with holes, and after filling by hand."""
    from mercer import TableRegressor

    X, y = load_regression(name)
    rng = np.random.default_rng([rows, RATES.index(rate)])
    order = rng.permutation(len(y))
    train, test = order[:rows], order[rows : rows + TESTED]
    share = 0.05 if rate == "predict" else float(rate)
    holed = np.where(rng.random(X.shape) < share, np.nan, X)
    learned = X[train] if rate == "predict" else holed[train]
    medians, marked = np.nanmedian(learned, axis=0), np.isnan(learned).any(axis=0)
    model = TableRegressor().fit(learned, y[train])
    own = model.predict(holed[test])
    other = TableRegressor().fit(by_hand(learned, medians, marked), y[train]) if marked.any() else model
    hand = other.predict(by_hand(holed[test], medians, marked))
    return [float(np.sqrt(np.mean((found - y[test]) ** 2))) for found in (own, hand)]


def main() -> None:
    """Run what is missing, then print ratios."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=300)
    options.add_argument("--rates", nargs="*", default=list(RATES), choices=RATES)
    options.add_argument("--sets", nargs="*", default=list(SETS), choices=SETS)
    options.add_argument("--again", action="store_true", help="run again what has results")
    options.add_argument("--out", type=Path, default=KEPT)
    asked = options.parse_args()
    known: dict[str, Any] = json.loads(asked.out.read_text()) if asked.out.exists() else {}
    for name in asked.sets:
        for rate in asked.rates:
            key = f"{name} {asked.rows} {rate}"
            if asked.again or key not in known:
                known[key] = one(name, rate, asked.rows)
                write_whole(asked.out, json.dumps(known, indent=1, sort_keys=True) + "\n")
    ratios = []
    for rate in asked.rates:
        found = [known[f"{name} {asked.rows} {rate}"] for name in asked.sets]
        own = [a / b for a, b in found]
        ratios += own
        shown = ", ".join(f"{name} {ratio:.3f}" for name, ratio in zip(asked.sets, own, strict=True))
        what = "missing only at predict" if rate == "predict" else f"{100 * float(rate):g} % missing"
        print(f"{what}: RMSE as it is / filled by hand: {shown}")
    mean = np.exp(np.mean(np.log(ratios)))
    print(f"Ratio to filling by hand: geometric mean {mean:.3f}, largest {max(ratios):.3f}")


if __name__ == "__main__":
    main()
