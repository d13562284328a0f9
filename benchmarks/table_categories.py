"""One informative column of many levels: `TableRegressor` beside target encoding with ridge, on simulated tables.

python -m benchmarks.table_categories [--levels 40 100 500] [--runs 3]
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, TargetEncoder

from mercer import TableRegressor
from mercer.inputs.tables import Table

#: Rows that are fitted, and rows that judge.
FITTED, TESTED = 1000, 2000


def simulated(levels: int, seed: int) -> tuple[Table, np.ndarray]:
    """Return a table with a category, two numbers and noise columns; the target depends on the level and on the numbers."""
    rng = np.random.default_rng([seed, levels])
    n = FITTED + TESTED
    effect, level = rng.standard_normal(levels), rng.integers(0, levels, n)
    X = rng.standard_normal((n, 3))
    y = effect[level] + 0.5 * X[:, 0] + 0.3 * rng.standard_normal(n)
    return Table({"level": np.array([f"L{k}" for k in level]), "a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}), y


def encoded_ridge(table: Table, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Return predictions of ridge on target-encoded levels and standardized numbers."""
    import pandas as pd

    frame = pd.DataFrame({name: table[name].to_numpy() for name in table.columns})
    made = make_pipeline(
        make_column_transformer((TargetEncoder(random_state=0), ["level"]), remainder="passthrough"),
        StandardScaler(),
        RidgeCV(np.logspace(-3, 5, 17)),
    )
    return np.asarray(made.fit(frame.iloc[train], y[train]).predict(frame.iloc[test]))


def main() -> None:
    """Print root mean squared errors and their ratio by number of levels."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--levels", type=int, nargs="*", default=[40, 100, 500])
    options.add_argument("--runs", type=int, default=3)
    asked = options.parse_args()
    train, test = np.arange(FITTED), np.arange(FITTED, FITTED + TESTED)
    worst = 0.0
    for levels in asked.levels:
        errors = []
        for seed in range(asked.runs):
            table, y = simulated(levels, seed)
            model = TableRegressor(order=False).fit(table[train], y[train])
            found = [model.predict(table[test]), encoded_ridge(table, y, train, test)]
            errors.append([float(np.sqrt(np.mean((p - y[test]) ** 2))) for p in found])
        own, other = np.mean(errors, axis=0)
        worst = max(worst, own / other)
        print(f"{levels} levels: RMSE {own:.4f}, target encoding and ridge {other:.4f}, ratio {own / other:.3f}", flush=True)
    print(f"largest ratio {worst:.3f}")


if __name__ == "__main__":
    main()
