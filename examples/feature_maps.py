r"""Feature maps that make data separable

Data that no line separates, made separable by a feature map; the inner product as similarity.

    python examples/feature_maps.py [--out FOLDER]

1. Two groups beside the origin: no line *through the origin* separates them; the bias column [1, x] does.
2. A circle inside a ring and an ellipse inside another: the quadratic map
   $x \mapsto (x_1^2, \sqrt{2}\, x_1 x_2, x_2^2)$ makes them planes. The perceptron with the kernel
   $\langle x, z\rangle^2$ or $(\langle x, z\rangle + 1)^2$ finds them without ever making the features.
3. $\langle\varphi(x), \varphi(z)\rangle$ is large for points that are alike in the
   feature space, whatever they look like in the plane.

Every statement is printed with the number of updates and Novikoff's bound; pictures of input and feature space are saved.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from mercer import SVC, KernelPerceptron, Linear, Polynomial

Sample = tuple[np.ndarray, np.ndarray]


def beside_the_origin(rng: np.random.Generator, n: int = 120) -> Sample:
    """Two clouds on one side of the origin."""
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    X = rng.normal(scale=0.4, size=(n, 2)) + np.where(y[:, None] > 0, 4.0, 1.5)
    return X, y


def rings(rng: np.random.Generator, n: int = 160, stretch: float = 1.0) -> Sample:
    """A disc inside a ring, or an ellipse inside an elliptic ring, turned by 30 degrees."""
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    length, angle = np.where(y > 0, rng.uniform(0.0, 1.0, n), rng.uniform(1.4, 2.2, n)), rng.uniform(0, 2 * np.pi, n)
    X = np.column_stack([stretch * length * np.cos(angle), length * np.sin(angle)])
    turn = np.array([[np.cos(np.pi / 6), -np.sin(np.pi / 6)], [np.sin(np.pi / 6), np.cos(np.pi / 6)]])
    return X @ turn.T, y


def cases(seed: int = 0) -> list[tuple[str, Sample, Any, dict[str, bool]]]:
    """Name, data, kernel and options: without the map first, with it second."""
    rng = np.random.default_rng(seed)
    clouds, circle, ellipse = beside_the_origin(rng), rings(rng), rings(rng, stretch=2.0)
    return [
        ("two clouds, phi(x) = x", clouds, Linear(), {}),
        ("two clouds, phi(x) = [x, 1]", clouds, Linear(), {"fit_intercept": True}),
        ("circle, phi(x) = [x, 1]", circle, Linear(), {"fit_intercept": True}),
        ("circle, phi(x) = [xx', 1]", circle, Polynomial(degree=2, offset=0.0), {"fit_intercept": True}),
        ("ellipse, phi(x) = [xx', sqrt(2) x, 1]", ellipse, Polynomial(degree=2, offset=1.0), {}),
    ]


def run(case: tuple[str, Sample, Any, dict[str, bool]]) -> KernelPerceptron:
    """Fit the perceptron of one case and say what happened."""
    name, (X, y), kernel, options = case
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KernelPerceptron(kernel, random_state=0, average=False, margin="hard", **options).fit(X, y)
    if model.converged_:
        said = f"separable: {model.n_updates_} updates, at most R^2/gamma^2 = {model.novikoff_bound_:.0f}"
    else:
        a = model.certificate_
        said = "not separable" if a is not None else "not converged"
        said += "" if a is None else f": {np.count_nonzero(a)} rows with weights sum to 0"
    print(f"{name:40s} {said}")
    return model


def similarities() -> None:
    """<x, z>^2 of one point with others: the angle decides, not the side of the origin."""
    x, others = np.array([[1.0, 1.0]]), np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [1.0, 0.0]])
    values = Polynomial(degree=2, offset=0.0)(x, others)[0]
    print("\n<phi(x), phi(z)> = <x, z>^2 with x = (1, 1):")
    for z, value in zip(others, values, strict=True):
        print(f"  z = ({z[0]:2.0f}, {z[1]:2.0f})   {value:g}")


def separating_plane(space: Any, Z: np.ndarray, y: np.ndarray) -> None:
    """The plane of largest margin between the images; seen from the input plane it is an ellipse."""
    machine = SVC(Linear(), C=np.inf).fit(Z, y)
    w, b = machine.coef_[0], float(machine.intercept_[0])
    first, second = np.meshgrid(np.linspace(Z[:, 0].min(), Z[:, 0].max(), 25), np.linspace(Z[:, 1].min(), Z[:, 1].max(), 25))
    third = -(b + w[0] * first + w[1] * second) / w[2]
    third[(third < Z[:, 2].min()) | (third > Z[:, 2].max())] = np.nan
    space.plot_surface(first, second, third, color="gray", alpha=0.35, linewidth=0)


def draw(case: tuple[str, Sample, Any, dict[str, bool]], model: KernelPerceptron, path: Path) -> None:
    """The boundary in the plane, and the points in feature space with the plane that separates them."""
    from mercer.report.drawing import BLUE, VERMILLION, pyplot

    plt = pyplot()
    name, (X, y), _, _ = case
    figure = plt.figure(figsize=(9, 4), layout="constrained")
    plane, space = figure.add_subplot(1, 2, 1), figure.add_subplot(1, 2, 2, projection="3d")
    low, high = X.min(axis=0) - 0.5, X.max(axis=0) + 0.5
    grid = np.stack(np.meshgrid(np.linspace(low[0], high[0], 120), np.linspace(low[1], high[1], 120)), axis=-1)
    values = model.decision_function(grid.reshape(-1, 2)).reshape(120, 120)
    plane.contour(grid[..., 0], grid[..., 1], values, levels=[0.0], colors="black")
    quadratic = "xx'" in name
    Z = np.asarray(Polynomial(degree=2, offset=0.0).feature_map(X)) if quadratic else np.column_stack([X, np.zeros(len(X))])
    for sign, color in ((1, BLUE), (-1, VERMILLION)):
        plane.scatter(*X[y == sign].T, s=12, color=color)
        space.scatter(*Z[y == sign].T[:3], s=8, color=color)
    if quadratic and model.converged_:
        separating_plane(space, Z, y)
    plane.set(title=name, xlabel="x1", ylabel="x2", aspect="equal")
    labels = ("x1²", "√2 x1 x2", "x2²") if quadratic else ("x1", "x2", "")
    space.set_title("feature space" + (", with a plane between the classes" if quadratic else ""), fontsize=10)
    space.set(xlabel=labels[0], ylabel=labels[1], zlabel=labels[2])
    space.view_init(elev=18, azim=-60)
    space.locator_params(nbins=4)
    space.tick_params(labelsize=8, pad=0)
    space.set_box_aspect(None, zoom=0.82)  # room for the labels of the third axis
    if not quadratic:
        space.set_zticks([])
    figure.savefig(path, dpi=100)
    plt.close(figure)


def main() -> None:
    """Run all cases and save their pictures."""
    parser = argparse.ArgumentParser(description="Feature maps that make data separable.")
    parser.add_argument("--out", type=Path, default=Path("build/examples"), help="folder for the pictures")
    folder = Path(parser.parse_args().out)
    folder.mkdir(parents=True, exist_ok=True)
    for number, case in enumerate(cases()):
        draw(case, run(case), folder / f"feature_map_{number}.png")
    similarities()


if __name__ == "__main__":
    main()
