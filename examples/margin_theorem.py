r"""The margin theorem with explicit constants

Four linear machines, and the bound over rho and over the number of rows.

    python examples/margin_theorem.py [--out FOLDER]

For every linear function in feature space, however it was found: the error on new rows is at most the share of training
rows nearer than $\rho$ to the boundary, plus
$\frac{2}{\rho} \left(\frac{\sqrt{\mathrm{tr} K}}{m} + \frac{B}{\sqrt{m}}\right) + 3 \sqrt{\frac{\ln(2/\delta)}{2m}}$. A
small $\rho$ counts few rows and pays for many functions, a large one the other way round. The price falls as $1/\sqrt{m}$;
the dimension of feature space is not in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from lecture import folder, save, show

from mercer import SVC, Gaussian, KernelPerceptron, KernelRidgeClassifier, NearestMean, margin_bound

KERNEL = Gaussian(4.0)  # chosen beforehand, not on the rows
RHOS = np.geomspace(0.01, 1.0, 25)


def machines() -> dict[str, Any]:
    """Four ways to find w."""
    return {
        "perceptron": KernelPerceptron(KERNEL, random_state=0, max_iter=3),
        "class means": NearestMean(KERNEL),
        "ridge": KernelRidgeClassifier(KERNEL, alpha=10.0),
        "SVC": SVC(KERNEL, C=0.05),
    }


def draw(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two round clouds in the plane."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1, -1)
    return rng.normal(size=(n, 2)) + 2.5 * y[:, None], y


def main() -> None:
    """Print bounds beside errors, and draw both curves."""
    import warnings

    warnings.simplefilter("ignore")
    out = folder(__doc__)
    from mercer.report.drawing import BLUE, GREEN, ORANGE, VERMILLION, pyplot

    T, t = draw(20_000, 99)
    figure, (left, right) = pyplot().subplots(1, 2, figsize=(10, 4), layout="constrained")
    sizes, lines, rows = (100, 300, 1000, 2000), {}, []
    for color, name in zip((BLUE, VERMILLION, GREEN, ORANGE), machines(), strict=True):
        best = []
        for n in sizes:
            X, y = draw(n, n)
            model = machines()[name].fit(X, y)
            found = margin_bound(model, X, y)
            best.append(found.value)
            rows.append((name, n, float((model.predict(T) != t).mean()), found.value, found.rho, found.loss))
        curve = [margin_bound(model, X, y, rho=float(rho)).value for rho in RHOS]
        (lines[name],) = left.plot(RHOS, curve, color=color)
        right.plot(sizes, best, "o-", color=color)
    show(("machine    ", "rows", "test error", "bound", "best rho", "rows nearer"), rows)
    left.set(xscale="log", xlabel=r"$\rho$, distance from the boundary", ylabel="bound of the error", ylim=(0, 1.02))
    left.set_title(f"{sizes[-1]} rows, each $\\rho$ named beforehand")
    right.set(xscale="log", xlabel="rows", ylim=(0, 1.02), title="the best distance, paid for")
    figure.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=4, frameon=False)
    save(figure, out / "margin_theorem.png")


if __name__ == "__main__":
    main()
