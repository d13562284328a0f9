r"""High dimensions: the margin counts, not the columns

The health warning of high dimensions: what hurts is a small margin against the radius.

    python examples/health_warning.py [--out FOLDER]

Three experiments with the perceptron. Points of the plane, turned isometrically into 2 to 10,000 dimensions: mistakes,
Novikoff's bound and the test error stay where they are. The same points under polynomial kernels of degree 1 to 10: the
mistakes stay within that degree's own $R^2/\gamma^2$, and what moves is R and $\gamma$, not the count of columns. Columns of
noise: $\gamma / R$ shrinks, and the error rises.
"""

from __future__ import annotations

from math import comb

import numpy as np
from lecture import folder, save, show

from mercer import KernelPerceptron, Linear, Polynomial

DIMENSIONS = (2, 10, 100, 1000, 10_000)
DEGREES = tuple(range(1, 11))
NOISES = (0, 10, 30, 100, 200)


def disc(n: int, margin: float, width: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Points of the unit ball of R^width, farther than `margin` from the plane x1 = 0, and their side of it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20 * n, width))
    X *= (rng.random((20 * n, 1)) ** (1 / width)) / np.linalg.norm(X, axis=1, keepdims=True)
    X = X[np.abs(X[:, 0]) >= margin][:n]
    return X, np.where(X[:, 0] > 0, 1, -1)


def learn(
    kernel: object, X: np.ndarray, y: np.ndarray, T: np.ndarray, t: np.ndarray
) -> tuple[float, float, int, float, float]:
    """R, gamma, mistakes, R^2/gamma^2 and the test error of one run with the last weights."""
    model = KernelPerceptron(kernel, random_state=0, average=False, margin="hard", stopping="mistakes", max_iter=100_000)
    model.fit(X, y)
    R, gamma = float(model.radius_), float(model.ledger_.hard_margin)
    return R, gamma, int(model.n_updates_), R**2 / gamma**2, float((model.predict(T) != t).mean())


def over_dimension(seed: int = 0) -> list[tuple[int, float, float, int, float, float]]:
    """The same points of the plane in more and more dimensions: x -> Qx with Q'Q = I."""
    X, y = disc(200, 0.1, 2, seed)
    T, t = disc(1000, 0.1, 2, seed + 1)
    rows = []
    for d in DIMENSIONS:
        Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(d, 2)))[0]
        rows.append((d, *learn(Linear(), X @ Q.T, y, T @ Q.T, t)))
    return rows


def over_degree(seed: int = 0, width: int = 10) -> list[tuple[int, int, float, float, int, float, float]]:
    """Polynomial kernels on points of the unit ball of R^10: degree, columns, R, gamma, mistakes, bound, test error."""
    X, y = disc(200, 0.2, width, seed)
    T, t = disc(1000, 0.2, width, seed + 1)
    return [(p, comb(width + p, p), *learn(Polynomial(p, offset=1.0), X, y, T, t)) for p in DEGREES]


def over_noise(seed: int = 0, strength: float = 0.4, n: int = 600) -> list[tuple[int, float, float, int, float, float]]:
    """Columns of noise beside the two that matter, fewer than rows, so that noise alone separates nothing."""
    X, y = disc(n, 0.1, 2, seed)
    T, t = disc(1000, 0.1, 2, seed + 1)
    rng = np.random.default_rng(seed)
    E, F = (strength * rng.normal(size=(m, max(NOISES))) for m in (n, 1000))
    return [(d, *learn(Linear(), np.hstack([X, E[:, :d]]), y, np.hstack([T, F[:, :d]]), t)) for d in NOISES]


def main() -> None:
    """Print the three tables and draw them side by side."""
    out = folder(__doc__)
    from mercer.report.drawing import BLACK, BLUE, VERMILLION, pyplot

    numbers = ("R", "gamma", "mistakes", "R^2/gamma^2", "test error")
    turned, powers, noisy = over_dimension(), over_degree(), over_noise()
    print("the plane, turned into d dimensions")
    show(("d", *numbers), turned)
    print("\npolynomial kernels on 10 columns")
    show(("degree", "columns", *numbers), powers)
    print("\nnoise columns beside the plane")
    show(("noise", *numbers), noisy)
    plt = pyplot()
    figure, axes = plt.subplots(1, 3, figsize=(8.5, 3.4), layout="constrained", sharey=True)
    panels = (
        ("dimensions, isometric", [r[0] for r in turned], turned),
        ("columns of degree 1 … 10", [r[1] for r in powers], powers),
        ("columns of noise and 1", [r[0] + 1 for r in noisy], noisy),
    )
    for ax, (name, x, rows) in zip(axes, panels, strict=True):
        ax.plot(x, [r[-2] for r in rows], "--", color=BLACK, label=r"bound $R^2/\gamma^2$")
        ax.plot(x, [r[-3] for r in rows], "o-", color=BLUE, label="mistakes")
        ax.set(xscale="log", yscale="log", xlabel=name)
        twin = ax.twinx()
        twin.plot(x, [100 * r[-1] for r in rows], "s:", color=VERMILLION, label="test error, %")
        twin.set_ylim(-0.5, 25)
        twin.tick_params(axis="y", colors=VERMILLION, labelright=ax is axes[-1])
    axes[0].set_ylabel("number of mistakes")
    twin.set_ylabel("test error, %", color=VERMILLION)
    handles = axes[0].get_lines() + twin.get_lines()
    figure.legend(handles, [h.get_label() for h in handles], loc="outside upper center", ncols=3, frameon=False)
    save(figure, out / "health_warning.png")


if __name__ == "__main__":
    main()
