"""Seconds and memory of predicting many rows: `TableRegressor()` on 2,000 rows of 10 columns, then 1,000,000 rows at once.

python -m benchmarks.table_predict [--rows 1000000]
"""

from __future__ import annotations

import argparse
import time

import numpy as np


def main() -> None:
    """Fit, predict, and compare some predictions with those of few rows, which are in double precision."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=1_000_000)
    asked = options.parse_args()
    from mercer import TableRegressor
    from mercer.workflow.training import peak_bytes

    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 10))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(2000)
    start = time.perf_counter()
    model = TableRegressor().fit(X, y)
    fitted = time.perf_counter()
    new = rng.standard_normal((asked.rows, 10))
    start_prediction = time.perf_counter()
    found = model.predict(new)
    seconds = time.perf_counter() - start_prediction
    error = float(np.sqrt(np.mean((found[:2000] - model.predict(new[:2000])) ** 2)))
    members = ", ".join(f"{attempt.label} {attempt.weight:.2f}" for attempt in model.result_.chosen)
    print(f"fit: {fitted - start:.1f} s on 2,000 rows; members: {members}")
    print(
        f"{asked.rows:,} rows predicted in {seconds:.1f} s, {peak_bytes() / 2**20:.0f} MiB at most, error of single "
        f"precision {error:.2g} (held-out RMSE {model.result_.error:.3g})"
    )


if __name__ == "__main__":
    main()
