"""Figures of the lecture chapters that no display of the package draws."""

from __future__ import annotations

from typing import Any

import numpy as np
from guide_figures import COLORS, panels

from mercer import Gaussian, KernelKNeighborsClassifier, Linear, NearestMean


def dual_weights(X: Any, y: Any, w: Any) -> Any:
    """Draw dual coefficients against residuals, and the share of each singular direction that is left."""
    figure, (left, right) = panels(2)
    residuals = y - X @ w
    left.plot(residuals, np.linalg.solve(X @ X.T + 0.5 * np.eye(len(X)), y), "o", ms=4, color=COLORS[0])
    left.set(xlabel="residual", ylabel="dual coefficient", title="alpha = 0.5")
    s = np.geomspace(0.05, 50.0, 200)
    for i, alpha in enumerate((0.1, 1.0, 10.0)):
        right.semilogx(s, s**2 / (s**2 + alpha), color=COLORS[i], label=f"alpha = {alpha:g}")
    right.set(xlabel="singular value s", ylabel="s² / (s² + alpha)")
    right.legend(frameon=False)
    return figure


def _regions(models: dict[str, Any], X: Any, y: Any) -> Any:
    """Draw the regions of classifiers on two columns beside each other."""
    figure, axes = panels(len(models), 8.5, 3.8)
    low, high = X.min(axis=0) - 0.5, X.max(axis=0) + 0.5
    grid = np.stack(np.meshgrid(np.linspace(low[0], high[0], 150), np.linspace(low[1], high[1], 150)), axis=-1)
    classes = np.unique(y)
    for axis, (name, model) in zip(axes, models.items(), strict=True):
        found = model.fit(X, y).predict(grid.reshape(-1, 2)).reshape(grid.shape[:2])
        axis.contourf(
            grid[..., 0], grid[..., 1], (found == classes[1]).astype(float), levels=1, colors=["#f6e1d3", "#d3e4f0"]
        )
        for label, color, marker in zip(classes, (COLORS[1], COLORS[0]), "so", strict=True):
            axis.plot(*X[y == label].T, marker, ms=4, color=color, mec="white")
        axis.set(title=name, xlabel="x1", ylabel="x2")
    return figure


def neighborhoods(X: Any, y: Any) -> Any:
    """Draw the regions of five nearest neighbors by distance and by angle."""
    models = {"Linear(): distances": Linear(), "Linear().normalized(): angles": Linear().normalized()}
    return _regions({name: KernelKNeighborsClassifier(k, n_neighbors=5) for name, k in models.items()}, X, y)


def two_means(X: Any, y: Any) -> Any:
    """Draw the regions of the nearest mean for two kernels."""
    return _regions({"Linear()": NearestMean(Linear()), "Gaussian(1.0)": NearestMean(Gaussian(1.0))}, X, y)
