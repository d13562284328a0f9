"""A long record as a sum of kernels

A long record explained by a sum of kernels: trend, season, medium-term wiggles, noise.

The record is made up in the manner of monthly carbon dioxide: a rising trend, a yearly season whose shape drifts slowly,
irregular swings over some years. The process is fitted to the first 20 years, finds the exact period from a start that is
nearly right, and predicts the last five.

The trend is a Gaussian process too, with a constant mean: beyond the data its band opens, because the data do not say
that the rise goes on. The length scales are held at their most likely values, so intervals far beyond the data can
still be too short: what share of the months they hold is printed for four such records.

    python examples/gp_composition.py [--out FOLDER]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from mercer import Gaussian, GaussianProcessRegressor, Kernel, Periodic, RationalQuadratic


def record(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Time in years and a made-up concentration, monthly over 25 years."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, 25.0, 1.0 / 12.0)
    season = (3.0 + 0.02 * t) * (np.sin(2 * np.pi * t) + 0.3 * np.sin(4 * np.pi * t + 0.5))
    swings = RationalQuadratic(length_scale=1.5, shape=1.0)(t[:, None])
    irregular = 0.8 * np.linalg.cholesky(swings + 1e-8 * np.eye(len(t))) @ rng.normal(size=len(t))
    return t[:, None], 315.0 + 0.8 * t + 0.015 * t**2 + season + irregular + 0.3 * rng.normal(size=len(t))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("build/examples"), help="folder for the pictures")
    folder = parser.parse_args().out
    X, y = record()
    train = X[:, 0] < 20
    trend = 2500.0 * Gaussian(30.0)
    season = 5.0 * Gaussian(50.0) * Periodic(length_scale=1.0, period=1.01)  # a period that is a little wrong
    swings = 1.0 * RationalQuadratic(length_scale=1.0, shape=1.0)
    start = trend + season + swings
    model = GaussianProcessRegressor(start, mean="constant", n_restarts=0).fit(X[train], y[train])

    mean, std = model.predict(X[~train], return_std=True, include_noise=True)
    error = y[~train] - mean
    for name, value in zip(model.theta_names_, np.exp(model.theta_), strict=True):
        print(f"  {name:24} {value:.4g}")
    period = next(v for n, v in zip(model.theta_names_, np.exp(model.theta_), strict=True) if n.endswith("period"))
    print(f"period found: {period:.4f} years")
    print(f"next five years: RMSE {np.sqrt(np.mean(error**2)):.2f} (the last year repeated: {repeated(y, train):.2f})")
    held = [np.mean(np.abs(error) < 1.96 * std), *(share_held(start, seed) for seed in (1, 2, 3))]
    print(f"95 % intervals hold {', '.join(f'{share:.0%}' for share in held)} of the 60 months of four records")

    from mercer.report.drawing import GRAY, VERMILLION
    from mercer.report.gaussian_process import CalibrationDisplay, ProcessDisplay

    folder.mkdir(parents=True, exist_ok=True)
    whole = ProcessDisplay.from_estimator(model, X, y, n_samples=0, margin=0.0)
    whole.figure_.set_size_inches(9, 4)
    whole.ax_.scatter(X[~train], y[~train], s=9, color=VERMILLION, zorder=4, label="the years it predicts")
    whole.ax_.axvline(20, color=GRAY, lw=0.8)
    whole.ax_.set(xlabel="years", ylabel="ppm", xlim=(12, 25.1), ylim=(y[144:].min() - 3, y.max() + 3))
    whole.ax_.legend(fontsize=8, loc="upper left")
    whole.figure_.savefig(folder / "gp_composition.png", dpi=100)
    CalibrationDisplay.from_estimator(model).figure_.savefig(folder / "gp_calibration.png", dpi=120)


def share_held(start: Kernel, seed: int) -> float:
    """The share of the last five years inside of 95 % intervals, for another record."""
    X, y = record(seed)
    train = X[:, 0] < 20
    model = GaussianProcessRegressor(start, mean="constant", n_restarts=0).fit(X[train], y[train])
    mean, std = model.predict(X[~train], return_std=True, include_noise=True)
    return float(np.mean(np.abs(y[~train] - mean) < 1.96 * std))


def repeated(y: np.ndarray, train: np.ndarray) -> float:
    """The error of repeating the last year, moved up by the last yearly rise."""
    known, truth = y[train], y[~train]
    rise = known[-12:].mean() - known[-24:-12].mean()
    guess = np.concatenate([known[-12:] + rise * (year + 1) for year in range(5)])
    return float(np.sqrt(np.mean((truth - guess[: len(truth)]) ** 2)))


if __name__ == "__main__":
    main()
