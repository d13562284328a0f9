import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.linalg.ridge import naive
from tests.linalg.ridge.test_dual import CASES, problem
from tests.linalg.ridge.test_eigen import ALPHAS

from mercer.errors import InputError
from mercer.linalg.ridge.eigen import EigenFit, EigenPath

FOLDS = [np.array([3, 0, 7]), np.arange(10, 20), np.array([4, 24]), np.array([1])]


def paths(kind, intercept, seed=0):
    """The same problem as a Gram and as explicit features."""
    K, Y, w = problem(kind, seed=seed)
    yield K, Y, w, EigenFit(EigenPath.from_gram(K, weights=w, fit_intercept=intercept), Y)
    Z = np.random.default_rng(seed + 9).normal(size=(25, 4)) + 1
    yield Z @ Z.T, Y, w, EigenFit(EigenPath.from_features(Z, weights=w, fit_intercept=intercept), Y)
    yield Z @ Z.T, Y, w, EigenFit(EigenPath.from_gram(Z @ Z.T, weights=w, fit_intercept=intercept), Y)


@pytest.mark.parametrize(("kind", "intercept"), CASES)
def test_every_alpha_against_brute_force(kind, intercept):
    for K, Y, w, fit in paths(kind, intercept):
        residuals, loo = fit.residuals(ALPHAS), fit.leave_one_out(ALPHAS)
        norms, folds = fit.norm_squared(ALPHAS), fit.held_out(ALPHAS, FOLDS)
        assert residuals.shape == loo.shape == (4, 25, 2) and folds[1].shape == (4, 10, 2)
        for index, alpha in enumerate(ALPHAS):
            dual, b = naive.ridge(K, Y, alpha, w, intercept)
            solved = fit.solve(alpha)
            scale = np.abs(dual).max()
            assert np.allclose(solved.value, dual, rtol=0, atol=1e-9 * scale)
            assert np.allclose(solved.intercept, b, rtol=1e-9, atol=1e-9) and solved.converged
            assert np.allclose(residuals[index], Y - K @ dual - b, rtol=0, atol=1e-9)
            # The quadratic form of the twin cancels: dual is 1000 times larger than the function it makes.
            assert np.allclose(norms[index], np.einsum("it,ij,jt->t", dual, K, dual), rtol=1e-6)
            single = naive.held_out(K, Y, alpha, [[i] for i in range(25)], w, intercept)
            assert np.allclose(loo[index], np.concatenate(single), rtol=0, atol=1e-8)
            for got, wanted in zip(folds, naive.held_out(K, Y, alpha, FOLDS, w, intercept), strict=True):
                assert np.allclose(got[index], wanted, rtol=0, atol=1e-8)


@given(st.integers(3, 10), st.floats(1e-3, 1e3), st.booleans(), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_folds_of_one_are_leave_one_out(n, alpha, intercept, seed):
    rng = np.random.default_rng(seed)
    K, _ = naive.gram(rng, n)
    w = rng.uniform(0.1, 2, n) * (rng.random(n) > 0.2)
    w[:2] = 1.0
    fit = EigenFit(EigenPath.from_gram(K, weights=w, fit_intercept=intercept), rng.normal(size=n))
    one = fit.leave_one_out([alpha])[0]
    assert np.allclose(np.concatenate(fit.held_out([alpha], [[i] for i in range(n)]), axis=1)[0], one, atol=1e-9)


@pytest.mark.parametrize("intercept", [False, True])
def test_many_targets_are_the_single_ones_side_by_side(intercept):
    K, _, w = problem("zeros")
    Y = np.random.default_rng(1).normal(size=(25, 40))
    path = EigenPath.from_gram(K, weights=w, fit_intercept=intercept)
    wide = EigenFit(path, Y)
    for j in (0, 17, 39):
        one = EigenFit(path, Y[:, j])
        assert np.allclose(wide.residuals(ALPHAS)[:, :, j], one.residuals(ALPHAS), rtol=0, atol=1e-11)
        assert np.allclose(wide.leave_one_out(ALPHAS)[:, :, j], one.leave_one_out(ALPHAS), rtol=0, atol=1e-9)
        assert np.allclose(wide.norm_squared(ALPHAS)[:, j], one.norm_squared(ALPHAS), rtol=1e-9)
        assert np.allclose(wide.solve(0.3).value[:, j], one.solve(0.3).value, rtol=0, atol=1e-11)
        for a, b in zip(wide.held_out(ALPHAS, FOLDS), one.held_out(ALPHAS, FOLDS), strict=True):
            assert np.allclose(a[:, :, j], b, rtol=0, atol=1e-9)


def test_one_alpha_per_target():
    K, Y, w = problem("weights")
    fit = EigenFit(EigenPath.from_gram(K, weights=w, fit_intercept=True), Y)
    both = fit.solve(np.array([0.1, 7.0]))
    for j, alpha in enumerate([0.1, 7.0]):
        dual, b = naive.ridge(K, Y[:, j], alpha, w, True)
        assert np.allclose(both.value[:, j], dual, rtol=0, atol=1e-10) and np.isclose(both.intercept[j], b)
    with pytest.raises(InputError, match="2 targets and 3 alphas"):
        fit.solve(np.ones(3))


def test_shapes_follow_the_targets():
    K, Y, _ = problem(None)
    path = EigenPath.from_gram(K)
    fit = EigenFit(path, Y[:, 0])
    assert fit.solve(1.0).value.shape == (25,) and fit.solve(1.0).intercept.shape == ()
    assert fit.leave_one_out([1.0, 2.0]).shape == (2, 25)
    assert fit.held_out([1.0], FOLDS)[0].shape == (1, 3)
    assert fit.norm_squared([1.0]).shape == (1,)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kind", [None, "weights", "zeros"])
def test_alpha_zero_is_least_squares_with_its_held_out_residuals(kind, intercept):
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(25, 4)) + 2
    _, Y, w = problem(kind)
    for path in (
        EigenPath.from_gram(Z @ Z.T, weights=w, fit_intercept=intercept),
        EigenPath.from_features(Z, weights=w, fit_intercept=intercept),
    ):
        fit = EigenFit(path, Y)
        solved = fit.solve(0.0)
        weights, b = naive.least_squares(Z, Y, w, intercept)
        assert solved.rank == 4
        assert np.allclose(Z.T @ solved.value, weights, atol=1e-8) and np.allclose(solved.intercept, b, atol=1e-8)
        for fold, got in zip(FOLDS, fit.held_out([0.0], FOLDS), strict=True):
            kept = np.ones(25) if w is None else w.copy()
            kept[fold] = 0
            v, c = naive.least_squares(Z, Y, kept, intercept)
            assert np.allclose(got[0], Y[fold] - Z[fold] @ v - c, atol=1e-7)


