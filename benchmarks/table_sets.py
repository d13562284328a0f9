"""The tables of `benchmarks.table_quality` and how each is cut into training and test rows; shared with the rivals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
Array = NDArray[Any]

#: Regression: every reg_* set without srtm, flights (too large and noisy), yacht and energy (too small).
REGRESSION = (
    *("airfoil", "bike", "california_housing", "concrete", "elevators", "keggdirected", "keggundirected", "kin40k"),
    *("kin8nm", "parkinsons", "pol", "power_plant", "protein", "pumadyn32nm", "sml", "wine"),
)
CLASSIFICATION = ("spambase", "satellite", "letter", "shuttle", "covtype", "ijcnn1", "a9a", "w8a_train")

#: bike: the two columns that add up to the count are the target in disguise.
LEAKS = {"bike": (15, 16)}
SMALL, LARGE, TESTED, SPLITS = 2000, 10_000, 5000, 5


def load_regression(name: str, folder: Path = DATA) -> tuple[Array, Array]:  # -> (n, d), (n,)
    """Inputs without leaks, and the target in units of its standard deviation over all rows."""
    with np.load(folder / f"reg_{name}.npz") as file:
        X, y = file["X"].astype(float), file["y"].astype(float)
    X = np.delete(X, LEAKS.get(name, ()), axis=1)
    return X, (y - y.mean()) / y.std()


def load_classification(name: str, folder: Path = DATA) -> tuple[Array, Array]:  # -> (n, d), (n,)
    """Inputs and labels; published train and test parts are pooled, since the splits are drawn here."""
    with np.load(folder / f"cls_{name}.npz") as file:
        if "X" in file.files:
            return file["X"].astype(float), file["y"].astype(int)
        parts = [file[key] for key in ("X_train", "X_test") if key in file.files]
        labels = [file[key] for key in ("y_train", "y_test") if key in file.files]
    return np.concatenate(parts).astype(float), np.concatenate(labels).astype(int)


def split(n: int, seed: int, rows: int = SMALL) -> tuple[Array, Array]:
    """min(rows, two thirds of n) training rows and at most 5,000 of the others, by seed."""
    order = np.random.default_rng([seed, rows]).permutation(n)
    size = min(rows, 2 * n // 3)
    return order[:size], order[size : size + TESTED]
