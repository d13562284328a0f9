"""Handwritten digits for the examples: MNIST where it lies beside the project, else the ones that scikit-learn carries."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MNIST = Path(__file__).resolve().parents[2] / "shared" / "data" / "mnist.npz"


class Digits(NamedTuple):
    """Images of 32 x 32 pixels in [0, 1] as rows, and their digits."""

    train: NDArray[np.float64]  # (n, 1024)
    train_digits: NDArray[np.int64]  # (n,)
    test: NDArray[np.float64]  # (m, 1024)
    test_digits: NDArray[np.int64]  # (m,)
    origin: str


def load(n_train: int, n_test: int, seed: int = 0, mnist: Path = MNIST) -> Digits:
    """Draw training and test images by seed; 28 x 28 pixels are padded to 32 x 32, 8 x 8 enlarged."""
    rng = np.random.default_rng(seed)
    if mnist.exists():
        with np.load(mnist) as file:
            parts = []
            for name, count in (("train", n_train), ("test", n_test)):
                rows = rng.permutation(len(file[f"y_{name}"]))[:count]
                images = file[f"X_{name}"][rows].reshape(-1, 28, 28) / 255.0
                padded = np.pad(images, ((0, 0), (2, 2), (2, 2)))
                parts += [padded.reshape(len(rows), -1), file[f"y_{name}"][rows].astype(np.int64)]
        return Digits(*parts, "MNIST, 28 x 28 pixels padded to 32 x 32")
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    rows = rng.permutation(len(y))
    n_train = min(n_train, len(y) * 3 // 4)  # there are 1797 of them
    large = np.kron(X.reshape(-1, 8, 8) / 16.0, np.ones((4, 4))).reshape(len(y), -1)
    train, test = rows[:n_train], rows[n_train : n_train + n_test]
    return Digits(large[train], y[train], large[test], y[test], "scikit-learn's digits, 8 x 8 pixels enlarged to 32 x 32")
