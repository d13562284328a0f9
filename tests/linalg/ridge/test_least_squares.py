import numpy as np
import pytest
import scipy.sparse as sp
from tests.linalg.ridge import naive
from tests.linalg.ridge.test_dual import CASES, problem

from mercer.errors import InputError
from mercer.linalg.ridge.eigen import EigenFit, EigenPath
from mercer.linalg.ridge.primal import minimum_norm


@pytest.mark.parametrize(("kind", "intercept"), CASES)
@pytest.mark.parametrize("shape", ["tall", "wide", "deficient"])
def test_against_the_pseudo_inverse(kind, intercept, shape):
    _, Y, w = problem(kind)
    rng = np.random.default_rng(4)
    Z = rng.normal(size=(25, 40 if shape == "wide" else 5)) + 1
    if shape == "deficient":
        Z = np.c_[Z, Z[:, :2] @ rng.normal(size=(2, 3))]
    v, b = naive.least_squares(Z, Y, w, intercept)
    fit = minimum_norm(Z, Y, weights=w, fit_intercept=intercept)
    active = 25 if kind != "zeros" else 22
    assert fit.rank == (active - intercept if shape == "wide" else 5)
    assert np.allclose(fit.value, v, atol=1e-9) and np.allclose(fit.intercept, b, atol=1e-9)
    assert fit.converged and ("smallest norm" in fit.message) == (fit.rank < min(active, Z.shape[1]))
    gram = EigenFit(EigenPath.from_gram(Z @ Z.T, weights=w, fit_intercept=intercept), Y).solve(0.0)
    assert gram.rank == (active if shape == "wide" else 5)
    assert np.allclose(Z @ (Z.T @ gram.value) + gram.intercept, Z @ v + b, atol=1e-7)


def test_wildly_scaled_columns():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(30, 3)) * [1e-4, 1.0, 1e6]
    v = np.array([1e4, 1.0, 1e-6])
    fit = minimum_norm(Z, Z @ v)
    assert fit.rank == 3 and np.allclose(fit.value, v, rtol=1e-5) and 1e9 < fit.condition < 1e12


def test_duplicated_rows_with_different_targets_give_their_mean():
    Z = np.array([[1.0], [1.0]])
    assert np.allclose(minimum_norm(Z, np.array([1.0, 3.0])).value, [2.0])
    assert np.allclose(Z @ Z.T @ EigenFit(EigenPath.from_gram(Z @ Z.T), np.array([1.0, 3.0])).solve(0.0).value, 2.0)


def test_zero_features():
    fit = minimum_norm(np.zeros((3, 2)), np.ones(3), fit_intercept=True)
    assert fit.rank == 0 and np.allclose(fit.value, 0) and np.isclose(fit.intercept, 1)


def test_bad_input_is_named():
    with pytest.raises(InputError, match="dense Z"):
        minimum_norm(sp.csr_array(np.eye(2)), np.ones(2))
    with pytest.raises(InputError, match="row 1"):
        minimum_norm(np.array([[1.0], [np.nan]]), np.ones(2))
    with pytest.raises(InputError, match="non-empty"):
        minimum_norm(np.ones((0, 2)), np.ones(0))
