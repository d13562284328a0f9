"""Crossings of chosen rows with chosen columns are those of the whole matrix."""

from __future__ import annotations

import numpy as np
import pytest

import mercer

KERNELS = [mercer.Gaussian(1.0), mercer.Linear() + mercer.Laplacian(2.0), mercer.Polynomial(degree=2).normalized()]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_vectors(kernel, rng):
    X = rng.normal(size=(700, 4))
    K, operator = kernel(X), mercer.GramOperator(kernel, X)
    rows, cols = rng.permutation(700)[:300], rng.permutation(700)[:123]
    assert np.allclose(operator.submatrix(rows, cols), K[np.ix_(rows, cols)], atol=1e-12)
    assert np.allclose(operator.submatrix(rows, rows), K[np.ix_(rows, rows)], atol=1e-12)
    assert np.allclose(operator.submatrix(rows[:9], slice(200, None)), K[rows[:9], 200:], atol=1e-12)
    out = np.empty((9, 700))
    assert operator.submatrix(rows[:9], slice(None), out) is out and np.allclose(out, K[rows[:9]], atol=1e-12)
    assert operator.submatrix(rows[:0], cols).shape == (0, 123)


def test_strings_and_values_from_elsewhere(rng):
    words = ["banana", "ananas", "bandana", "cabana"]
    k = mercer.Spectrum(p=2)
    pick, other = np.array([2, 0]), np.array([1, 3, 0])
    assert np.array_equal(mercer.GramOperator(k, words).submatrix(pick, other), k(words)[np.ix_(pick, other)])
    K = rng.normal(size=(6, 6))
    assert np.array_equal(mercer.GramOperator(mercer.Precomputed(), K).submatrix(pick, other), K[np.ix_(pick, other)])
