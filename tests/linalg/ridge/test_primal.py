import numpy as np
import pytest
import scipy.sparse as sp
from tests.linalg.ridge import naive
from tests.linalg.ridge.test_dual import CASES, problem

from mercer.errors import InputError
from mercer.linalg.ridge.dual import solve_dual
from mercer.linalg.ridge.primal import normal_equations, solve_primal


def features(kind, d=4, offset=0.0):
    _, Y, w = problem(kind)
    return np.random.default_rng(1).normal(size=(25, d)) + offset, Y, w


def blocks(Z, Y, w, sizes=(7, 1, 17)):
    stop = np.cumsum(sizes)
    for start, end in zip(stop - sizes, stop, strict=True):
        yield Z[start:end], Y[start:end], None if w is None else w[start:end]


@pytest.mark.parametrize(("kind", "intercept"), CASES)
@pytest.mark.parametrize("sparse", [False, True])
def test_primal_is_dual(kind, intercept, sparse):
    Z, Y, w = features(kind)
    rows = sp.csr_array(Z) if sparse else Z
    fit = solve_primal(blocks(rows, Y, w), 0.4, fit_intercept=intercept)
    dual = solve_dual(Z @ Z.T, Y, 0.4, weights=w, fit_intercept=intercept)
    assert np.allclose(fit.value, Z.T @ dual.value, rtol=0, atol=1e-10)
    assert np.allclose(fit.intercept, dual.intercept, rtol=0, atol=1e-10)
    assert np.allclose(fit.predict(rows), Y - dual.residuals, rtol=0, atol=1e-10)
    assert np.allclose(fit.leverage(rows, w), dual.leverage(), rtol=0, atol=1e-10)
    assert np.isclose(fit.effective_dof, dual.effective_dof())
    assert np.allclose(fit.leave_one_out(rows, Y, w), dual.leave_one_out(), rtol=0, atol=1e-8)
    assert np.allclose(fit.norm_squared, dual.norm_squared, rtol=1e-8)
    assert fit.converged and fit.jitter == 0 and fit.condition < 1e4


@pytest.mark.parametrize("intercept", [False, True])
def test_folds_by_subtraction(intercept):
    Z, Y, w = features("zeros")
    whole = normal_equations([(Z, Y, w)], fit_intercept=intercept)
    fold = np.array([2, 3, 11, 24])
    part = normal_equations([(Z[fold], Y[fold], w[fold])], fit_intercept=intercept, shift=whole.shift)
    fit = solve_primal(whole.without(part), 0.4)
    wanted = naive.held_out(Z @ Z.T, Y, 0.4, [fold], w, intercept)[0]
    assert np.allclose(Y[fold] - fit.predict(Z[fold]), wanted, rtol=0, atol=1e-8)


def test_a_large_offset_costs_no_digits():
    Z, Y, _ = features(None)
    plain = solve_primal([(Z, Y)], 0.4, fit_intercept=True)
    moved = solve_primal(blocks(Z + 1e6, Y, None), 0.4, fit_intercept=True)
    assert np.allclose(plain.value, moved.value, rtol=0, atol=1e-8)


def test_float32_rows_are_summed_in_float64():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(4000, 3)).astype(np.float32)
    y = (Z @ [1.0, 2.0, 3.0]).astype(np.float64)
    sums = normal_equations([(Z, y)])
    assert sums.gram.dtype == np.float64
    assert np.allclose(sums.gram, Z.astype(float).T @ Z.astype(float), rtol=1e-13)


def test_one_dimensional_targets_keep_their_shape():
    Z, Y, _ = features(None)
    fit = solve_primal([(Z, Y[:, 0])], 0.4, fit_intercept=True)
    assert fit.value.shape == (4,) and fit.intercept.shape == () and fit.predict(Z).shape == (25,)
    assert fit.leave_one_out(Z, Y[:, 0]).shape == (25,)


def test_leverage_one_is_nan():
    Z = np.zeros((6, 2))
    Z[:5, 0] = [1, 2, 3, 4, 5]
    Z[5, 1] = 1
    loo = solve_primal([(Z, np.arange(6.0))], 0.0).leave_one_out(Z, np.arange(6.0))
    assert np.isnan(loo).tolist() == [False] * 5 + [True]


def test_dependent_columns_at_alpha_zero_report_jitter():
    Z, Y, _ = features(None)
    fit = solve_primal([(np.c_[Z, Z[:, 0]], Y)], 0.0)
    if fit.jitter:  # rounding may leave the last pivot just positive; then the condition number tells
        assert "singular" in fit.message
    else:
        assert fit.condition > 1e12


def test_bad_input_is_named():
    with pytest.raises(InputError, match="no rows"):
        normal_equations([])
    with pytest.raises(InputError, match="3 features, the ones before it 2"):
        normal_equations([(np.ones((2, 2)), np.ones(2)), (np.ones((2, 3)), np.ones(2))])
    with pytest.raises(InputError, match="NaN or infinity"):
        normal_equations([(np.full((2, 2), np.nan), np.ones(2))])
    with pytest.raises(InputError, match="non-empty"):
        normal_equations([(np.ones((0, 2)), np.ones(0))])
    with pytest.raises(InputError, match="targets of shape"):
        normal_equations([(np.ones((2, 2)), np.ones(2)), (np.ones((2, 2)), np.ones((2, 3)))])
    with pytest.raises(InputError, match="no row of positive weight"):
        solve_primal([(np.ones((2, 2)), np.ones(2), np.zeros(2))], 1.0, fit_intercept=True)
    one = normal_equations([(np.ones((2, 1)), np.ones(2))], fit_intercept=True)
    other = normal_equations([(np.zeros((2, 1)), np.ones(2))], fit_intercept=True)
    with pytest.raises(InputError, match="one shift"):
        one.without(other)
