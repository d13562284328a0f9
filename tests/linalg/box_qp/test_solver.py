"""The box solver against slow twins, a general QP solver, scikit-learn, and its own optimality conditions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.linalg.box_qp import naive

import mercer.linalg.box_qp.solver as solver
import mercer.linalg.box_qp.steps as steps
from mercer import Gaussian, Linear, Tanh
from mercer.errors import InputError, NumericalError
from mercer.grams.row_cache import KernelRows
from mercer.linalg.box_qp.problems import BoxProblem
from mercer.linalg.box_qp.solver import solve_box


def gaussian(X, length_scale=1.0):
    return np.exp(-((X[:, None] - X[None]) ** 2).sum(-1) / (2 * length_scale**2))


def classification(rng, n=40, d=3, C=1.0, noise=0.5):
    X = rng.normal(size=(n, d))
    s = np.where(X[:, 0] * X[:, 1] + noise * rng.normal(size=n) > 0, 1.0, -1.0)
    s[:2] = 1.0, -1.0
    return X, BoxProblem(s, -np.ones(n), np.full(n, C), np.zeros(n))


def regression(rng, n=30, C=1.0, epsilon=0.1):
    X = rng.normal(size=(n, 2))
    y = np.sin(X[:, 0]) + 0.2 * rng.normal(size=n)
    s = np.repeat([1.0, -1.0], n)
    linear = np.concatenate([epsilon - y, epsilon + y])
    return X, y, BoxProblem(s, linear, np.full(2 * n, C), np.zeros(2 * n), np.tile(np.arange(n), 2))


def one_class(rng, n=40, nu=0.3):
    X = rng.normal(size=(n, 2))
    start = np.zeros(n)
    whole = int(nu * n)
    start[:whole], start[whole] = 1.0, nu * n - whole
    return X, BoxProblem(np.ones(n), np.zeros(n), np.ones(n), start)


def nu_classification(rng, n=40, nu=0.4):
    X, base = classification(rng, n)
    s = base.signs
    start, budget = np.zeros(n), {1.0: nu * n / 2, -1.0: nu * n / 2}
    for i in range(n):
        start[i] = min(1.0, budget[s[i]])
        budget[s[i]] -= start[i]
    return X, BoxProblem(s, np.zeros(n), np.ones(n), start, split=True)


def problems(rng, n):
    yield classification(rng, n)
    yield classification(rng, n, C=100.0)
    X, _, problem = regression(rng, n)
    yield X, problem
    yield one_class(rng, n)
    yield nu_classification(rng, n, nu=0.3)


def feasible(problem, a):
    s = problem.signs
    assert a.min() >= 0 and (a <= problem.upper).all()
    total = np.abs(problem.start).sum() + np.abs(a).sum() + 1
    assert s @ a == pytest.approx(s @ problem.start, abs=1e-10 * total)
    if problem.split:
        assert a[s > 0].sum() == pytest.approx(problem.start[s > 0].sum(), abs=1e-10 * total)


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), n=st.integers(4, 24))
def test_a_general_solver_finds_the_same_objective(seed, n):
    for X, problem in problems(np.random.default_rng(seed), n):
        if problem.split and min((problem.signs > 0).sum(), (problem.signs < 0).sum()) < 0.3 * n / 2:
            continue  # no feasible start at this nu
        K = gaussian(X)
        found = solve_box(problem, KernelRows.of(K), tol=1e-8)
        assert found.converged, found.message
        feasible(problem, found.value)
        expected = naive.general_qp(problem, K)
        assert found.objective == pytest.approx(expected, rel=1e-6, abs=1e-7)
        assert naive.conditions(problem, K, found) == pytest.approx(found.gap, abs=1e-9)
        assert found.gap < 1e-8


@pytest.mark.parametrize("seed", range(4))
def test_the_naive_twin_takes_the_same_way(seed):
    for X, problem in problems(np.random.default_rng(seed), 30):
        K = gaussian(X)
        found = solve_box(problem, KernelRows.of(K), tol=1e-6)
        twin = naive.naive_smo(problem, K, tol=1e-6)
        Q = naive.matrix(problem, K)
        assert found.objective == pytest.approx(0.5 * twin @ Q @ twin + problem.linear @ twin, rel=1e-6, abs=1e-8)
        np.testing.assert_allclose(found.value, twin, atol=1e-3 * problem.upper.max())
        np.testing.assert_allclose(found.gradient, Q @ found.value + problem.linear, atol=1e-9)


@pytest.mark.parametrize("size", [4, 32, 100])
def test_working_sets_of_every_size_agree_with_the_whole(monkeypatch, rng, size):
    for X, problem in problems(rng, 120):
        K = gaussian(X)
        whole = solve_box(problem, KernelRows.of(K), tol=1e-5)
        with monkeypatch.context() as patch:
            patch.setattr(steps, "DIRECT", 1)
            patch.setattr(steps, "SIZE", size)
            parts = solve_box(problem, KernelRows.of(K), tol=1e-5)
        assert parts.converged, parts.message
        feasible(problem, parts.value)
        assert parts.objective == pytest.approx(whole.objective, rel=1e-6)
        assert naive.conditions(problem, K, parts) < 1.01e-5
        assert parts.offset == pytest.approx(whole.offset, abs=2e-4)
        np.testing.assert_allclose(parts.gradient, naive.matrix(problem, K) @ parts.value + problem.linear, atol=1e-10)


@pytest.mark.parametrize("size", [64, 2048])
def test_a_small_cache_gives_the_same_answer(monkeypatch, rng, size):
    X, problem = classification(rng, 700, C=10.0)
    kernel = Gaussian(length_scale=1.0)
    whole = solve_box(problem, KernelRows.held(kernel, X), tol=1e-3)
    monkeypatch.setattr(steps, "DIRECT", 1)
    monkeypatch.setattr(steps, "SIZE", size)
    few = solve_box(problem, KernelRows.cached(kernel, X, bytes=4 * 700 * 200), tol=1e-3)
    assert few.converged
    assert few.objective == pytest.approx(whole.objective, rel=1e-5)


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_svc_of_scikit_learn(rng, C):
    svm = pytest.importorskip("sklearn.svm")
    X, problem = classification(rng, 300, C=C)
    K = gaussian(X)
    peer = svm.SVC(C=C, kernel="precomputed", tol=1e-6).fit(K, problem.signs)
    found = solve_box(problem, KernelRows.of(K), tol=1e-6)
    b = np.zeros(300)
    b[peer.support_] = peer.dual_coef_[0]
    np.testing.assert_allclose(problem.signs * found.value, b, atol=2e-4 * C)
    assert -found.offset == pytest.approx(peer.intercept_[0], abs=1e-4)


def test_svr_of_scikit_learn(rng):
    svm = pytest.importorskip("sklearn.svm")
    X, y, problem = regression(rng, 200, C=3.0)
    K = gaussian(X)
    peer = svm.SVR(C=3.0, epsilon=0.1, kernel="precomputed", tol=1e-6).fit(K, y)
    found = solve_box(problem, KernelRows.of(K), tol=1e-6)
    b = found.value[:200] - found.value[200:]
    np.testing.assert_allclose(K @ b - found.offset, peer.predict(K), atol=1e-4)


def test_one_class_of_scikit_learn(rng):
    svm = pytest.importorskip("sklearn.svm")
    X, problem = one_class(rng, 200)
    K = gaussian(X)
    peer = svm.OneClassSVM(nu=0.3, kernel="precomputed", tol=1e-7).fit(K)
    found = solve_box(problem, KernelRows.of(K), tol=1e-7)
    np.testing.assert_allclose(K @ found.value - found.offset, peer.decision_function(K), atol=1e-4)


def test_nu_svc_of_scikit_learn(rng):
    svm = pytest.importorskip("sklearn.svm")
    X, problem = nu_classification(rng, 200)
    K = gaussian(X)
    peer = svm.NuSVC(nu=0.4, kernel="precomputed", tol=1e-7).fit(K, problem.signs)
    found = solve_box(problem, KernelRows.of(K), tol=1e-7)
    decision = (K @ (problem.signs * found.value) - found.offset) / found.scale
    np.testing.assert_allclose(decision, peer.decision_function(K), atol=1e-3)


def test_a_variable_with_upper_zero_stays_out_and_gets_its_decision(rng):
    X, problem = classification(rng, 120, C=5.0)
    K = gaussian(X)
    out = np.arange(0, 120, 5)
    kept = np.setdiff1d(np.arange(120), out)
    upper = problem.upper.copy()
    upper[out] = 0.0
    held = solve_box(BoxProblem(problem.signs, problem.linear, upper, problem.start), KernelRows.of(K), tol=1e-7)
    part = BoxProblem(problem.signs[kept], problem.linear[kept], problem.upper[kept], problem.start[kept], kept)
    alone = solve_box(part, KernelRows.of(K), tol=1e-7)
    assert (held.value[out] == 0).all()
    assert held.objective == pytest.approx(alone.objective, rel=1e-7)
    decision = problem.signs * (held.gradient - problem.linear) - held.offset
    expected = K[np.ix_(out, kept)] @ (problem.signs[kept] * alone.value) - alone.offset
    np.testing.assert_allclose(decision[out], expected, atol=1e-5)


def test_warm_starts_end_at_the_same_place_in_fewer_steps(rng):
    X, problem = classification(rng, 400, C=1.0)
    rows = KernelRows.of(gaussian(X))
    first = solve_box(problem, rows, tol=1e-4)
    wider = np.full(400, 1.3)
    warm = solve_box(BoxProblem(problem.signs, problem.linear, wider, 1.3 * first.value), rows, tol=1e-4)
    cold = solve_box(BoxProblem(problem.signs, problem.linear, wider, problem.start), rows, tol=1e-4)
    assert warm.objective == pytest.approx(cold.objective, rel=1e-6)
    assert warm.n_iter < cold.n_iter


def test_the_hard_margin(rng):
    X = rng.normal(size=(60, 2))
    s = np.where(X @ [1.0, 0.5] > 0, 1.0, -1.0)
    X += 0.2 * s[:, None] * [1.0, 0.5]
    K = X @ X.T
    problem = BoxProblem(s, -np.ones(60), np.full(60, np.inf), np.zeros(60))
    found = solve_box(problem, KernelRows.of(K), tol=1e-8)
    assert found.converged
    w = X.T @ (s * found.value)
    margins = s * (X @ w - found.offset)
    assert margins.min() == pytest.approx(1.0, abs=1e-6)
    # the primal problem by a general solver: least ||w|| with s (Xw - b) >= 1
    from scipy.optimize import minimize

    primal = minimize(
        lambda v: 0.5 * v[:2] @ v[:2],
        np.array([1.0, 1.0, 0.0]),
        constraints={"type": "ineq", "fun": lambda v: s * (X @ v[:2] - v[2]) - 1},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert -found.objective == pytest.approx(primal.fun, rel=1e-6)


def test_a_hard_margin_that_does_not_exist_is_refused(rng):
    X = rng.normal(size=(80, 2))
    s = np.where(rng.random(80) < 0.5, 1.0, -1.0)
    problem = BoxProblem(s, -np.ones(80), np.full(80, np.inf), np.zeros(80))
    with pytest.raises(InputError, match="finite C"):
        solve_box(problem, KernelRows.of(X @ X.T), tol=1e-3)
    twins = np.repeat(X[:5], 2, axis=0)
    t = np.tile([1.0, -1.0], 5)
    with pytest.raises(InputError, match="finite C"):
        solve_box(BoxProblem(t, -np.ones(10), np.full(10, np.inf), np.zeros(10)), KernelRows.of(gaussian(twins)), tol=1e-3)


def test_identical_points_with_different_labels(rng):
    X = np.repeat(rng.normal(size=(30, 2)), 2, axis=0)
    s = np.tile([1.0, -1.0], 30)
    for dtype in (np.float32, np.float64):
        found = solve_box(
            BoxProblem(s, -np.ones(60), np.full(60, 2.0), np.zeros(60)),
            KernelRows.of(gaussian(X).astype(dtype)),
        )
        assert found.converged and found.objective == pytest.approx(-120.0)  # every weight at C, w = 0


@pytest.mark.parametrize("size", [16, 2048])
def test_an_indefinite_kernel_ends(monkeypatch, rng, size):
    X, problem = classification(rng, 200, C=10.0)
    K = Tanh(scale=2.0, offset=-1.0)(X)
    assert np.linalg.eigvalsh(K).min() < -0.1
    monkeypatch.setattr(steps, "DIRECT", 1)
    monkeypatch.setattr(steps, "SIZE", size)
    found = solve_box(problem, KernelRows.of(K), max_iter=200_000)
    feasible(problem, found.value)
    assert np.isfinite(found.objective) and found.message


def test_max_iter_and_time_limit_end_with_a_usable_answer(rng):
    X, problem = classification(rng, 300, C=100.0)
    rows = KernelRows.of(gaussian(X))
    short = solve_box(problem, rows, max_iter=20)
    assert not short.converged and short.n_iter == 20 and "max_iter=20" in short.message
    feasible(problem, short.value)
    assert short.objective < 0 and short.gap > 1e-3
    late = solve_box(problem, rows, time_limit=1e-9)
    assert not late.converged and "time_limit" in late.message
    feasible(problem, late.value)
    assert solve_box(problem, rows, max_iter=0).n_iter == 0


def test_ctrl_c_gets_through(rng):
    X, problem = classification(rng, 300)

    def tick(done, total):
        assert 0 <= done <= total
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve_box(problem, KernelRows.of(gaussian(X)), tick=tick)


def test_float32_values_change_nothing_that_counts(rng):
    X, problem = classification(rng, 600, C=10.0)
    kernel = Gaussian(length_scale=1.0)
    fine = solve_box(problem, KernelRows.held(kernel, X, dtype=np.float64))
    coarse = solve_box(problem, KernelRows.held(kernel, X))
    assert coarse.objective == pytest.approx(fine.objective, rel=1e-5)
    assert coarse.offset == pytest.approx(fine.offset, abs=2e-3)


def test_nothing_to_do(rng):
    X, problem = classification(rng, 20)
    one_sign = BoxProblem(np.ones(20), -np.ones(20), np.ones(20), np.zeros(20))
    found = solve_box(one_sign, KernelRows.of(gaussian(X)))  # nobody may fall: the start is the answer
    assert found.converged and (found.value == 0).all() and np.isfinite(found.offset)
    frozen = solve_box(BoxProblem(problem.signs, problem.linear, np.zeros(20), np.zeros(20)), KernelRows.of(gaussian(X)))
    assert frozen.converged and frozen.objective == 0.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"signs": np.zeros(20)}, "signs must be"),
        ({"upper": np.full(20, -1.0)}, "upper must be"),
        ({"upper": np.full(20, np.nan)}, "upper must be"),
        ({"linear": np.full(20, np.nan)}, "finite"),
        ({"start": np.full(20, 2.0)}, "start must lie"),
        ({"linear": np.ones(3)}, "linear must be a vector"),
        ({"rows": np.full(20, 99)}, "rows must hold"),
    ],
)
def test_what_is_refused(rng, change, message):
    X, problem = classification(rng, 20)
    fields = {name: getattr(problem, name) for name in ("signs", "linear", "upper", "start", "rows", "split")}
    with pytest.raises(InputError, match=message):
        solve_box(BoxProblem(**(fields | change)), KernelRows.of(gaussian(X)))


def test_refused_limits(rng):
    X, problem = classification(rng, 20)
    rows = KernelRows.of(gaussian(X))
    with pytest.raises(InputError, match="tol must be"):
        solve_box(problem, rows, tol=0.0)
    with pytest.raises(InputError, match="time_limit"):
        solve_box(problem, rows, time_limit=-1.0)
    with pytest.raises(InputError, match="need `rows`"):
        solve_box(BoxProblem(np.ones(5), np.ones(5), np.ones(5), np.zeros(5)), rows)


def test_a_linear_kernel_of_unscaled_columns_ends(rng):
    X = rng.normal(size=(150, 3)) * [1.0, 1e3, 1e-3] + [1e4, 0.0, 0.0]
    s = np.where(rng.random(150) < 0.5, 1.0, -1.0)
    found = solve_box(
        BoxProblem(s, -np.ones(150), np.ones(150), np.zeros(150)), KernelRows.choose(Linear(), X), max_iter=300_000
    )
    assert found.message and np.isfinite(found.objective)


def test_kernel_values_that_are_not_finite_are_refused(rng):
    X, problem = classification(rng, 30)
    for bad in (np.nan, np.inf):
        K = gaussian(X)
        K[3, 7] = K[7, 3] = bad
        with pytest.raises(NumericalError, match="finite"):
            solve_box(problem, KernelRows.of(K))


def test_a_sample_gives_the_start_of_a_large_problem(monkeypatch, rng):
    X, problem = classification(rng, 900, C=5.0)
    kernel = Gaussian(length_scale=1.0)
    y = np.sin(X[:, 0])
    s = np.repeat([1.0, -1.0], 900)
    wide = BoxProblem(s, np.concatenate([0.1 - y, 0.1 + y]), np.ones(1800), np.zeros(1800), np.tile(np.arange(900), 2))
    monkeypatch.setattr(steps, "DIRECT", 1)
    monkeypatch.setattr(steps, "SIZE", 64)
    for each in (problem, wide):
        plain = solve_box(each, KernelRows.cached(kernel, X))
        with monkeypatch.context() as patch:
            patch.setattr(solver, "SAMPLED", 100)
            sampled = solve_box(each, KernelRows.cached(kernel, X))
        assert sampled.converged
        feasible(each, sampled.value)
        assert sampled.objective == pytest.approx(plain.objective, rel=1e-5)
