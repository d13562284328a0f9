"""Margins of support vector machines

Decision regions of support vector machines, with margins and support vectors, as the lectures draw them.

    python examples/svm_margins.py --out pictures

Two half moons: a Gaussian kernel at a small and a large C and at a small and a large length scale, polynomials of degree 1,
2 and 3, and the surface of cross-validated errors over C and the length scale with its choice.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from sklearn.datasets import make_moons
from sklearn.preprocessing import StandardScaler

import mercer
from mercer.report.drawing import pyplot
from mercer.report.svm import MarginDisplay, SurfaceDisplay

GAUSSIANS = [(mercer.Gaussian(scale), C) for scale in (0.2, 1.0) for C in (1.0, 100.0)]
POLYNOMIALS = [(mercer.Polynomial(degree, offset=1.0), 10.0) for degree in (1, 2, 3)]


def main() -> None:
    """Fit, draw, and tell how many support vectors each picture has."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("build/examples"), help="folder for the pictures")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    plt = pyplot()
    X, y = make_moons(200, noise=0.25, random_state=0)
    X = StandardScaler().fit_transform(X)
    for name, settings in (("gaussian", GAUSSIANS), ("polynomial", POLYNOMIALS)):
        columns = 2 if len(settings) == 4 else 3
        figure, axes = plt.subplots(len(settings) // columns, columns, figsize=(4.4 * columns, 8.0 if columns == 2 else 4.4),
                                    layout="constrained", squeeze=False)  # fmt: skip
        for ax, (kernel, C) in zip(axes.flat, settings, strict=True):
            model = mercer.SVC(kernel, C=C).fit(X, y)
            MarginDisplay.from_estimator(model, X, y, ax=ax)
            ax.get_legend().remove()
            wrong = int((model.predict(X) != y).sum())
            print(f"{kernel!s:<42} C = {C:<6g} {len(model.support_):>4} support vectors, {wrong:>3} of 200 rows wrong")
        look = {"marker": "o", "ls": "none", "mfc": "none", "mec": "black", "ms": 9}
        keys = [*axes.flat[0].get_lines()[:2], plt.Line2D([], [], mew=0.9, **look), plt.Line2D([], [], mew=1.8, **look)]
        names = ["class 0", "class 1", "support vector on the margin", "support vector at the bound C"]
        figure.legend(keys, names, loc="outside lower center", ncols=4, frameon=False)
        figure.savefig(out / f"svm_{name}.png", dpi=100)
        plt.close(figure)
    model = mercer.SVCCV().fit(X, y)
    display = SurfaceDisplay.from_estimator(model)
    display.figure_.savefig(out / "svm_surface.png", dpi=110)
    print(f"chosen: length scale {model.best_length_scale_:.3g}, C = {model.best_C_:.3g}, accuracy {model.best_score_:.3f}")
    display = MarginDisplay.from_estimator(model, X, y)
    display.figure_.savefig(out / "svm_chosen.png", dpi=110)


if __name__ == "__main__":
    main()
