r"""A few rows for all

Thinned rows beside random ones: the distance of their means from that of all rows, over n.

    python examples/thinning.py [--most N] [--out FOLDER]

$\sqrt{n}$ of n rows are chosen from four distributions. The distance of the means (MMD) falls like $n^{-1/2}$ for thinned
rows and like $n^{-1/4}$ for random ones. The second picture shows 64 of 4,096 rows; dots have the size of their weights.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from mercer import Gaussian, GramOperator

KERNEL = Gaussian(1.5)


def ring(rng: np.random.Generator, n: int) -> np.ndarray:
    """Points beside a circle."""
    angle = rng.uniform(0.0, 2.0 * np.pi, n)
    return 3.0 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.3 * rng.normal(size=(n, 2))


DRAWS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "normal": lambda rng, n: rng.normal(size=(n, 2)),
    "mixture": lambda rng, n: rng.normal(size=(n, 2)) + 5.0 * rng.integers(0, 2, size=(n, 2)),
    "uniform in 4-d": lambda rng, n: rng.uniform(-2.0, 2.0, size=(n, 4)),
    "ring": ring,
}


def distance(X: np.ndarray, means: np.ndarray, places: Any) -> float:
    """The distance of the mean of some rows from that of all, whose inner products with the rows are `means`."""
    inner = float(np.mean(KERNEL(X[places])))
    return float(np.sqrt(max(inner - 2.0 * float(means[places].mean()) + float(means.mean()), 0.0)))


def rates(most: int, path: Path) -> None:
    """Print and draw distances over n."""
    import matplotlib.pyplot as plt

    sizes = [4**power for power in range(4, 10) if 4**power <= most]
    figure, panels = plt.subplots(1, 4, figsize=(13, 3.4), layout="constrained", sharey=True)
    for panel, (name, draw) in zip(panels, DRAWS.items(), strict=True):
        ours, random = [], []
        for n in sizes:
            here, there = [], []
            for seed in range(3):
                rng = np.random.default_rng([n, seed])
                X, m = draw(rng, n), int(np.sqrt(n))
                means = np.asarray(GramOperator(KERNEL, X) @ np.full(n, 1.0 / n))
                here.append(distance(X, means, mercer.thin(X, m, KERNEL)))
                there += [distance(X, means, rng.choice(n, m, replace=False)) for _ in range(5)]
            ours.append(float(np.mean(here)))
            random.append(float(np.mean(there)))
        panel.loglog(sizes, random, "o-", label="random rows")
        panel.loglog(sizes, ours, "s-", label="thinned rows")
        slopes = [np.polyfit(np.log(sizes), np.log(values), 1)[0] for values in (ours, random)]
        panel.set(title=f"{name}: n^{slopes[0]:.2f}, n^{slopes[1]:.2f}", xlabel="n, of which sqrt(n) are kept")
        print(f"{name:15s} thinned n^{slopes[0]:.2f}   random n^{slopes[1]:.2f}")
    panels[0].set(ylabel="distance of means (MMD)")
    panels[0].legend(frameon=False)
    figure.savefig(path, dpi=110)


def chosen_rows(path: Path) -> None:
    """Draw which rows are chosen, beside random ones."""
    import matplotlib.pyplot as plt

    X = DRAWS["mixture"](np.random.default_rng(0), 4096)
    means = np.asarray(GramOperator(KERNEL, X) @ np.full(len(X), 1.0 / len(X)))
    places = mercer.thin(X, 64, KERNEL)
    weights = mercer.thin_weights(X, places, KERNEL)
    random = np.random.default_rng(1).choice(len(X), 64, replace=False)
    figure, panels = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
    for panel, rows, name in zip(panels, (random, places), ("random", "thinned"), strict=True):
        panel.scatter(*X.T, s=2, color="lightgray")
        panel.scatter(*X[rows].T, s=64 * 30 * weights if name == "thinned" else 30.0)
        panel.set(title=f"64 {name} rows: distance {distance(X, means, rows):.4f}", aspect="equal")
    figure.savefig(path, dpi=110)


def main() -> None:
    """Choose, print, draw."""
    parser = argparse.ArgumentParser(description="A few rows that stand for all.")
    parser.add_argument("--most", type=int, default=16384, help="largest number of rows")
    parser.add_argument("--out", type=Path, default=Path("build/examples"), help="folder for the pictures")
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    rates(chosen.most, chosen.out / "thinning.png")
    chosen_rows(chosen.out / "thinning_rows.png")


if __name__ == "__main__":
    main()
