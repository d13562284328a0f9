"""log det and the diagonal of the inverse by random signs, against a dense factorization."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg as la

from mercer.errors import NumericalError
from mercer.linalg.log_determinant import random_traces


def test_the_mean_over_many_signs_is_exact() -> None:
    rng = np.random.default_rng(0)
    B = rng.normal(size=(40, 40))
    A = B @ B.T / 40 + np.diag(rng.uniform(0.5, 20.0, 40))
    signs = rng.choice([-1.0, 1.0], size=(40, 4000))
    found = random_traces(A, A.diagonal(), 0.3, signs, tol=1e-8)
    G = A + 0.3 * np.eye(40)
    single = [random_traces(A, A.diagonal(), 0.3, signs[:, [i]], tol=1e-8).logdet for i in range(50)]
    assert found.converged
    assert abs(found.logdet - np.linalg.slogdet(G)[1]) < 5 * np.std(single) / np.sqrt(4000) + 1e-9
    assert np.abs(found.inverse_diagonal - np.linalg.inv(G).diagonal()).max() < 0.02


def test_one_vector_of_signs_is_enough_for_a_diagonal_matrix() -> None:
    d = np.array([0.0, 1.0, 1e6])
    found = random_traces(np.diag(d), d, 1e-3, np.array([[1.0], [-1.0], [1.0]]))
    assert np.isclose(found.logdet, np.log(d + 1e-3).sum()) and np.allclose(found.inverse_diagonal, 1.0 / (d + 1e-3))


def test_a_matrix_that_is_not_positive_is_refused() -> None:
    with pytest.raises(NumericalError, match="must be positive"):
        random_traces(np.diag([1.0, -1.0]), np.array([1.0, -1.0]), 0.5, np.ones((2, 1)))


def test_where_the_fast_driver_fails_the_safe_one_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    B = rng.normal(size=(40, 40))
    A, signs = B @ B.T, rng.choice([-1.0, 1.0], size=(40, 3))
    expected = random_traces(A, A.diagonal(), 1.0, signs).logdet
    whole = la.eigh_tridiagonal

    def fails(*arguments: Any, lapack_driver: str = "auto") -> Any:
        if lapack_driver == "auto":
            raise la.LinAlgError("stemr (eigh_tridiagonal) did not converge (LAPACK info=22)")
        return whole(*arguments, lapack_driver=lapack_driver)

    monkeypatch.setattr(la, "eigh_tridiagonal", fails)
    assert np.isclose(random_traces(A, A.diagonal(), 1.0, signs).logdet, expected, rtol=1e-12)
