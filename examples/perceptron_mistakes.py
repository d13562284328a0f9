r"""The perceptron's mistakes and Novikoff's bound

The perceptron's mistakes against Novikoff's bound $R^2 / \gamma^2$, as the margin shrinks.

    python examples/perceptron_mistakes.py [--out FOLDER]

Points of the unit disc are kept if they lie farther than gamma from a line. The number of updates never exceeds the
bound, whatever the order of the points; there it is far from met, since the worst order of the worst points is rare.
Orthogonal points are that worst case: every one of n is a mistake once, R = 1, the largest margin is $1/\sqrt{n}$, and
$R^2/\gamma^2 = n$. The pictures show the length of the weights between the two lines of the proof, for both.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from mercer import KernelPerceptron, Linear

MARGINS = (0.4, 0.2, 0.1, 0.05, 0.02)


def sample(margin: float, n: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """n points of the unit disc at distance >= margin from the line x1 + x2 = 0, and their side of it."""
    rng, found = np.random.default_rng(seed), np.empty((0, 2))
    while len(found) < n:
        X = rng.uniform(-1, 1, size=(4 * n, 2))
        keep = (np.linalg.norm(X, axis=1) <= 1) & (np.abs(X.sum(axis=1)) / 2**0.5 >= margin)
        found = np.vstack([found, X[keep]])
    return found[:n], np.where(found[:n].sum(axis=1) > 0, 1, -1)


def table(orders: int = 10) -> list[tuple[float, float, int, int, float]]:
    """Requested margin, hard margin, fewest and most updates over several orders, and the bound."""
    rows = []
    for margin in MARGINS:
        X, y = sample(margin)
        models = [KernelPerceptron(Linear(), random_state=seed, margin="hard").fit(X, y) for seed in range(orders)]
        updates = [model.n_updates_ for model in models]
        gamma = models[0].ledger_.hard_margin
        rows.append((margin, gamma, min(updates), max(updates), models[0].radius_ ** 2 / gamma**2))
    return rows


def orthogonal(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """n orthonormal points with random labels: w = sum_i y_i x_i / sqrt(n) has the largest margin, 1/sqrt(n)."""
    return np.eye(n), np.where(np.arange(n) == 0, 1, np.random.default_rng(seed).choice([-1, 1], n))


def main() -> None:
    """Print the table and save the picture of the smallest margin."""
    parser = argparse.ArgumentParser(description="Updates made and Novikoff's bound.")
    parser.add_argument("--out", type=Path, default=Path("build/examples"), help="folder for the pictures")
    folder = Path(parser.parse_args().out)
    folder.mkdir(parents=True, exist_ok=True)
    print(f"{'margin':>8}{'largest':>10}{'updates':>14}{'R^2/gamma^2':>14}")
    for margin, gamma, low, high, bound in table():
        print(f"{margin:8.2f}{gamma:10.4f}{f'{low} … {high}':>14}{bound:14.0f}")
    from mercer.report.perceptron import NovikoffDisplay

    print()
    from mercer.report.drawing import pyplot

    figure, axes = pyplot().subplots(1, 2, figsize=(11, 4), layout="constrained")
    runs = {"a disc, margin 0.02": sample(0.02), "60 orthogonal points": orthogonal(60)}
    for ax, (name, (X, y)) in zip(axes, runs.items(), strict=True):
        orders = [KernelPerceptron(Linear(), random_state=seed, margin="hard", stopping="mistakes") for seed in range(10)]
        model = max((order.fit(X, y) for order in orders), key=lambda fitted: fitted.n_updates_)  # the worst of ten orders
        bound = model.radius_**2 / model.ledger_.hard_margin**2
        print(f"{name}: {model.n_updates_} updates, R^2/gamma^2 = {bound:.4g}")
        NovikoffDisplay.from_estimator(model, ax=ax)
        ax.set_title(name)
    figure.savefig(folder / "perceptron_novikoff.png", dpi=100)


if __name__ == "__main__":
    main()
