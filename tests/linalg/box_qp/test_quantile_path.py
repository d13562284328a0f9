"""The path of a quantile regression against a solver that knows nothing of it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mercer
from mercer.estimators.intervals import conformal_radius
from mercer.linalg.box_qp.quantile_path import QuantilePath


def problem(n, seed, length=1.0):
    rng = np.random.default_rng(seed)
    X, new = rng.normal(size=(n, 2)), rng.normal(size=(4, 2))
    kernel = mercer.Gaussian(length)
    scores = np.abs(rng.normal(size=n) * (0.3 + X[:, 0] ** 2))
    return X, new, kernel, scores


def largest_score(X, x, kernel, scores, tau, C):
    """The largest s with s <= g_s(x), by bisection over fits on all rows and (x, s): the definition."""
    low, high = -50.0, 50.0
    for _ in range(60):
        s = 0.5 * (low + high)
        model = mercer.KernelQuantileRegressor(kernel, quantile=tau, C=C, tol=1e-10)
        g = model.fit(np.vstack([X, x]), np.append(scores, s)).predict(x[None])[0]
        low, high = (s, high) if s <= g + 1e-8 else (low, s)
    return low


@pytest.mark.parametrize("tau", [0.5, 0.8, 0.9])
@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
def test_the_cutoff_is_the_largest_score_that_the_fit_with_it_does_not_exceed(tau, C):
    X, new, kernel, scores = problem(25, 3)
    path = QuantilePath.fit(C * kernel(X), scores, tau)
    for x in new[:2]:
        found = path.cutoff(C * kernel(X, x[None])[:, 0], C, tau)
        np.testing.assert_allclose(found, largest_score(X, x, kernel, scores, tau, C), atol=1e-6)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(2, 60), st.integers(0, 10**6), st.sampled_from([0.1, 0.5, 0.75, 0.9]), st.sampled_from([0.01, 1.0, 100.0])
)
def test_the_fit_satisfies_the_optimality_conditions(n, seed, tau, C):
    X, _, kernel, scores = problem(n, seed)
    path = QuantilePath.fit(C * kernel(X), scores, tau)
    rest = scores - (C * kernel(X) @ path.eta + path.offset)
    slack = 1e-7 * max(1.0, np.abs(scores).max()) * max(1.0, C)
    assert abs(path.eta.sum()) < 1e-9
    assert path.eta.min() >= tau - 1 - 1e-8 and path.eta.max() <= tau + 1e-8
    assert (rest[path.eta > tau - 1 + 1e-6] >= -slack).all()  # above the lower bound: not below g
    assert (rest[path.eta < tau - 1e-6] <= slack).all()


@pytest.mark.parametrize("ties", [False, True])
def test_without_a_kernel_it_is_the_conformal_quantile(ties):
    rng = np.random.default_rng(0)
    for n in (9, 10, 19, 50):
        scores = np.round(np.abs(rng.normal(size=n)), 0 if ties else 8)
        for coverage in (0.5, 0.8, 0.9):
            path = QuantilePath.fit(np.zeros((n, n)), scores, coverage)
            np.testing.assert_allclose(
                path.cutoff(np.zeros(n), 0.0, coverage), conformal_radius(scores, coverage), atol=1e-8
            )


def test_too_few_rows_have_no_bound():
    path = QuantilePath.fit(np.zeros((8, 8)), np.arange(8.0), 0.9)
    assert path.cutoff(np.zeros(8), 0.0, 0.9) == np.inf
    assert path.cutoff(np.zeros(8), 0.0, 0.75) == 7.0


def test_the_value_rises_with_the_multiplier():
    X, new, kernel, scores = problem(60, 1)
    path = QuantilePath.fit(kernel(X), scores, 0.9)
    column = kernel(X, new[:1])[:, 0]
    values = [path.cutoff(column, 1.0, t) for t in np.linspace(-0.1, 0.9, 21)]
    assert (np.diff(values) >= -1e-9).all()


def test_equal_rows_and_kernels_of_finite_rank():
    groups = np.repeat([0.0, 1.0], 30)[:, None]
    scores = np.concatenate([np.arange(30.0), 10 * np.arange(30.0)])
    K = 1e6 * (groups == groups.T)  # hardly any penalty: quantiles of the two groups
    path = QuantilePath.fit(K, scores, 0.9)
    for group in (0.0, 1.0):
        found = path.cutoff(1e6 * (groups[:, 0] == group).astype(float), 1e6, 0.9)
        np.testing.assert_allclose(found, conformal_radius(scores[groups[:, 0] == group], 0.9), rtol=1e-3)


def test_the_finite_sample_identity_of_the_dual():
    """Every row in turn is the new one: it is covered with probability tau - eta_i over random cuts, and under weights
    k(x, .) the coverage differs from tau by the penalty's share, -sum_i eta_i k(x, x_i), with eta of one fit on all rows."""
    X, new, kernel, scores = problem(30, 5)
    tau, C = 0.8, 3.0
    whole = mercer.KernelQuantileRegressor(kernel, quantile=tau, C=C, tol=1e-12).fit(X, scores)  # a solver without a path
    eta = np.zeros(30)
    eta[whole.support_] = whole.dual_coef_.ravel() / C
    cuts = np.linspace(tau - 1, tau, 2001)[:-1] + 0.5 / 2000
    covered = np.empty(30)
    for i in range(30):
        rest = np.delete(np.arange(30), i)
        path = QuantilePath.fit(C * kernel(X[rest]), scores[rest], tau)
        column = C * kernel(X[rest], X[[i]])[:, 0]
        low, high = 0, len(cuts)  # the cutoff rises with the cut: count the cuts that cover
        while low < high:
            middle = (low + high) // 2
            below = scores[i] > path.cutoff(column, C, cuts[middle]) + 1e-9
            low, high = (middle + 1, high) if below else (low, middle)
        covered[i] = 1.0 - low / len(cuts)
    np.testing.assert_allclose(covered, tau - eta, atol=1e-3)
    weights = kernel(new, X)
    np.testing.assert_allclose(weights @ (covered - tau), -weights @ eta, atol=1e-3 * weights.sum(axis=1).max())
