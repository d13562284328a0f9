"""A table with categories, dates and holes

Numbers, categories, dates and missing cells in one kernel with a proof, then `TableRegressor` with intervals.

    python examples/table_mixed.py [--out FOLDER]
"""

from __future__ import annotations

import argparse
import datetime
from pathlib import Path

import numpy as np
import polars as pl

import mercer


def bicycles(n: int, seed: int = 0) -> pl.DataFrame:
    """Rentals of bicycles by hour: the weather has holes, and one column says nothing."""
    rng = np.random.default_rng(seed)
    hours = np.sort(rng.choice(24 * 200, n, replace=False))
    start = datetime.datetime(2026, 3, 1)
    temperature = 12 + 9 * np.sin(2 * np.pi * hours / (24 * 200)) + rng.normal(0, 3, n)
    weather = rng.choice(["clear", "mist", "rain"], n, p=[0.6, 0.3, 0.1])
    rush = np.exp(-((hours % 24 - 8) ** 2) / 4) + np.exp(-((hours % 24 - 17) ** 2) / 6)
    rented = np.exp(3 + 1.5 * rush + 0.05 * temperature - 0.8 * (weather == "rain") + rng.normal(0, 0.2, n))
    return pl.DataFrame({
        "record_id": np.arange(n),
        "time": [start + datetime.timedelta(hours=int(hour)) for hour in hours],
        "temperature": [None if rng.random() < 0.15 else float(value) for value in temperature],
        "weather": [None if rng.random() < 0.15 else str(value) for value in weather],
        "rented": rented.round(),
    })  # fmt: skip


def main() -> None:
    """Fit on 500 hours, predict 200 others."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, help="a folder for the picture")
    out = parser.parse_args().out
    table = bicycles(700)
    order = np.random.default_rng(1).permutation(700)
    train, test = table[order[:500].tolist()], table[order[500:].tolist()]
    kernel = mercer.frame_kernel(train.drop("rented"))
    print(kernel)
    print("status:", kernel.certificate().status)
    print()
    model = mercer.TableRegressor(random_state=0).fit(train.drop("rented"), train["rented"].to_numpy())
    print(model.result_)
    truth = test["rented"].to_numpy()
    prediction = model.predict(test.drop("rented"))
    low, high = model.predict_interval(test.drop("rented")).T
    print()
    print(f"test RMSE {np.sqrt(np.mean((prediction - truth) ** 2)):.1f}, standard deviation {truth.std():.1f}")
    print(f"90 % intervals hold {100 * np.mean((low <= truth) & (truth <= high)):.0f} % of {len(truth)} hours")
    if out is not None:
        from lecture import save

        from mercer.report.ridge import PredictionDisplay

        interval = np.column_stack([low, high])
        display = PredictionDisplay.from_predictions(truth, prediction, interval=interval, coverage=0.9)
        save(display.figure_, out / "table_mixed.png")


if __name__ == "__main__":
    main()