def test_leverage_one_at_alpha_zero_has_the_limit_as_residual():
    K, Y, _ = problem(None, n=12)
    fit = EigenFit(EigenPath.from_gram(K), Y[:12])
    limit, small = fit.leave_one_out([0.0, 1e-9])
    assert np.allclose(limit, small, rtol=1e-5)
    assert np.isnan(fit.held_out([0.0], [[0, 1]])[0]).all()
    # One row that alone has a feature: leverage 1 there and only there.
    Z = np.zeros((6, 2))
    Z[:5, 0] = [1, 2, 3, 4, 5]
    Z[5, 1] = 1
    loo = EigenFit(EigenPath.from_features(Z), np.arange(6.0)).leave_one_out([0.0])[0]
    assert np.isfinite(loo).all() and loo[5] == 5.0  # without it, the function of least norm is 0 there


def test_nothing_left_for_the_intercept_is_nan():
    K, Y, _ = problem(None)
    fit = EigenFit(EigenPath.from_gram(K, fit_intercept=True), Y)
    assert np.isnan(fit.held_out([1.0], [np.arange(25)])[0]).all()
    assert np.allclose(EigenFit(EigenPath.from_gram(K), Y).held_out([1.0], [np.arange(25)])[0][0], Y)
    lone = EigenFit(EigenPath.from_gram(np.eye(1), fit_intercept=True), np.array([3.0]))
    assert np.isnan(lone.leave_one_out([1.0])).all()


def test_constant_in_the_span_at_alpha_zero_is_the_limit():
    """K + 1 spans the constant: intercept and kernel share it as the limit alpha -> 0 does."""
    rng = np.random.default_rng(5)
    Z = np.c_[rng.normal(size=(20, 2)), np.ones(20)]
    y = rng.normal(size=20) + 3
    fit = EigenFit(EigenPath.from_gram(Z @ Z.T, fit_intercept=True), y)
    limit, exact = fit.solve(1e-9), fit.solve(0.0)
    assert np.allclose(Z @ Z.T @ limit.value + limit.intercept, Z @ Z.T @ exact.value + exact.intercept, atol=1e-6)


def test_float32():
    K, Y, w = problem("zeros")
    fit = EigenFit(EigenPath.from_gram(K.astype(np.float32), weights=w, fit_intercept=True), Y)
    wanted = naive.held_out(K, Y, 0.5, [[i] for i in range(25)], w, True)
    assert np.allclose(fit.leave_one_out([0.5])[0], np.concatenate(wanted), atol=1e-3)
    for got, exact in zip(fit.held_out([0.5], FOLDS), naive.held_out(K, Y, 0.5, FOLDS, w, True), strict=True):
        assert np.allclose(got[0], exact, atol=1e-3)


def test_bad_targets_are_named():
    path = EigenPath.from_gram(np.eye(3))
    with pytest.raises(InputError, match="row 2"):
        EigenFit(path, np.array([1.0, 2.0, np.nan]))
    with pytest.raises(InputError, match="one row per row"):
        EigenFit(path, np.ones(4))
