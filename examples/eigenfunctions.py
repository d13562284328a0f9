r"""Eigenfunctions of a Gaussian kernel

Eigenfunctions of a Gaussian kernel under a normal law: exact ones by Hermite functions, drawn ones at new points.

    python examples/eigenfunctions.py [--out FOLDER]

$k(x, z) = \sum_l k_l e_l(x) e_l(z)$: the first functions are slow, each next one has one more zero and a smaller $k_l$, and
a function with much of a late one is long, $\lVert f \rVert^2 = \sum_l f_l^2 / k_l$. From 300 points of the law the Gram
matrix gives nearly the same.
"""

from __future__ import annotations

import numpy as np
from lecture import folder, save, show

from mercer import Gaussian, geometry

SHOWN = 5


def compare(n: int = 300, seed: int = 0) -> list[tuple[int, float, float, float]]:
    """l, exact and drawn eigenvalue, and the mean difference of the functions on [-2, 2], signs aside."""
    sample = np.random.default_rng(seed).normal(size=(n, 1))
    exact, drawn = geometry.gaussian_eigenfunctions(1.0, 1.0, SHOWN), geometry.eigenfunctions(Gaussian(1.0), sample, SHOWN)
    x = np.linspace(-2, 2, 101)[:, None]
    E, D = exact(x), drawn(x)
    D = D * np.sign((E * D).sum(axis=0))
    return [(i, float(exact.values[i]), float(drawn.values[i]), float(np.abs(E - D)[:, i].mean())) for i in range(SHOWN)]


def main() -> None:
    """Print the table, draw the functions and the eigenvalues."""
    out = folder(__doc__)
    from mercer.report.drawing import BLUE, GRAY, GREEN, ORANGE, SKY, VERMILLION, pyplot

    show(("l", "k_l exact", "k_l drawn", "difference"), compare())
    sample, x = np.random.default_rng(0).normal(size=(300, 1)), np.linspace(-3, 3, 301)
    exact, drawn = geometry.gaussian_eigenfunctions(1.0, 1.0, 12), geometry.eigenfunctions(Gaussian(1.0), sample, 12)
    E, D = exact(x[:, None]), drawn(x[:, None])
    D = D * np.sign((E * D).sum(axis=0))
    figure, (left, right) = pyplot().subplots(1, 2, figsize=(10, 4), layout="constrained", width_ratios=(1.6, 1))
    for i, color in enumerate((BLUE, VERMILLION, GREEN, ORANGE, SKY)):
        left.plot(x, E[:, i], color=color, label=f"$e_{i}$")
        left.plot(x, D[:, i], "--", color=color, lw=1)
    left.plot(x, np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi) - 2.9, color=GRAY, label="p(x)")
    left.set(xlabel="x", title="Hermite (solid), from 300 points (dashed)", ylim=(-3, 3))
    figure.legend(*left.get_legend_handles_labels(), frameon=False, ncols=6, loc="outside lower left")
    right.semilogy(exact.values, "o-", color=BLUE, label="exact")
    right.semilogy(drawn.values, "x--", color=VERMILLION, label="from 300 points")
    right.set(xlabel="l", title="eigenvalues $k_l$")
    right.legend(frameon=False)
    save(figure, out / "eigenfunctions.png")


if __name__ == "__main__":
    main()
