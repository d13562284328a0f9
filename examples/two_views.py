"""What two views share, and what separates classes

Canonical correlations of molecules and their measures, and digits along discriminant directions.

    python examples/two_views.py [--out FOLDER]

One view of a molecule is its graph, the other its solubility in water and its weight. Kernel CCA finds the function of the
graph that varies with a function of the numbers; the penalty is chosen by correlation in rows that were left out. The second
picture shows held-out digits along the two directions that separate the classes best.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import mercer
from mercer import Gaussian, KernelCCA, KernelDiscriminant, WeisfeilerLehman


def molecules(folder: Path) -> None:
    """Correlate graphs of molecules with numbers."""
    import matplotlib.pyplot as plt

    graphs, solubility = mercer.datasets.load_solubility_graphs()
    n = min(600, len(graphs))
    rows = np.random.default_rng(0).permutation(len(graphs))[:n]
    sizes = np.array([graphs[i].n_nodes for i in rows], dtype=float)
    numbers = np.column_stack([np.asarray(solubility, dtype=float)[rows], np.log(sizes)])
    numbers = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    views = [[graphs[i] for i in rows], numbers]
    half = n // 2
    train, test = [view[:half] for view in views], [view[half:] for view in views]
    model = KernelCCA([WeisfeilerLehman(2).normalized(), Gaussian("median")], 2).fit(train)
    print(model)
    print(f"correlation in {n - half} other molecules: {model.score(test):.3f}")
    graphs_seen, numbers_seen = model.transform(test)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    left.semilogx(model.alphas_, model.held_out_, "o-", ms=4)
    left.axvline(model.alpha_, color="k", lw=1, ls="--")
    left.set(xlabel="penalty alpha", ylabel="correlation in rows left out")
    shown = right.scatter(graphs_seen[:, 0], numbers_seen[:, 0], c=test[1][:, 0], s=10, cmap="viridis")
    right.set(xlabel="function of the graph", ylabel="function of the numbers", title="molecules not seen in the fit")
    figure.colorbar(shown, ax=right, label="solubility (standardized)")
    figure.savefig(folder / "two_views.png", dpi=110)


def separated(folder: Path) -> None:
    """Project digits that were not seen on the first two directions."""
    import matplotlib.pyplot as plt

    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[:900], order[900:]
    model = KernelDiscriminant(Gaussian("median")).fit(X[train], y[train])
    print(f"\n{model}\naccuracy on {len(test)} other digits: {model.score(X[test], y[test]):.4f}")
    P = model.transform(X[test])
    figure, panel = plt.subplots(figsize=(6, 5), layout="constrained")
    panel.scatter(P[:, 0], P[:, 1], c=y[test], cmap="tab10", s=8)
    for digit in range(10):
        panel.annotate(str(digit), P[y[test] == digit, :2].mean(axis=0), fontsize=14, weight="bold")
    panel.set(xlabel="first direction", ylabel="second direction", title="digits not seen in the fit")
    figure.savefig(folder / "discriminant_digits.png", dpi=110)


def main() -> None:
    """Fit, print, draw."""
    parser = argparse.ArgumentParser(description="Two views of molecules, and directions that separate digits.")
    parser.add_argument("--out", type=Path, default=Path("build/examples"), help="folder for the pictures")
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    molecules(chosen.out)
    separated(chosen.out)


if __name__ == "__main__":
    main()
