"""Universal kernels

Universal kernels come close to every continuous function on a compact set; polynomials of fixed degree do not.

    python examples/universality.py [--out FOLDER]

A tent with a dent, zero outside of [-1, 1], interpolated at more and more points. For Gaussian and Matern the largest error
goes to zero; a polynomial of degree 5 stops at the best polynomial of degree 5, however many points it sees.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from lecture import folder, save, show

from mercer import Gaussian, KernelRidge, Matern, Polynomial

SIZES = (5, 9, 17, 33, 65)
GRID = np.linspace(-2, 2, 801)


def tent(x: Any) -> Any:
    """Continuous, with compact support, and no polynomial."""
    return np.maximum(0.0, 1.0 - np.abs(x)) - 0.5 * np.maximum(0.0, 0.4 - np.abs(x))


def kernels(n: int) -> dict[str, Any]:
    """A universal kernel may narrow as points come in; its space stays the same set of limits."""
    return {
        "Gaussian": Gaussian(max(0.7 * 4 / n, 0.02)),
        "Matern 3/2": Matern(1.5, length_scale=1.0),
        "polynomial, degree 5": Polynomial(5, offset=1.0),
    }


def errors() -> dict[str, list[float]]:
    """The largest error on [-2, 2] by kernel, for every number of points."""
    found: dict[str, list[float]] = {}
    for n in SIZES:
        X = np.linspace(-2, 2, n)[:, None]
        for name, kernel in kernels(n).items():
            model = KernelRidge(kernel, alpha=1e-8).fit(X, tent(X[:, 0]))
            found.setdefault(name, []).append(float(np.abs(model.predict(GRID[:, None]) - tent(GRID)).max()))
    return found


def main() -> None:
    """Print the errors; draw three fits and the curves."""
    out = folder(__doc__)
    from mercer.report.drawing import BLACK, BLUE, GREEN, VERMILLION, pyplot

    found = errors()
    show(("points", *found), [(n, *(found[name][i] for name in found)) for i, n in enumerate(SIZES)])
    figure, (left, right) = pyplot().subplots(1, 2, figsize=(10, 4), layout="constrained")
    X = np.linspace(-2, 2, 33)[:, None]
    left.plot(GRID, tent(GRID), "--", color=BLACK, label="the function")
    for color, (name, kernel) in zip((BLUE, GREEN, VERMILLION), kernels(33).items(), strict=True):
        model = KernelRidge(kernel, alpha=1e-8).fit(X, tent(X[:, 0]))
        left.plot(GRID, model.predict(GRID[:, None]), color=color, label=name, lw=1.2)
        right.loglog(SIZES, found[name], "o-", color=color)
    left.set(title="33 points", xlabel="x")
    left.legend(frameon=False, fontsize=8)
    right.set(title="largest error", xlabel="points", xticks=SIZES, xticklabels=SIZES)
    right.minorticks_off()
    save(figure, out / "universality.png")


if __name__ == "__main__":
    main()
