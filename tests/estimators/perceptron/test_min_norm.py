"""Wolfe's algorithm: the nearest point of a hull, by its conditions and against what is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.estimators.perceptron.min_norm import min_norm


def search(P, **options):
    return min_norm(lambda i: P @ P[i], (P * P).sum(axis=1), **options)


@given(seed=st.integers(0, 10**6), n=st.integers(1, 60), d=st.integers(1, 8), shift=st.floats(0, 3))
def test_the_conditions_of_the_nearest_point(seed, n, d, shift):
    random = np.random.default_rng(seed)
    P = random.normal(size=(n, d))
    P[:, 0] += shift
    found = search(P)
    a, w = found.weights, P.T @ found.weights
    assert a.min() >= 0 and a.sum() == pytest.approx(1.0)
    assert np.linalg.norm(w) == pytest.approx(found.norm, abs=1e-6)
    assert found.margin <= found.norm + 1e-9
    assert found.converged
    if found.separable:
        assert (P @ w).min() >= found.norm**2 * (1 - 1e-6) - 1e-9  # every point lies beyond the plane through w
    else:
        assert found.norm <= 1e-6 * np.sqrt((P * P).sum(axis=1).max())


def test_repeated_and_opposite_points():
    assert search(np.array([[1.0, 0.0]] * 5)).norm == pytest.approx(1.0)
    assert search(np.array([[1.0, 0.0], [-1.0, 0.0]])).separable is False
    assert search(np.zeros((3, 2))).separable is False


def test_a_search_that_is_cut_short_claims_nothing(rng):
    P = rng.normal(size=(300, 40))
    found = search(P, max_iter=3)
    assert not found.converged and (found.separable is None or found.margin > 0)
