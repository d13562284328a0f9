"""Degree and penalty: under- and overfitting

Polynomials of growing degree in the feature space, damped more and more.

    python examples/degree_and_alpha.py [--out FOLDER]

Thirty noisy values of a smooth function, fitted by ridge regression on 1, x, …, x^p. A low degree cannot follow (training
and test error are both high); a high degree with hardly any penalty follows the noise, and the fit depends on which rows
were drawn: the spread over resamples and the condition of the matrix show it. The penalty gives stability back, and at last
damps everything.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from lecture import folder, save, show

from mercer import KernelRidge, Polynomial

DEGREES, ALPHAS = (1, 3, 9, 20), (1e-9, 1e-3, 1.0, 100.0)
NOISE, RESAMPLES = 0.25, 20
GRID = np.linspace(-1, 1, 201)[:, None]


def truth(x: Any) -> Any:
    """The function behind the data."""
    return np.sin(4 * x) + 0.5 * x


def sample(seed: int, n: int = 30) -> tuple[np.ndarray, np.ndarray]:
    """Noisy values on [-1, 1]."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-1, 1, n))
    return x[:, None], truth(x) + NOISE * rng.normal(size=n)


def panel(degree: int, alpha: float) -> dict[str, Any]:
    """Fits to all resamples: curves, mean training and test error, spread, condition of Z'Z + alpha I."""
    kernel, curves, errors = Polynomial(degree, offset=1.0), [], []
    for seed in range(RESAMPLES):
        X, y = sample(seed)
        model = KernelRidge(kernel, alpha=alpha, solver="cholesky" if alpha >= 1e-6 else "auto").fit(X, y)
        T, t = sample(seed + 1000, 200)
        curves.append(model.predict(GRID))
        errors.append([np.mean((model.predict(A) - b) ** 2) for A, b in ((X, y), (T, t))])
    s = np.linalg.svd(np.asarray(kernel.feature_map(sample(0)[0])), compute_uv=False) ** 2
    s = np.pad(s, (0, max(0, degree + 1 - len(s))))
    train, test = np.sqrt(np.median(errors, axis=0))
    return {
        "curves": np.array(curves),
        "train": float(train),
        "test": float(test),
        "spread": float(np.median(np.std(curves, axis=0))),
        "condition": float((s[0] + alpha) / (s[-1] + alpha)),
    }


def main() -> None:
    """Print the table and draw the panels."""
    out = folder(__doc__)
    from mercer.report.drawing import BLACK, BLUE, pyplot

    found = {(p, a): panel(p, a) for p in DEGREES for a in ALPHAS}
    names = ("degree", "alpha", "training", "test", "spread", "condition")
    show(names, [(p, a, f["train"], f["test"], f["spread"], f["condition"]) for (p, a), f in found.items()])
    print(f"the noise alone: {NOISE}")
    figure, axes = pyplot().subplots(
        len(DEGREES), len(ALPHAS), figsize=(11, 9), layout="constrained", sharex=True, sharey=True
    )
    for ax, ((p, a), f) in zip(axes.flat, found.items(), strict=True):
        ax.plot(GRID[:, 0], f["curves"][:12].T, color=BLUE, lw=0.6, alpha=0.5)
        ax.plot(GRID[:, 0], truth(GRID[:, 0]), color=BLACK, lw=1.2, ls="--")
        ax.set_title(f"training {f['train']:.2f}, test {f['test']:.2f}, spread {f['spread']:.2f}", fontsize=8)
        ax.set_ylim(-2, 2)
        if p == DEGREES[-1]:
            ax.set_xlabel(rf"$\alpha$ = {a:g}")
        if a == ALPHAS[0]:
            ax.set_ylabel(f"degree {p}")
    save(figure, out / "degree_and_alpha.png")


if __name__ == "__main__":
    main()
