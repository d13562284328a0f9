"""Gaussian process, ridge, conditioned Gaussian: one thing

A conditioned Gaussian, kernel ridge and a Gaussian process are one thing, shown in numbers.

Take the function values at the training and the new rows as one Gaussian vector with covariance K, and the observations
as these values plus noise. Its conditional mean, E f* = K* (K + noise I)^-1 y, is the ridge fit with alpha = noise; its
conditional covariance is what ridge leaves out.

    python examples/gp_is_ridge.py [--out FOLDER]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from mercer import Gaussian, GaussianProcessRegressor, KernelRidge


def conditioned(K: np.ndarray, y: np.ndarray, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the last entries of a Gaussian vector, given noisy values of the first len(y)."""
    n = len(y)
    joint = K.copy()
    joint[:n, :n] += noise * np.eye(n)
    A, B, C = joint[:n, :n], joint[:n, n:], joint[n:, n:]
    return B.T @ np.linalg.solve(A, y), C - B.T @ np.linalg.solve(A, B)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("build/examples"), help="folder for the pictures")
    folder = parser.parse_args().out
    rng = np.random.default_rng(0)
    X, noise, kernel = np.sort(rng.uniform(0, 10, 40))[:, None], 0.1, Gaussian(1.0)
    y = np.sin(X[:, 0]) + np.sqrt(noise) * rng.normal(size=40)
    new = np.linspace(0, 10, 50)[:, None]

    mean, covariance = conditioned(kernel(np.vstack([X, new])), y, noise)
    ridge = KernelRidge(kernel, alpha=noise).fit(X, y)
    process = GaussianProcessRegressor(kernel, noise=noise, mean="zero", normalize_y=False, optimizer=None).fit(X, y)
    gp_mean, gp_covariance = process.predict(new, return_cov=True)

    print(f"conditional mean - ridge:             {np.abs(mean - ridge.predict(new)).max():.1e}")
    print(f"conditional mean - Gaussian process:  {np.abs(mean - gp_mean).max():.1e}")
    print(f"conditional covariance - the same:    {np.abs(covariance - gp_covariance).max():.1e}")
    residuals = y - process.predict(X)
    print(f"dual coefficients - residuals/noise:  {np.abs(process.dual_coef_ - residuals / noise).max():.1e}")

    from mercer.report.gaussian_process import ProcessDisplay

    folder.mkdir(parents=True, exist_ok=True)
    ProcessDisplay.from_estimator(process, X, y).figure_.savefig(folder / "gp_is_ridge.png", dpi=120)


if __name__ == "__main__":
    main()
