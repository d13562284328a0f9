"""Rows of weight zero, whole weights, alpha = 0 and small alphas: what they mean, on every route."""

import numpy as np
import pytest
from sklearn.base import clone

from mercer import Gaussian, KernelRidge, KernelRidgeCV, Linear, Polynomial, load, save
from mercer.errors import InputError
from mercer.estimators.ridge import mixed

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = np.sin(X[:, 0]) + 0.1 * RNG.normal(size=40)
NEW = RNG.normal(size=(6, 3))


def with_idle_rows(count=25):
    """The data with rows of weight zero among them, whose targets are absurd."""
    far = RNG.normal(size=(count, 3))
    weights = np.r_[np.ones(40), np.zeros(count)]
    order = np.random.default_rng(1).permutation(40 + count)
    return np.vstack([X, far])[order], np.r_[Y, 1e6 * np.ones(count)][order], weights[order]


@pytest.mark.parametrize("method", ["jackknife", "jackknife+"])
@pytest.mark.parametrize("options", [{}, {"fit_intercept": True}, {"solver": "eigh"}, {"alpha": 0.0}], ids=str)
def test_rows_of_weight_zero_have_no_part_in_the_intervals(method, options):
    options = {"alpha": 0.1, **options}
    plain = KernelRidge(Gaussian(1.0), **options).fit(X, Y).predict_interval(NEW, method=method)
    A, b, w = with_idle_rows()
    weighted = KernelRidge(Gaussian(1.0), **options).fit(A, b, sample_weight=w)
    np.testing.assert_allclose(weighted.predict_interval(NEW, method=method), plain, rtol=1e-6, atol=1e-9)
    assert "1e+06" not in str(weighted) and "e+05" not in str(weighted)


@pytest.mark.parametrize("options", [{"alphas": [0.01, 0.1, 1.0]}, {}], ids=str)
def test_rows_of_weight_zero_and_the_chosen_model(options, tmp_path):
    A, b, w = with_idle_rows()
    plain, weighted = KernelRidgeCV(Gaussian(1.0), **options).fit(X, Y), KernelRidgeCV(Gaussian(1.0), **options)
    weighted.fit(A, b, sample_weight=w)
    assert weighted.best_alpha_ == pytest.approx(plain.best_alpha_)
    assert weighted.best_score_ == pytest.approx(plain.best_score_)
    for method in ("jackknife", "jackknife+"):
        expected = plain.predict_interval(NEW, method=method)
        np.testing.assert_allclose(weighted.predict_interval(NEW, method=method), expected, rtol=1e-6, atol=1e-9)
    save(weighted, tmp_path / "model.mercer")
    np.testing.assert_allclose(load(tmp_path / "model.mercer").predict_interval(NEW), plain.predict_interval(NEW), rtol=1e-6)


def test_the_float32_quantile_too(monkeypatch):
    monkeypatch.setattr(mixed, "MIXED_ROWS", 8)
    A, b, w = with_idle_rows()
    plain = KernelRidge(Gaussian(1.0), alpha=1.0).fit(X, Y)
    weighted = KernelRidge(Gaussian(1.0), alpha=1.0).fit(A, b, sample_weight=w)
    assert plain._fitted.mixed
    np.testing.assert_allclose(weighted.predict_interval(NEW), plain.predict_interval(NEW), rtol=1e-6)


def test_what_whole_weights_mean_for_intervals():
    """A row of weight w is left out with all its copies, and is one residual: the residuals of folds of copies."""
    copies = RNG.integers(1, 4, size=40)
    model = KernelRidge(Gaussian(1.0), alpha=0.1).fit(X, Y, sample_weight=copies)
    for i in (0, 7, 31):
        keep = np.repeat(np.arange(40) != i, copies)
        rest = KernelRidge(Gaussian(1.0), alpha=0.1).fit(np.repeat(X, copies, axis=0)[keep], np.repeat(Y, copies)[keep])
        assert model.loo_residuals_[i] == pytest.approx(Y[i] - rest.predict(X[i : i + 1])[0], rel=1e-8)
    radius = np.sort(np.abs(model.loo_residuals_))[int(np.ceil(0.9 * 41)) - 1]
    width = np.diff(model.predict_interval(NEW), axis=1)[:, 0]
    np.testing.assert_allclose(width, 2 * radius)


def test_what_whole_weights_mean_for_huber():
    """Copies of the row, exactly: in the loss and in the scale of the noise."""
    copies = RNG.integers(0, 4, size=40)
    y = Y.copy()
    y[:4] += 8.0
    weighted = KernelRidge(Gaussian(1.0), alpha=0.1, loss="huber").fit(X, y, sample_weight=copies)
    repeated = KernelRidge(Gaussian(1.0), alpha=0.1, loss="huber").fit(np.repeat(X, copies, axis=0), np.repeat(y, copies))
    assert weighted.huber_.delta == pytest.approx(repeated.huber_.delta, rel=1e-8)
    np.testing.assert_allclose(weighted.predict(NEW), repeated.predict(NEW), rtol=1e-5)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("solver", ["auto", "eigh"])
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Gaussian(0.3), Linear(), Polynomial(3)], ids=str)
def test_leave_one_out_at_alpha_zero_is_that_of_refits(kernel, solver, intercept):
    options = {"alpha": 0.0, "solver": solver, "fit_intercept": intercept}
    model = KernelRidge(kernel, **options).fit(X, Y)
    refits = []
    for i in range(40):
        rest = np.arange(40) != i
        refits.append(Y[i] - KernelRidge(kernel, **options).fit(X[rest], Y[rest]).predict(X[i : i + 1])[0])
    np.testing.assert_allclose(model.loo_residuals_, refits, rtol=1e-7, atol=1e-9)
    assert np.isfinite(model.predict_interval(NEW)).all()
    assert np.isfinite(model.predict_interval(NEW, method="jackknife+")).all()


