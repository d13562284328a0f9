import tracemalloc

import numpy as np
import pytest
from tests.linalg.ridge import naive
from tests.linalg.ridge.test_dual import CASES, problem
from tests.linalg.ridge.test_eigen_fit import FOLDS

from mercer.errors import InputError
from mercer.linalg.ridge.dual import cholesky_held_out, solve_dual
from mercer.linalg.ridge.eigen import EigenFit, EigenPath


@pytest.mark.parametrize(("kind", "intercept"), CASES)
def test_closed_forms_equal_refits(kind, intercept):
    K, Y, w = problem(kind)
    for alpha in (0.01, 1.0, 30.0):
        fit = solve_dual(K, Y, alpha, weights=w, fit_intercept=intercept)
        single = naive.held_out(K, Y, alpha, [[i] for i in range(25)], w, intercept)
        assert np.allclose(fit.leave_one_out(), np.concatenate(single), rtol=0, atol=1e-8)
        wanted = naive.held_out(K, Y, alpha, FOLDS, w, intercept)
        for got, exact in zip(fit.held_out(FOLDS), wanted, strict=True):
            assert np.allclose(got, exact, rtol=0, atol=1e-8)


@pytest.mark.parametrize(("kind", "intercept"), CASES)
def test_both_routes_agree(kind, intercept):
    K, Y, w = problem(kind)
    alphas = np.array([0.05, 0.5, 5.0])
    fit = EigenFit(EigenPath.from_gram(K, weights=w, fit_intercept=intercept), Y)
    settings = {"weights": w, "fit_intercept": intercept}
    loo = cholesky_held_out(K, Y, alphas, **settings)
    assert np.allclose(loo.residuals[0], fit.leave_one_out(alphas), rtol=0, atol=1e-9)
    folds = cholesky_held_out(K, Y, alphas, folds=FOLDS, **settings)
    for one, other in zip(folds.residuals, fit.held_out(alphas, FOLDS), strict=True):
        assert one.shape == other.shape and np.allclose(one, other, rtol=0, atol=1e-9)
    assert not folds.jitter.any() and folds.undefined == 0 and "all" in folds.message


def test_all_alphas_in_one_memory_which_comes_back():
    rng = np.random.default_rng(0)
    K, _ = naive.gram(rng, 1200)
    before = K.copy()
    seen = []
    tracemalloc.start()
    cholesky_held_out(
        K, rng.normal(size=1200), [0.5, 1.0], folds=np.split(np.arange(1200), 10), overwrite=True,
        progress=lambda done, total: seen.append((done, total)),
    )  # fmt: skip
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.array_equal(K, before)
    assert peak < 0.8 * K.nbytes
    assert seen == [(1, 2), (2, 2)]


def test_alpha_zero_is_undefined_and_said_so():
    K, Y, _ = problem(None)
    result = cholesky_held_out(K, Y, [0.0, 1.0])
    assert np.isnan(result.residuals[0][0]).all() and np.isfinite(result.residuals[0][1]).all()
    assert result.undefined == 50 and "leverage 1" in result.message and "raise alpha" in result.message
    assert np.isnan(cholesky_held_out(K, Y, [0.0], folds=FOLDS).residuals[0]).all()


def test_float32():
    K, Y, w = problem("zeros")
    result = cholesky_held_out(K.astype(np.float32), Y, [0.5], folds=FOLDS, weights=w, fit_intercept=True)
    for got, exact in zip(result.residuals, naive.held_out(K, Y, 0.5, FOLDS, w, True), strict=True):
        assert np.allclose(got[0], exact, atol=1e-4)


def test_one_row_with_an_intercept_leaves_nothing():
    fit = solve_dual(np.eye(1), np.array([3.0]), 1.0, fit_intercept=True)
    assert np.isnan(fit.leave_one_out()).all()
    assert np.isnan(fit.held_out([[0]])[0]).all()


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("several", [False, True])
def test_the_last_rows_by_groups(intercept, several):
    K, Y, _ = problem(None)
    Y = Y if several else Y[:, 0]
    groups = np.array([4, 0, 4, 1, 2, 2, 2])
    last = np.arange(18, 25)
    got = solve_dual(K, Y, 0.3, fit_intercept=intercept).held_out_last(groups)
    assert got.shape == (7, *Y.shape[1:])
    for group in np.unique(groups):
        (wanted,) = naive.held_out(K, Y.reshape(25, -1), 0.3, [last[groups == group]], None, intercept)
        assert np.allclose(got[groups == group].reshape(len(wanted), -1), wanted, rtol=0, atol=1e-8)


def test_no_last_rows_and_rows_of_weight_zero():
    K, Y, w = problem("zeros")
    assert solve_dual(K, Y, 1.0).held_out_last(np.empty(0, int)).shape == (0, *Y.shape[1:])
    with pytest.raises(InputError, match="all weights are positive"):
        solve_dual(K, Y, 1.0, weights=w).held_out_last(np.arange(3))
