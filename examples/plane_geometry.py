"""Four pictures of the plane

Signs of inner products, the nearest mean, the ball around the mean, and two hyperplanes.

    python examples/plane_geometry.py [--out FOLDER]

1. u, v, their difference and middle; <u - v, e> is positive, zero or negative by the angle between the two.
2. The means c+ and c- of two classes, their middle c, w = c+ - c-, and the hyperplane <w, x - c> = 0.
3. The ball around the mean in feature space, seen from the input plane: a circle for <x, z>, a region for a Gaussian.
4. H1 and H2 both separate the classes; H1 is farther from all points, and the machine with C = inf finds it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from lecture import folder, save

from mercer import SVC, Gaussian, Linear, NearestMean, NoveltyBall
from mercer.report.drawing import BLACK, BLUE, GRAY, GREEN, ORANGE, SKY, VERMILLION, pyplot


def arrow(
    ax: Any, start: np.ndarray, end: np.ndarray, color: str, name: str, shift: tuple[float, float] = (0.08, 0.08)
) -> None:
    """A vector with its name at the end."""
    ax.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": color, "lw": 2, "shrinkA": 0, "shrinkB": 0})
    ax.annotate(name, np.asarray(end) + shift, color=color, fontsize=11)


def signs(out: Path) -> dict[str, float]:
    """Inner products of u - v with three vectors."""
    u, v = np.array([3.2, 1.0]), np.array([0.8, 1.9])
    w, c, o = u - v, (u + v) / 2, np.zeros(2)
    others = {"e": np.array([1.4, -1.0]), "f": np.array([-0.675, -1.8]), "g": np.array([-1.6, 0.3])}
    figure, ax = pyplot().subplots(figsize=(6.4, 4.6), layout="constrained")
    for end, color, name, shift in (
        (u, BLUE, "u", (0.08, 0.05)),
        (v, BLUE, "v", (-0.05, 0.1)),
        (c, GREEN, "c", (-0.05, -0.3)),
    ):
        arrow(ax, o, end, color, name, shift)
    arrow(ax, v, u, VERMILLION, "", (0, 0))
    ax.annotate("w = u - v", (v + u) / 2 + [0.1, 0.25], color=VERMILLION, fontsize=11)
    values = {name: float(w @ x) for name, x in others.items()}
    for (name, x), word, shift in zip(
        others.items(), ("> 0", "= 0", "< 0"), ((0.08, -0.1), (0.12, -0.05), (-0.8, 0.15)), strict=True
    ):
        arrow(ax, o, x, GRAY, f"{name}:  <w, {name}> {word}", shift)
    ax.set(xlim=(-2.6, 4.2), ylim=(-2.2, 2.4), aspect="equal", xlabel="x1", ylabel="x2")
    save(figure, out / "vectors.png")
    return values


def clouds(seed: int, gap: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.repeat([-1, 1], 25)
    return rng.normal(size=(50, 2)) * [0.7, 0.7] + gap * y[:, None] * [0.9, 0.5], y


def nearest_mean(out: Path) -> NearestMean:
    """c+, c-, c, w and H."""
    X, y = clouds(1, 1.3)
    model = NearestMean(Linear()).fit(X, y)
    plus, minus = X[y == 1].mean(axis=0), X[y == -1].mean(axis=0)
    c, w = (plus + minus) / 2, plus - minus
    figure, ax = pyplot().subplots(figsize=(6, 4.6), layout="constrained")
    ax.scatter(*X[y == 1].T, s=14, color=BLUE)
    ax.scatter(*X[y == -1].T, s=14, color=VERMILLION)
    along = np.array([-w[1], w[0]]) / np.linalg.norm(w)
    ax.plot(*np.array([c - 3 * along, c + 3 * along]).T, ":", color=BLACK)
    ax.annotate("H", c + 2.2 * along + 0.08, fontsize=11)
    arrow(ax, minus, plus, GREEN, "", (0, 0))
    for point, name in ((plus, "$c_+$"), (minus, "$c_-$"), (c, "c")):
        ax.plot(*point, "o", color=BLACK, ms=7)
        ax.annotate(name, (point[0] + 0.1, point[1] - 0.3), fontsize=13)
    ax.annotate("w", (c + plus) / 2 + [-0.05, 0.15], color=GREEN, fontsize=13)
    ax.set(aspect="equal", xlabel="x1", ylabel="x2", xlim=(-3.4, 3.4), ylim=(-2.6, 2.6))
    save(figure, out / "nearest_mean.png")
    return model


def balls(out: Path) -> None:
    """The boundary of the ball in the input plane, for two kernels."""
    rng = np.random.default_rng(3)
    angle = rng.uniform(0, 2 * np.pi, 60)
    X = np.column_stack([2 * np.cos(angle), np.sin(angle)]) + 0.15 * rng.normal(size=(60, 2))
    side = np.stack(np.meshgrid(np.linspace(-3.2, 3.2, 150), np.linspace(-2.5, 2.5, 150)), axis=-1)
    figure, axes = pyplot().subplots(1, 2, figsize=(9.4, 4.0), layout="tight", sharey=True)
    for ax, kernel, name in ((axes[0], Linear(), "<x, z>"), (axes[1], Gaussian(0.5), "Gaussian, length scale 0.5")):
        ball = NoveltyBall(kernel).fit(X)
        score = ball.decision_function(side.reshape(-1, 2)).reshape(150, 150)
        ax.contourf(side[..., 0], side[..., 1], score, levels=[0, np.inf], colors=[SKY], alpha=0.3)
        ax.contour(side[..., 0], side[..., 1], score, levels=[0], colors=BLUE)
        ax.scatter(*X.T, s=10, color=BLACK)
        ax.set(title=name, aspect="equal", xlabel="x1")
        if isinstance(kernel, Linear):
            ax.plot(*X.mean(axis=0), "x", color=VERMILLION, ms=9, mew=2)
    axes[0].set_ylabel("x2")
    save(figure, out / "balls.png")


def hyperplanes(out: Path) -> tuple[float, float]:
    """H1, the optimal hyperplane, and H2, another one that separates; their margins."""
    X, y = clouds(5, 1.7)
    model = SVC(Linear(), C=np.inf).fit(X, y)
    w, b = model.coef_[0], float(model.intercept_[0])
    turn = np.deg2rad(30)
    v = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]) @ (w / np.linalg.norm(w))
    high, low = (X[y == 1] @ v).min(), (X[y == -1] @ v).max()
    lines = {"$H_1$": (w / np.linalg.norm(w), -b / np.linalg.norm(w), BLUE), "$H_2$": (v, (2 * high + low) / 3, ORANGE)}
    figure, ax = pyplot().subplots(figsize=(6, 4.8), layout="constrained")
    ax.scatter(*X[y == 1].T, s=14, color=BLACK)
    ax.scatter(*X[y == -1].T, s=18, facecolors="none", edgecolors=BLACK)
    margins = []
    for name, (normal, offset, color) in lines.items():
        margin = float((y * (X @ normal - offset)).min())
        margins.append(margin)
        along = np.array([-normal[1], normal[0]])
        for shift, style in ((0.0, "-"), (margin, ":"), (-margin, ":")):
            ends = np.array([normal * (offset + shift) + s * along for s in (-4, 4)])
            ax.plot(*ends.T, style, color=color, label=f"{name}, margin {margin:.2f}" if style == "-" else None)
    ax.legend(frameon=False, loc="upper right")
    ax.set(aspect="equal", xlabel="x1", ylabel="x2", xlim=(-3.8, 3.8), ylim=(-3, 3))
    save(figure, out / "hyperplanes.png")
    return margins[0], margins[1]


def main() -> None:
    """Draw all four."""
    out = folder(__doc__)
    print(", ".join(f"<u - v, {name}> = {value:+.2f}" for name, value in signs(out).items()))
    nearest_mean(out)
    balls(out)
    print("margins of H1 and H2: {:.3f}, {:.3f}".format(*hyperplanes(out)))


if __name__ == "__main__":
    main()
