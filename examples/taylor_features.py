r"""The Gaussian kernel cut off at a degree

The Gaussian kernel cut off after some degree, against random features of the same size.

    python examples/taylor_features.py [--out FOLDER]

$e^{-\lVert x - z\rVert^2/2} = e^{-\lVert x\rVert^2/2} e^{-\lVert z\rVert^2/2} \sum_j \langle x, z\rangle^j / j!$, so the
features of a Gaussian are those of all polynomial kernels at once, damped. Cut after degree p they are $\binom{d + p}{p}$
columns, and the error is below a Poisson tail: it falls faster than any power, once p is beyond the radius squared. Random
frequencies give one over the root of the columns for every d.
"""

from __future__ import annotations

import numpy as np
from lecture import folder, save, show

from mercer import Gaussian, RandomFourierFeatures


def compare(
    d: int, degrees: range, scale: float = 1.0, n: int = 200, seed: int = 0
) -> list[tuple[int, int, float, float, float]]:
    """Degree, columns, largest error of the Taylor map, its bound, largest error of as many random columns (mean of 5)."""
    X = np.random.default_rng(seed).uniform(-1, 1, size=(n, d))
    k, rows = Gaussian(scale), []
    K = k(X)
    for degree in degrees:
        taylor = k.taylor_features(X, degree)
        Z = taylor.values
        errors = []
        for draw in range(5):
            F = RandomFourierFeatures(k, n_components=Z.shape[1], draws="plain", random_state=draw).fit_transform(X)
            errors.append(np.abs(F @ F.T - K).max())
        rows.append((degree, Z.shape[1], float(np.abs(Z @ Z.T - K).max()), taylor.error, float(np.mean(errors))))
    return rows


def main() -> None:
    """Print both tables and draw the errors against the number of columns."""
    out = folder(__doc__)
    from mercer.report.drawing import BLUE, GRAY, VERMILLION, pyplot

    figure, axes = pyplot().subplots(1, 2, figsize=(9, 3.8), layout="constrained")
    for ax, d, degrees in ((axes[0], 2, range(1, 16)), (axes[1], 8, range(1, 6))):
        rows = compare(d, degrees)
        print(f"{d} columns of data")
        show(("degree", "columns", "Taylor", "its bound", "random"), rows)
        x = [r[1] for r in rows]
        ax.plot(x, [r[2] for r in rows], "o-", color=BLUE, label="Taylor, largest error")
        ax.plot(x, [r[3] for r in rows], "--", color=GRAY, label="Taylor, bound")
        ax.plot(x, [r[4] for r in rows], "s-", color=VERMILLION, label="random frequencies")
        ax.set(xscale="log", yscale="log", xlabel="columns", title=f"d = {d}")
    axes[0].set_ylabel("largest error of k")
    axes[0].legend(frameon=False)
    save(figure, out / "taylor_features.png")


if __name__ == "__main__":
    main()
