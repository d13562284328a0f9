r"""What a feature map sees of a distribution

The difference of feature means, for three maps and three differences.

    python examples/two_samples.py [--out FOLDER]

$\varphi(x) = x$ sees means; $[x, x^2]$ sees means and variances; a characteristic kernel sees every difference. Each cell
of the table is the p-value of `mercer.mmd_test`: small where the map sees the difference, anything where it is blind. Then
one data set with many columns is taken apart: which columns differ, typical rows, and how many rows would have been enough.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from mercer import Gaussian, Linear, Polynomial
from mercer.twosample import hsic_test, mmd_test

ROWS = 400

#: feature maps: phi(x) = x; all monomials up to degree two; infinitely many features
MAPS = {
    "phi(x) = x": Linear(),
    "phi(x) = [x, x^2]": Polynomial(degree=2, offset=1.0),
    "characteristic": Gaussian("median"),
    "aggregated default": None,
}


def pairs(seed: int = 0) -> dict[str, tuple[Any, Any]]:
    """Samples that differ in the mean, in the variance only, in the shape only, and not at all."""
    rng = np.random.default_rng(seed)
    normal = rng.normal(size=(ROWS, 1))
    return {
        "other mean": (normal, rng.normal(0.4, 1.0, (ROWS, 1))),
        "other variance": (normal, rng.normal(0.0, 1.6, (ROWS, 1))),
        "other shape": (normal, rng.choice([-1.0, 1.0], (ROWS, 1)) * 0.9 + rng.normal(0.0, np.sqrt(0.19), (ROWS, 1))),
        "none": (normal, rng.normal(size=(ROWS, 1))),
    }


def table(seed: int = 0) -> dict[str, dict[str, float]]:
    """p-values: difference -> feature map -> p."""
    found: dict[str, dict[str, float]] = {}
    for difference, (X, Y) in pairs(seed).items():
        found[difference] = {
            name: mmd_test(X, Y, kernel, n_permutations=999, random_state=1).pvalue for name, kernel in MAPS.items()
        }
    return found


def print_table(found: dict[str, dict[str, float]]) -> None:
    """One line per difference, one column per feature map."""
    print(f"{'difference':>16}" + "".join(f"{name:>20}" for name in MAPS))
    for difference, cells in found.items():
        print(f"{difference:>16}" + "".join(f"{cells[name]:20.3f}" for name in MAPS))


def many_columns(seed: int = 1) -> Any:
    """Twenty columns, one of them shifted by half a standard deviation; the test, and why it rejects."""
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(200, 20)), rng.normal(size=(200, 20))
    Y[:, 12] += 0.5
    result = mmd_test(X, Y, random_state=1)
    reasons = result.explain()
    print(f"\n{result}\n\nwhich columns?\n{reasons.table(4)}")
    return reasons


def circle(seed: int = 0) -> float:
    """Coordinates of points on a circle: uncorrelated, and not independent."""
    angle = np.random.default_rng(seed).uniform(0.0, 2.0 * np.pi, 200)
    x, y = np.cos(angle)[:, None], np.sin(angle)[:, None]
    result = hsic_test(x, y, random_state=1)
    print(f"\na circle: correlation {np.corrcoef(x[:, 0], y[:, 0])[0, 1]:+.3f}\n{result}")
    return result.pvalue


def draw(folder: Path, reasons: Any) -> None:
    """The witness of each difference, its null distribution, and the ranking of columns."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from mercer.report.twosample import NullDisplay, RankingDisplay, WitnessDisplay

    folder.mkdir(parents=True, exist_ok=True)
    shown = list(pairs().items())[:3]
    figure, axes = plt.subplots(len(shown), 2, figsize=(10, 9), layout="constrained")
    for (left, right), (difference, (X, Y)) in zip(axes, shown, strict=True):
        result = mmd_test(X, Y, Gaussian("median"), n_permutations=999, random_state=1)
        WitnessDisplay.from_result(result, ax=left)
        NullDisplay.from_result(result, ax=right)
        left.set_title(difference)
    figure.savefig(folder / "witness.png", dpi=110)
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(200, 2)), rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], 200)
    WitnessDisplay.from_result(mmd_test(X, Y, Gaussian(0.7), random_state=1)).figure_.savefig(folder / "plane.png", dpi=110)
    RankingDisplay.from_explanation(reasons).figure_.savefig(folder / "columns.png", dpi=110)
    print(f"\npictures: {', '.join(sorted(str(path) for path in folder.glob('*.png')))}")


def main() -> None:
    """Print the tables; draw on request."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, help="a folder to write pictures to")
    options = parser.parse_args()
    print_table(table())
    reasons = many_columns()
    circle()
    if options.out is not None:
        draw(options.out, reasons)


if __name__ == "__main__":
    main()