@pytest.mark.parametrize("intercept", [False, True])
def test_alpha_zero_is_the_limit_of_small_alphas(intercept):
    zero = KernelRidge(Gaussian(0.5), alpha=0.0, fit_intercept=intercept).fit(X, Y)
    tiny = KernelRidge(Gaussian(0.5), alpha=1e-300, fit_intercept=intercept).fit(X, Y)
    np.testing.assert_allclose(zero.loo_residuals_, tiny.loo_residuals_, rtol=1e-6)
    np.testing.assert_allclose(zero.predict_interval(NEW), tiny.predict_interval(NEW), rtol=1e-6)


@pytest.mark.parametrize("solver", ["cholesky", "cg"])
def test_alpha_zero_by_a_route_that_cannot_tell_is_refused(solver):
    with pytest.raises(InputError, match=r"least squares of minimum norm.*solver=\"eigh\""):
        KernelRidge(Linear(), alpha=0.0, solver=solver).fit(X, Y)


@pytest.mark.parametrize("solver", ["auto", "primal", "eigh"])
def test_alpha_zero_is_minimum_norm_on_every_route(solver):
    wide = RNG.normal(size=(10, 30))
    y = RNG.normal(size=10)
    model = KernelRidge(Linear(), alpha=0.0, solver=solver).fit(wide, y)
    expected = np.linalg.lstsq(wide, y, rcond=None)[0]
    np.testing.assert_allclose(model.predict(np.eye(30)), expected, atol=1e-10)
    assert model.rkhs_norm_ == pytest.approx(np.linalg.norm(expected))


@pytest.mark.parametrize("solver", ["auto", "primal", "eigh", "cholesky"])
@pytest.mark.parametrize("alpha", [1e-12, 1e-9, 1e-3])
def test_the_norm_of_a_finite_rank_function_at_small_alpha(solver, alpha):
    A = RNG.normal(size=(30, 4))
    y = RNG.normal(size=30)
    w = np.linalg.solve(A.T @ A + alpha * np.eye(4), A.T @ y)
    model = KernelRidge(Linear(), alpha=alpha, solver=solver).fit(A, y)
    assert model.rkhs_norm_ == pytest.approx(np.linalg.norm(w), rel=1e-5)


def test_the_path_shows_the_same_norm():
    from mercer.report.ridge import PathDisplay

    A, y = RNG.normal(size=(30, 4)), RNG.normal(size=30)
    w = np.linalg.lstsq(A, y, rcond=None)[0]
    display = PathDisplay.from_data(A, y, kernel=Linear(), alphas=[1e-9, 1e-6], resamples=2)
    np.testing.assert_allclose(display.norms, np.linalg.norm(w), rtol=1e-5)


def test_equal_rows_are_left_out_together():
    """Copies of rows are a weight: 40 rows with 20 copies have the intervals of 40 rows with weights 1 and 2."""
    weights = np.where(np.arange(40) < 20, 2.0, 1.0)
    A, b = np.vstack([X, X[:20]]), np.concatenate([Y, Y[:20]])
    for model in (KernelRidge(Gaussian(1.0), alpha=0.1), KernelRidgeCV(Gaussian(1.0)), KernelRidgeCV(Gaussian(1.0), cv=5)):
        copied, weighted = clone(model).fit(A, b), clone(model).fit(X, Y, sample_weight=weights)
        if model.get_params().get("cv") is None:
            np.testing.assert_allclose(copied.predict_interval(NEW), weighted.predict_interval(NEW), rtol=1e-6)
        alone = clone(model).fit(X, Y)
        assert np.ptp(copied.predict_interval(NEW)[0]) > 0.5 * np.ptp(alone.predict_interval(NEW)[0])


def test_parameters_are_chosen_again_without_each_row():
    """Twin: refit the whole search on n - 1 rows, with the same kernels and alphas."""
    A, b = X[:15], Y[:15]
    alphas, scales = [1e-3, 1e-2, 0.1, 1.0], [0.3, 1.0, 3.0]
    for weights in (None, RNG.integers(1, 4, 15).astype(float)):
        model = KernelRidgeCV(Gaussian(1.0), alphas=alphas, length_scales=scales, fit_intercept=True)
        errors = []
        for i in range(15):
            keep = np.arange(15) != i
            own = None if weights is None else weights[keep]
            rest = clone(model).fit(A[keep], b[keep], sample_weight=own)
            errors.append(b[i] - rest.predict(A[i : i + 1])[0])
        model.fit(A, b, sample_weight=weights)
        low, high = model.predict_interval(NEW, coverage=0.9).T
        np.testing.assert_allclose((high - low) / 2, np.sort(np.abs(errors))[-1], rtol=1e-7)
