"""Class probabilities in the plane, counts with exposure, and a sensor that saturates

Three likelihoods: classes of a Gaussian process and of kernel logistic regression, counts of days of different length, and
numbers that are known only as a bound where a sensor saturates.

    python examples/probabilities.py [--out FOLDER]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_moons

from mercer import Gaussian, GaussianProcessClassifier, GaussianProcessRegressor, KernelLogisticRegression


def plane(figure: Any) -> None:
    """Draw P(class 1) of two models over the plane; far from the data the process returns to one half."""
    X, y = make_moons(120, noise=0.25, random_state=0)
    x, z = np.meshgrid(np.linspace(-3, 4, 80), np.linspace(-2.5, 3, 70))
    grid = np.column_stack([x.ravel(), z.ravel()])
    gp = GaussianProcessClassifier(4.0 * Gaussian(0.7)).fit(X, y)
    logistic = KernelLogisticRegression(gp.kernel_, C=1.0).fit(X, y)
    print(f"at (4, 3) the process says {gp.predict_proba([[4.0, 3.0]])[0, 1]:.2f} for class 1")
    for ax, model, title in zip(figure[:2], (gp, logistic), ("Gaussian process", "kernel logistic regression"), strict=True):
        filled = ax.contourf(x, z, model.predict_proba(grid)[:, 1].reshape(x.shape), np.linspace(0, 1, 11), cmap="RdBu")
        for label, color, marker in ((0, "mistyrose", "o"), (1, "lightcyan", "s")):
            ax.scatter(
                *X[y == label].T, c=color, marker=marker, edgecolors="black", linewidths=0.6, s=18, label=f"class {label}"
            )
        ax.legend(fontsize=8)
        ax.set(title=title)
    ax.figure.colorbar(filled, ax=list(figure[:2]), label="P(class 1)")


def counts(ax: Any) -> None:
    """Draw a rate per day from counts over one to ten days."""
    rng = np.random.default_rng(1)
    t = np.sort(rng.uniform(0, 10, 60))[:, None]
    days = rng.integers(1, 11, 60).astype(float)
    seen = rng.poisson(days * np.exp(np.sin(t[:, 0])))
    model = GaussianProcessRegressor(1.0 * Gaussian(1.5), likelihood="poisson").fit(t, seen, exposure=days)
    points = np.linspace(0, 10, 200)[:, None]
    rate, truth = model.predict(points), np.exp(np.sin(points[:, 0]))
    print(f"rate per day: mean error {np.mean(np.abs(rate - truth)):.2f} where rates are {truth.mean():.2f} on average")
    ax.scatter(t, seen / days, s=4 * days, color="black", label="counts per day")
    ax.plot(points, rate, label="estimated rate")
    ax.plot(points, truth, "--", label="true rate")
    ax.set(title="counts with exposure")
    ax.legend(fontsize=8)


def sensor(ax: Any) -> None:
    """Draw a sensor that shows 1 for all values above 1: bounds instead of numbers."""
    rng = np.random.default_rng(2)
    t = np.linspace(0, 10, 70)[:, None]
    truth = 1.6 * np.sin(t[:, 0])
    y = truth + 0.1 * rng.normal(size=70)
    bounds = np.column_stack([np.minimum(y, 1.0), np.where(y > 1.0, np.inf, y)])
    kernel = 1.0 * Gaussian(1.5)
    censored = GaussianProcessRegressor(kernel, likelihood="censored").fit(t, bounds)
    plain = GaussianProcessRegressor(kernel).fit(t, np.minimum(y, 1.0))
    high = truth > 1.2
    for name, model in (("bounds", censored), ("numbers as shown", plain)):
        f = model.predict(t)
        print(f"sensor, {name}: mean error {np.mean(np.abs(f - truth)[high]):.2f} where it saturates")
        ax.plot(t, f, label=name)
    ax.scatter(t, np.minimum(y, 1.0), s=6, color="black")
    ax.plot(t, truth, "--", color="gray", label="truth")
    ax.set(title="a sensor that saturates at 1")
    ax.legend(fontsize=8)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("build/examples"), help="folder for the pictures")
    folder = parser.parse_args().out
    from mercer.report.drawing import many_axes

    figure, axes = many_axes(None, 2, 2, (10.0, 7.0))
    plane(axes[0])
    counts(axes[1, 0])
    sensor(axes[1, 1])
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "probabilities.png", dpi=100)


if __name__ == "__main__":
    main()
