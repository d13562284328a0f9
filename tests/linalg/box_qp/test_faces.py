"""Newton steps on a face: the minimum by its conditions, bounds respected, sums kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.linalg.box_qp import faces


@given(seed=st.integers(0, 10**6), n=st.integers(3, 30), groups=st.integers(1, 2))
def test_the_minimum_on_a_face(seed, n, groups):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, n))
    K = A @ A.T + 0.1 * np.eye(n)
    c, b = rng.normal(size=n), rng.uniform(-0.1, 0.1, size=n)
    group = np.arange(n) % groups
    low, high = np.full(n, -1e6), np.full(n, 1e6)
    sums = [b[group == g].sum() for g in range(groups)]
    f = c - K @ b
    before = 0.5 * b @ K @ b - c @ b
    assert faces.descend_face(K, f, b, low, high, group, groups)
    np.testing.assert_allclose(f, c - K @ b, atol=1e-6)
    assert 0.5 * b @ K @ b - c @ b <= before + 1e-9
    for g in range(groups):
        assert b[group == g].sum() == pytest.approx(sums[g], abs=1e-8)
        assert np.ptp(f[group == g]) < 1e-3 * (1 + np.abs(f).max())  # f is level on a face at its minimum


def test_a_bound_on_the_way_is_met_exactly(rng):
    n = 12
    A = rng.normal(size=(n, n))
    K = A @ A.T + 0.1 * np.eye(n)
    c, b = 5 * rng.normal(size=n), np.zeros(n)
    low, high = np.full(n, -1e-3), np.full(n, 1e-3)
    f = c.copy()
    assert faces.descend_face(K, f, b, low, high, np.zeros(n, dtype=int), 1)
    assert ((b == low) | (b == high)).any() and (b >= low).all() and (b <= high).all()
    assert b.sum() == pytest.approx(0.0, abs=1e-12)
    assert 0.5 * b @ K @ b - c @ b < 0
    np.testing.assert_allclose(f, c - K @ b, atol=1e-9)


def test_nothing_to_move(rng):
    K, b = np.eye(4), np.array([1.0, 1.0, 0.0, 0.5])
    low, high = np.zeros(4), np.ones(4)
    f = rng.normal(size=4)
    assert not faces.descend_face(K, f, b, low, high, np.zeros(4, dtype=int), 1)  # one free variable cannot move alone
    indefinite = -np.eye(4)
    b = np.full(4, 0.5)
    assert not faces.descend_face(indefinite, f, b, low, high, np.zeros(4, dtype=int), 1)
    assert (b == 0.5).all()
