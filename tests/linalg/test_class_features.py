"""Laplace's approximation in the span of features: equal to the exact one with all rows, gradient by finite differences."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mercer import Gaussian
from mercer.linalg.class_features import (
    FeatureBlock,
    backward,
    feature_slopes,
    find_feature_mode,
    inverse_of,
    row_covariances,
)
from mercer.linalg.likelihoods import Logit
from mercer.linalg.newton import find_mode
from mercer.linalg.softmax import find_softmax_mode

N, M = 40, 7


class Rows:
    """Rows in two blocks."""

    def __init__(self, Phi: np.ndarray, left: np.ndarray, codes: np.ndarray, weights: np.ndarray | None = None) -> None:
        w = np.ones(len(Phi)) if weights is None else weights
        halves = (slice(0, 13), slice(13, None))
        self.blocks = [FeatureBlock(Phi[rows], left[rows], codes[rows], w[rows]) for rows in halves]

    def sum(self, work: Callable[..., tuple[Any, ...]], *shared: Any) -> tuple[Any, ...]:
        return tuple(a + b for a, b in zip(*(work(block, *shared) for block in self.blocks), strict=True))


def _codes(rng: np.random.Generator, X: np.ndarray, C: int) -> np.ndarray:
    return np.digitize(X[:, 0] + 0.4 * rng.normal(size=len(X)), np.linspace(-1, 1, C + 1)[1:-1])


@pytest.mark.parametrize("C", [2, 3, 5])
def test_all_rows_as_features_are_the_exact_approximation(C: int, rng: np.random.Generator) -> None:
    X = rng.normal(size=(N, 2))
    codes = _codes(rng, X, C)
    K = 4.0 * Gaussian(1.0)(X) + 1e-8 * np.eye(N)
    Phi = np.linalg.cholesky(K)
    mode = find_feature_mode(Rows(Phi, np.zeros(N), codes), (N, 1 if C == 2 else C))
    if C == 2:
        exact = find_mode(K, Logit(), codes.astype(float))
        np.testing.assert_allclose((Phi @ mode.C)[:, 0], exact.f, atol=1e-7)
        S = row_covariances(Phi, inverse_of(mode))[:, 0, 0]
        np.testing.assert_allclose(S, np.linalg.inv(np.linalg.inv(K) + np.diag(exact.W)).diagonal(), rtol=1e-5)
    else:
        several = find_softmax_mode(K, np.eye(C)[codes])
        np.testing.assert_allclose(Phi @ mode.C, several.F, atol=1e-6)
    assert mode.converged
    assert mode.evidence == pytest.approx(exact.evidence if C == 2 else several.evidence, abs=1e-7)


@pytest.mark.parametrize("C", [2, 3])
def test_the_gradient_is_that_of_finite_differences(C: int, rng: np.random.Generator) -> None:
    Phi, T = rng.normal(size=(N, M)), 1 if C == 2 else C
    codes = _codes(rng, Phi, C)
    prior = np.sum(Phi**2, axis=1) + rng.random(N)

    def rows(P: np.ndarray, k: np.ndarray) -> Rows:
        return Rows(P, k - np.sum(P**2, axis=1), codes)

    def value(P: np.ndarray, k: np.ndarray) -> float:
        return find_feature_mode(rows(P, k), (M, T), tol=1e-14).evidence

    here = rows(Phi, prior)
    back = backward(here, find_feature_mode(here, (M, T), tol=1e-14))
    slopes, own = (
        np.concatenate(part) for part in zip(*(feature_slopes(block, back) for block in here.blocks), strict=True)
    )
    for i, j in ((0, 0), (5, 3), (39, 6)):
        E = np.zeros((N, M))
        E[i, j] = 1e-4
        assert slopes[i, j] == pytest.approx((value(Phi + E, prior) - value(Phi - E, prior)) / 2e-4, rel=1e-5, abs=1e-7)
        assert own[i] == pytest.approx(
            (value(Phi, prior + E[:, j]) - value(Phi, prior - E[:, j])) / 2e-4, rel=1e-5, abs=1e-7
        )


@pytest.mark.parametrize("T", [1, 3])
def test_weights_are_copies_and_a_start_leads_to_the_same_mode(T: int, rng: np.random.Generator) -> None:
    Phi, w = rng.normal(size=(N, M)), rng.integers(1, 4, N)
    codes, left = _codes(rng, Phi, max(T, 2)), rng.random(N)
    one = find_feature_mode(Rows(Phi, left, codes, w.astype(float)), (M, T))
    many = find_feature_mode(Rows(*(np.repeat(part, w, axis=0) for part in (Phi, left, codes))), (M, T))
    again = find_feature_mode(Rows(Phi, left, codes, w.astype(float)), (M, T), start=one.C + 1.0)
    for other in (many, again):
        np.testing.assert_allclose(other.C, one.C, atol=1e-6)
        assert other.evidence == pytest.approx(one.evidence, abs=1e-7)


def test_too_few_steps_are_reported(rng: np.random.Generator) -> None:
    Phi = 5.0 * rng.normal(size=(N, M))
    mode = find_feature_mode(Rows(Phi, np.zeros(N), _codes(rng, Phi, 2)), (M, 1), max_iter=1)
    assert not mode.converged
    assert mode.message == "stopped after 1 steps"
