"""Under- and overfitting in one dimension

Fits, surface, path, smoothness and predictions of ridge regression, in pictures.

    python examples/under_and_over_fitting.py
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from mercer import KernelRidgeCV
from mercer.report.ridge import FitDisplay, PathDisplay, PredictionDisplay, SmoothnessDisplay, SurfaceDisplay

NOISE = 0.25


def truth(x: Any) -> Any:
    """The function behind the data."""
    return np.sin(x) + 0.5 * np.sin(3 * x)


def sample(n: int, seed: int) -> tuple[Any, Any]:
    """Noisy values of the truth on [0, 10]."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 10, n))
    return x[:, None], truth(x) + NOISE * rng.normal(size=n)


def main() -> None:
    import matplotlib

    matplotlib.use("Agg")  # files, not windows
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--n", type=int, default=60, help="rows")
    parser.add_argument("--out", type=Path, default=Path("build/examples"), help="folder for the pictures")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    X, y = sample(options.n, 0)
    model = KernelRidgeCV().fit(X, y)
    print(f"chosen by leave-one-out: length scale {model.best_length_scale_:.3g}, alpha {model.best_alpha_:.3g}")
    print(f"leave-one-out error {np.sqrt(-model.best_score_):.3f}, of which the noise is {NOISE}")
    print(f"||f|| = {model.rkhs_norm_:.3g}, {model.effective_dof_:.1f} degrees of freedom for {options.n} rows")
    fits = FitDisplay.from_estimator(model, X, y, truth=truth)
    print("\nleave-one-out error by length scale (rows) and alpha (columns)")
    print(" " * 8 + "".join(f"{alpha:>10.2g}" for alpha in fits.alphas))
    for scale, errors in zip(fits.length_scales, fits.loo_errors, strict=True):
        print(f"{scale:>8.2g}" + "".join(f"{error:>10.3g}" for error in errors))
    displays = {
        "fits": fits,
        "surface": SurfaceDisplay.from_estimator(model),
        "path": PathDisplay.from_estimator(model, X, y),
        "smoothness_mercer": SmoothnessDisplay.from_estimator(model),
        "smoothness_fourier": SmoothnessDisplay.from_estimator(model, basis="fourier"),
        "predictions": PredictionDisplay.from_estimator(model, *sample(300, 1)),
    }
    shares = displays["smoothness_fourier"].shares.sum()
    print(f"\n||f||^2 = {model.rkhs_norm_**2:.6g}; by the Fourier coefficients sum |f_l|^2 / k_l = {shares:.6g}")
    print(f"90 % intervals cover {displays['predictions'].covered:.1%} of 300 new points\n")
    for name, display in displays.items():
        path = options.out / f"ridge_{name}.png"
        display.figure_.savefig(path, dpi=130)
        print(path)


if __name__ == "__main__":
    main()
