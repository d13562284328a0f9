"""Seconds of `TableRegressor` by the number of rows, and how a limit of time is kept: `python -m benchmarks.table_times`.

    python -m benchmarks.table_times                             # 5,000 rows, without a limit
    python -m benchmarks.table_times --rows 50000 --sets flights
    python -m benchmarks.table_times --rows 50000 --time 10

Beside the error on 5,000 other rows stands that of HistGradientBoostingRegressor with its defaults. For an idle machine.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from benchmarks import table_sets as sets


def main() -> None:
    """One line per set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--sets", default="california_housing,protein")
    parser.add_argument("--time", type=float, default=None)
    options = parser.parse_args()
    from mercer import TableRegressor

    for name in options.sets.split(","):
        X, y = sets.load_regression(name)
        order = np.random.default_rng([0, options.rows]).permutation(len(y))[: options.rows + sets.TESTED]
        train, test = order[: options.rows], order[options.rows :]
        start = time.perf_counter()
        model = TableRegressor(time=options.time).fit(X[train], y[train])
        seconds = time.perf_counter() - start
        rival = HistGradientBoostingRegressor().fit(X[train], y[train])
        mine, other = (float(np.sqrt(np.mean((m.predict(X[test]) - y[test]) ** 2))) for m in (model, rival))
        limit = "" if options.time is None else f", time={options.time:g}"
        print(
            f"{name}, {len(train):,} rows, {X.shape[1]} columns{limit}: {seconds:.1f} s, RMSE {mine:.4f}, "
            f"boosting by default {other:.4f} ({model.result_.route}; {', '.join(a.label for a in model.result_.chosen)})",
            flush=True,
        )


if __name__ == "__main__":
    main()
