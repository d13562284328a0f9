"""Calibration of every likelihood on simulated data, with all hyper-parameters fitted.

python -m benchmarks.probability_calibration [draws] [likelihood ...]
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit

from mercer import Gaussian, GaussianProcessClassifier, GaussianProcessRegressor
from mercer.linalg.likelihoods import predictive_cdf

Array = Any
TRAIN, NEW, DRAWS = 300, 300, 40

#: Differences allowed: of coverage from 90 %, of the transform from uniform, of shares from probabilities, on average.
WITHIN = 0.02

CONTINUOUS = ("student", "censored")


def _student(f: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    y = f + 0.3 * rng.standard_t(4.0, len(f))
    return y, y


def _poisson(f: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    y = rng.poisson(np.exp(1.0 + f)).astype(float)
    return y, y


def _negative_binomial(f: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    y = rng.poisson(np.exp(1.0 + f) * rng.gamma(3.0, 1.0 / 3.0, len(f))).astype(float)
    return y, y


def _ordinal(f: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    y = np.searchsorted([-0.8, 0.0, 0.8], f + rng.normal(size=len(f))).astype(float)
    return y, y


def _censored(f: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return bounds, the upper ones open above 0.8, and the numbers themselves."""
    y = f + 0.3 * rng.normal(size=len(f))
    return np.column_stack([np.minimum(y, 0.8), np.where(y > 0.8, np.inf, y)]), y


TARGETS: dict[str, Callable[[Array, np.random.Generator], tuple[Array, Array]]] = {
    "student": _student,
    "poisson": _poisson,
    "negative-binomial": _negative_binomial,
    "ordinal": _ordinal,
    "censored": _censored,
}


def _functions(rng: np.random.Generator, variance: float, count: int) -> tuple[Array, Array]:
    """Return rows on a line and functions drawn from a process, (rows, count)."""
    X = rng.uniform(0, 12, size=(TRAIN + NEW, 1))
    K = Gaussian(1.5)(X) + 1e-8 * np.eye(len(X))
    return X, np.sqrt(variance) * np.linalg.cholesky(K) @ rng.normal(size=(len(X), count))


def transforms(kind: str, seed: int) -> tuple[Array, Array]:
    """Return the randomized probability integral transform of new targets and whether their 90 % intervals hold them."""
    rng = np.random.default_rng(seed)
    X, F = _functions(rng, 1.0, 1)
    y, seen = TARGETS[kind](F[:, 0], rng)
    gp = GaussianProcessRegressor(1.0 * Gaussian(1.0), likelihood=kind, n_restarts=0).fit(X[:TRAIN], y[:TRAIN])
    new, seen = X[TRAIN:], seen[TRAIN:]
    assert gp._latent is not None
    likelihood, (mean, variance) = gp._latent.likelihood, gp.latent_mean_and_variance(new)
    above = predictive_cdf(likelihood, seen, mean, variance)
    below = predictive_cdf(likelihood, seen - 1.0, mean, variance) if likelihood.integer else above
    low, high = gp.predict_interval(new).T
    return below + rng.random(NEW) * (above - below), (seen >= low) & (seen <= high)


def probabilities(n_classes: int, seed: int) -> tuple[Array, Array]:
    """Return the predicted probability of every class at new rows, and whether it was that class."""
    rng = np.random.default_rng(seed)
    X, F = _functions(rng, 4.0, 1 if n_classes == 2 else n_classes)
    P = np.column_stack([expit(-F), expit(F)]) if n_classes == 2 else np.exp(F) / np.exp(F).sum(axis=1, keepdims=True)
    y = (rng.random(len(X))[:, None] > np.cumsum(P, axis=1)).sum(axis=1).clip(max=n_classes - 1)
    gp = GaussianProcessClassifier(4.0 * Gaussian(1.0), n_restarts=0).fit(X[:TRAIN], y[:TRAIN])
    found, truth = gp.predict_proba(X[TRAIN:]), y[TRAIN:, None] == gp.classes_
    return (found[:, 1], truth[:, 1]) if n_classes == 2 else (found.ravel(), truth.ravel())


def _check_targets(kind: str, draws: int) -> bool:
    found = [transforms(kind, seed) for seed in range(draws)]
    u, held = np.sort(np.concatenate([u for u, _ in found])), np.concatenate([inside for _, inside in found])
    distance = float(np.abs(u - (np.arange(len(u)) + 0.5) / len(u)).max())
    middle, shares = float(np.mean((u >= 0.05) & (u <= 0.95))), np.array([inside.mean() for _, inside in found])
    error = shares.std(ddof=1) / np.sqrt(draws)
    print(
        f"{kind:18} transform at most {distance:.3f} from uniform, {middle:.1%} of it in the central 90 %; "
        f"90 % intervals hold {held.mean():.1%} (standard error {error:.1%})",
        flush=True,
    )
    covered = abs(float(held.mean()) - 0.9) <= WITHIN if kind in CONTINUOUS else held.mean() >= 0.9 - WITHIN
    return distance <= WITHIN and abs(middle - 0.9) <= WITHIN and bool(covered)


def _check_classes(n_classes: int, draws: int) -> bool:
    found = [probabilities(n_classes, seed) for seed in range(draws)]
    p, truth = np.concatenate([p for p, _ in found]), np.concatenate([truth for _, truth in found])
    bins = np.minimum((10 * p).astype(int), 9)
    apart = [abs(float(p[bins == b].mean() - truth[bins == b].mean())) for b in np.unique(bins)]
    weighted = float(np.average(apart, weights=np.bincount(bins, minlength=10)[np.unique(bins)]))
    print(f"{n_classes} classes          shares of ten bins {weighted:.3f} from the probabilities on average, at most "
          f"{max(apart):.3f}", flush=True)  # fmt: skip
    return weighted <= WITHIN


def main(words: list[str]) -> int:
    """Check every likelihood, or those named."""
    warnings.simplefilter("ignore")
    draws = int(words.pop(0)) if words and words[0].isdigit() else DRAWS
    good = [_check_targets(kind, draws) for kind in TARGETS if not words or kind in words]
    good += [_check_classes(count, draws) for count in (2, 3) if not words or "classes" in words]
    verdict = "every likelihood within" if all(good) else f"NOT REACHED by {good.count(False)} of {len(good)}: within"
    print(f"{verdict} 2 points of 90 %, of the uniform distribution and of the shares; {draws} draws")
    return 0 if all(good) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
