"""One kernel, six algorithms

A kernel is written down once, here a sum of a Gaussian and a line, and handed to six algorithms as it is.

    python examples/one_kernel.py [--out FOLDER]

Ridge regression with intervals, a Gaussian process with error bars, a support vector machine with its margins, a novelty
ball, kernel PCA and a two-sample test with its witness: each of them asks the kernel for values and nothing else.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from lecture import folder, save
from sklearn.datasets import make_moons

import mercer

KERNEL = mercer.Gaussian(length_scale=0.6) + 0.1 * mercer.Linear()


def wave(n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Noisy values of a sine on [-3, 3], with a gap."""
    rng = np.random.default_rng(0)
    x = np.sort(np.concatenate([rng.uniform(-3, 0, n // 2), rng.uniform(1, 3, n // 2)]))
    return x[:, None], np.sin(2 * x) + 0.3 * x + 0.2 * rng.normal(size=n)


def plane(X: np.ndarray, margin: float = 0.6) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A grid around some points: both coordinates, and the points of the grid as rows."""
    low, high = X.min(axis=0) - margin, X.max(axis=0) + margin
    a, b = np.meshgrid(np.linspace(low[0], high[0], 120), np.linspace(low[1], high[1], 120))
    return a, b, np.column_stack([a.ravel(), b.ravel()])


def curve(ax: Any, model: Any, band: Any, title: str, color: str) -> None:
    """A fitted function of one variable with a band."""
    X, y = wave()
    grid = np.linspace(-3.4, 3.4, 300)[:, None]
    low, high = band(grid)
    ax.fill_between(grid[:, 0], low, high, color=color, alpha=0.2, lw=0)
    ax.plot(grid[:, 0], model.predict(grid), color=color, lw=2.0)
    ax.plot(X[:, 0], y, "o", color="black", ms=3.0)
    ax.set_title(title)


def surface(ax: Any, X: np.ndarray, f: Any, labels: Any, title: str, levels: Any) -> None:
    """Level lines of a function of two variables over the points."""
    from mercer.report.drawing import BLUE, VERMILLION

    a, b, grid = plane(X)
    values = np.asarray(f(grid)).reshape(a.shape)
    most = np.abs(values).max()
    ax.contourf(a, b, values, 16, cmap="RdBu", vmin=-most, vmax=most, alpha=0.55)
    ax.contour(a, b, values, levels, colors="black", linestyles=["--", "-", "--"][-len(levels) :], linewidths=1.0)
    for kind, color in enumerate((VERMILLION, BLUE)):
        own = labels == kind
        ax.plot(*X[own].T, "o", color=color, ms=3.0)
    ax.set(title=title, xticks=[], yticks=[])


def main() -> None:
    """Fit all six, and draw."""
    out = folder(__doc__)
    from mercer.report.drawing import BLUE, GREEN, pyplot

    print(KERNEL)
    print(f"a kernel: {KERNEL.certificate().status}")
    figure, axes = pyplot().subplots(2, 3, figsize=(10.5, 6.0), layout="constrained")
    (first, second, third), (fourth, fifth, sixth) = axes
    x, y = wave()
    ridge = mercer.KernelRidge(KERNEL, alpha=0.1).fit(x, y)
    curve(first, ridge, lambda grid: ridge.predict_interval(grid, coverage=0.9).T, "ridge, 90 % intervals", BLUE)
    process = mercer.GaussianProcessRegressor(KERNEL, noise=0.04, optimizer=None).fit(x, y)

    def bars(grid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        mean, std = process.predict(grid, return_std=True)
        return mean - 1.96 * std, mean + 1.96 * std

    curve(fourth, process, bars, "Gaussian process, 95 %", GREEN)
    X, classes = make_moons(160, noise=0.2, random_state=0)
    machine = mercer.SVC(KERNEL, C=3.0).fit(X, classes)
    surface(second, X, machine.decision_function, classes, f"SVM, {len(machine.support_)} support vectors", (-1.0, 0.0, 1.0))
    print(f"{np.mean(machine.predict(X) == classes):.1%} of the moons are right")
    ball = mercer.NoveltyBall(KERNEL, quantile=0.95).fit(X)
    surface(fifth, X, ball.decision_function, np.ones(len(X)), "novelty ball", (0.0,))
    component = mercer.KernelPCA(KERNEL, n_components=1).fit(X)
    surface(third, X, lambda grid: component.transform(grid)[:, 0], np.ones(len(X)), "first principal component", (0.0,))
    test = mercer.mmd_test(X[classes == 0], X[classes == 1], KERNEL, random_state=0)
    print(f"are the two moons one distribution? p = {test.pvalue:.3g}")
    surface(sixth, X, lambda grid: -test.witness(grid), classes, f"two samples, p = {test.pvalue:.3g}", (0.0,))
    save(figure, out / "one_kernel.png")


if __name__ == "__main__":
    main()
