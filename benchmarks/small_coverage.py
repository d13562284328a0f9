"""Coverage of 90 % intervals with few rows, simulated: KernelRidge, KernelRidgeCV and a Gaussian process.

    python -m benchmarks.small_coverage [--draws 100] [--models ridge,ridge-cv,gp] [--rows 20,40,60]

Rows are two standard normal columns, y = sin(2 x0) + x1 / 2 + 0.3 e, with four laws of e: normal, Laplace, uniform, and t
with 5 degrees of freedom, each of variance 1. Every draw has 25 new rows; 100 draws of each law make 400 draws for each
model and number of rows. The last row of the table has 40 rows and copies of 20 of them. The exit code is 1 if a pooled
coverage lies outside of 0.88 to 0.92.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import mercer
from mercer.numeric.threads import one_blas_thread

LOW, HIGH, NEW = 0.88, 0.92, 25

LAWS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "Laplace": lambda rng, n: rng.laplace(size=n) / 2**0.5,
    "uniform": lambda rng, n: rng.uniform(-(3**0.5), 3**0.5, n),
    "t5": lambda rng, n: rng.standard_t(5, n) / (5 / 3) ** 0.5,
}

MODELS: dict[str, Callable[[], Any]] = {
    "ridge": lambda: mercer.KernelRidge(alpha=0.1, fit_intercept=True),
    "ridge-cv": mercer.KernelRidgeCV,
    "gp": mercer.GaussianProcessRegressor,
}


def draw(rng: np.random.Generator, n: int, law: str) -> tuple[Any, Any]:
    """Return n rows and their targets."""
    X = rng.normal(size=(n, 2))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * LAWS[law](rng, n)


def covered(model: str, n: int, law: str, seed: int, copies: int = 0) -> float:
    """Return the part of new targets inside of their intervals, in one draw."""
    rng = np.random.default_rng([seed, n, list(LAWS).index(law)])
    X, y = draw(rng, n, law)
    new, targets = draw(rng, NEW, law)
    again = rng.choice(n, copies, replace=False)
    X, y = np.vstack([X, X[again]]), np.append(y, y[again])
    low, high = MODELS[model]().fit(X, y).predict_interval(new).T
    return float(np.mean((low <= targets) & (targets <= high)))


def main(words: list[str] | None = None) -> int:
    """Print one line per model and number of rows; return 1 if one is outside of the bounds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=100, help="draws of each law")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--rows", default="20,40,60")
    args = parser.parse_args(words)
    print(f"coverage of 90 % intervals, {args.draws} draws of each law\n\nmodel     rows   " + "  ".join(LAWS) + "  pooled")
    outside = 0
    for model in args.models.split(","):
        for n, copies in [*[(int(n), 0) for n in args.rows.split(",")], (40, 20)]:
            with one_blas_thread():  # small matrices: a second thread only waits
                shares = [np.mean([covered(model, n, law, seed, copies) for seed in range(args.draws)]) for law in LAWS]
            pooled = float(np.mean(shares))
            outside += not LOW <= pooled <= HIGH
            name = f"{n}+{copies}" if copies else str(n)
            print(
                f"{model:<8} {name:>5}   " + "   ".join(f"{share:.3f}" for share in shares) + f"   {pooled:.4f}", flush=True
            )
    print(f"\n{outside} outside of {LOW} to {HIGH}")
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main())
