"""Figures of the chapter on structure without labels."""

from __future__ import annotations

from typing import Any

import numpy as np


def held_out(model: Any, test: Any) -> Any:
    """Draw the held-out correlations of a KernelCCA over its penalty, and new rows along the first pair of functions."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
    left.semilogx(model.alphas_, model.held_out_, "o-", ms=4)
    left.axvline(model.alpha_, color="k", lw=1, ls="--")
    left.set(xlabel="penalty alpha", ylabel="correlation in rows left out")
    first, second = model.transform(test)
    right.scatter(first[:, 0], second[:, 0], s=8)
    right.set(xlabel="function of the left half", ylabel="function of the right half", title="digits not seen in the fit")
    return figure


def thinned(X: Any, places: Any) -> Any:
    """Draw all rows, and the thinned ones beside random ones."""
    import matplotlib.pyplot as plt

    random = np.random.default_rng(1).choice(len(X), len(places), replace=False)
    figure, panels = plt.subplots(1, 2, figsize=(9.5, 4.0), layout="constrained")
    for panel, rows, name in zip(panels, (random, places), ("random", "thinned"), strict=True):
        panel.scatter(X[:, 0], X[:, 1], s=2, color="lightgray")
        panel.scatter(X[rows, 0], X[rows, 1], s=20)
        panel.set(title=f"{len(rows)} {name} rows", aspect="equal")
    return figure
