"""Newton's mode against a generic optimizer, Laplace's evidence against dense formulas, gradients against differences."""

import numpy as np
import pytest
from scipy.optimize import minimize, root
from tests.linalg.test_likelihoods import CASES, N

from mercer.linalg.lbfgs import ascend_preconditioned
from mercer.linalg.likelihoods import Likelihood, Logit, Poisson, StudentT, log_softmax
from mercer.linalg.newton import MANY_ROWS, find_mode, held_out_latent, laplace_evidence
from mercer.linalg.softmax import find_softmax_mode, held_out_softmax, softmax_evidence

AT = np.array([0.3, 0.1])


def _distances(rng: np.random.Generator) -> np.ndarray:
    X = rng.normal(size=(N, 2))
    return ((X[:, None] - X[None]) ** 2).sum(-1)


def _gram(theta: np.ndarray, d2: np.ndarray) -> np.ndarray:
    return np.exp(theta[0]) * np.exp(-0.5 * d2 / np.exp(2 * theta[1]))


def _pullback(K: np.ndarray, d2: np.ndarray):
    def pullback(tile, values):
        W = np.zeros((N, N))  # from tiles on and above the diagonal only
        for rows, cols in ((slice(0, 20), slice(0, 20)), (slice(0, 20), slice(20, N)), (slice(20, N), slice(20, N))):
            W[rows, cols] = tile(rows, cols)
            W[cols, rows] = tile(rows, cols).T
            np.testing.assert_array_equal(values(rows, cols), K[rows, cols])
        return np.array([np.sum(W * K), np.sum(W * K * d2 / np.exp(2 * AT[1]))])

    return pullback


def _generic(K: np.ndarray, likelihood: Likelihood, y: np.ndarray, intercept: bool) -> np.ndarray:
    L = np.linalg.cholesky(K + 1e-13 * np.eye(N))

    def objective(v: np.ndarray) -> tuple[float, np.ndarray]:
        f = L @ v[:-1] + v[-1] * intercept
        g = likelihood.derivatives(y, f)[0]
        value = likelihood.log_density(y, f).sum() - 0.5 * v[:-1] @ v[:-1]
        return -value, -np.append(L.T @ g - v[:-1], g.sum() * intercept)

    def equations(v: np.ndarray) -> np.ndarray:
        slope = -objective(v)[1]
        slope[-1] += 0.0 if intercept else v[-1]
        return slope

    near = minimize(objective, np.zeros(N + 1), jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000}).x
    found = root(equations, near, method="hybr", tol=1e-14).x  # the optimizer alone stops at differences of 1e-8
    return np.asarray(L @ found[:-1] + found[-1] * intercept)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_the_mode_is_that_of_a_generic_optimizer(name: str, intercept: bool, rng: np.random.Generator) -> None:
    likelihood, make = CASES[name]
    y, K = make(rng), _gram(AT, _distances(rng))
    mode = find_mode(K, likelihood, y, intercept=intercept, tol=1e-18, max_iter=400)
    assert mode.converged
    np.testing.assert_allclose(mode.f, _generic(K, likelihood, y, intercept), atol=1e-8)
    gradient = likelihood.derivatives(y, mode.f)[0]
    np.testing.assert_allclose(mode.dual, gradient, atol=1e-6)  # the exact condition of a maximum
    assert abs(mode.dual.sum()) < 1e-8 or not intercept


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_the_evidence_is_the_dense_one_and_so_is_its_gradient(name: str, intercept: bool, rng: np.random.Generator) -> None:
    likelihood, make = CASES[name]
    y, d2 = make(rng), _distances(rng)

    def evidence(theta: np.ndarray) -> float:
        return find_mode(_gram(theta, d2), likelihood, y, intercept=intercept, tol=1e-15, max_iter=400).evidence

    K = _gram(AT, d2)
    mode = find_mode(K, likelihood, y, intercept=intercept, tol=1e-15, max_iter=400)
    W = likelihood.curvature(y, mode.f)[0]
    inner = mode.f - mode.intercept
    value = likelihood.log_density(y, mode.f).sum() - 0.5 * inner @ np.linalg.solve(K + 1e-12 * np.eye(N), inner)
    dense = value - 0.5 * np.linalg.slogdet(np.eye(N) + K * W)[1]
    assert mode.evidence == pytest.approx(dense, abs=1e-6)
    found = laplace_evidence(mode, K, _pullback(K, d2))
    steps = [(evidence(AT + 1e-5 * e) - evidence(AT - 1e-5 * e)) / 2e-5 for e in np.eye(2)]
    np.testing.assert_allclose(found.kernel_gradient, steps, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("intercept", [False, True])
def test_parameters_of_the_likelihood_have_a_gradient(rng: np.random.Generator, intercept: bool) -> None:
    from mercer.linalg.likelihoods import NegativeBinomial

    y, K = rng.poisson(3.0, N).astype(float), _gram(AT, _distances(rng))

    def at(log_shape: float):
        return find_mode(K, NegativeBinomial(float(np.exp(log_shape))), y, tol=1e-15, intercept=intercept)

    mode, h = at(0.4), 1e-5

    def extra():
        up, down = (NegativeBinomial(float(np.exp(0.4 + step))) for step in (h, -h))
        parts = [
            (one.log_density(y, mode.f), one.derivatives(y, mode.f)[0], one.curvature(y, mode.f)[0]) for one in (up, down)
        ]
        return [tuple((a - b) / (2 * h) for a, b in zip(*parts, strict=True))]

    further = np.atleast_1d(laplace_evidence(mode, K, lambda tile, values: np.zeros(0), extra).noise_gradient)
    assert further[0] == pytest.approx((at(0.4 + 1e-4).evidence - at(0.4 - 1e-4).evidence) / 2e-4, rel=1e-5)


def test_a_weight_of_two_is_two_copies(rng: np.random.Generator) -> None:
    K, y = _gram(AT, _distances(rng)), rng.integers(0, 2, N).astype(float)
    twice = np.concatenate([np.arange(N), np.arange(10)])
    weights = np.where(np.arange(N) < 10, 2.0, 1.0)
    one = find_mode(K, Logit(), y, weights=weights, intercept=True)
    other = find_mode(K[np.ix_(twice, twice)], Logit(), y[twice], intercept=True)
    np.testing.assert_allclose(one.f, other.f[:N], atol=1e-8)
    Y = np.eye(3)[rng.integers(0, 3, N)]
    one, other = (
        find_softmax_mode(K, Y, weights=weights, intercept=True),  # type: ignore[assignment]
        find_softmax_mode(  # type: ignore[assignment]
            K[np.ix_(twice, twice)], Y[twice], intercept=True
        ),
    )
    np.testing.assert_allclose(one.F, other.F[:N], atol=1e-7)  # type: ignore[attr-defined]


def test_a_start_from_elsewhere_ends_at_the_same_mode(rng: np.random.Generator) -> None:
    K, y = _gram(AT, _distances(rng)), rng.poisson(3.0, N).astype(float)
    plain = find_mode(K, Poisson(), y, intercept=True)
    again = find_mode(K, Poisson(), y, intercept=True, start=plain.f)
    far = find_mode(K, Poisson(), y, intercept=True, start=50.0 * rng.normal(size=N))
    assert again.n_iter <= 2
    np.testing.assert_allclose(far.f, plain.f, atol=1e-6)


def test_too_few_steps_are_reported(rng: np.random.Generator) -> None:
    K = _gram(AT, _distances(rng))
    y = rng.normal(size=N)
    y[3] = 100.0
    mode = find_mode(K, StudentT(4.0, 0.1), y, max_iter=2)
    assert not mode.converged
    assert "2 steps" in mode.message


def _dense_softmax(K: np.ndarray, P: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """W and block-diagonal K as (C n, C n) matrices."""
    C = P.shape[1]
    W = np.zeros((N * C, N * C))
    for i in range(N):
        places = np.arange(C) * N + i
        W[np.ix_(places, places)] = w[i] * (np.diag(P[i]) - np.outer(P[i], P[i]))
    return W, np.kron(np.eye(C), K)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("C", [2, 4])
def test_softmax_is_the_dense_twin(C: int, intercept: bool, rng: np.random.Generator) -> None:
    K, w = _gram(AT, _distances(rng)), rng.uniform(0.5, 2.0, N)
    Y = np.eye(C)[rng.integers(0, C, N)]
    mode = find_softmax_mode(K, Y, weights=w, intercept=intercept, tol=1e-15)
    P = np.exp(log_softmax(mode.F))
    assert mode.converged
    np.testing.assert_allclose(mode.dual, w[:, None] * (Y - P), atol=1e-10)
    np.testing.assert_allclose(mode.F, K @ mode.dual + mode.intercept, atol=1e-10)
    if intercept:
        np.testing.assert_allclose(mode.dual.sum(axis=0), 0.0, atol=1e-9)
    W, Kd = _dense_softmax(K, P, w)
    dense = mode.value - 0.5 * np.linalg.slogdet(np.eye(N * C) + Kd @ W)[1]
    assert mode.evidence == pytest.approx(dense, abs=1e-9)
    X = rng.normal(size=(N, C))
    wanted = np.linalg.solve(np.eye(N * C) + W @ Kd, W @ X.T.ravel()).reshape(C, N).T
    np.testing.assert_allclose(mode.M(X), wanted, atol=1e-9)


def test_two_softmax_functions_are_one_logistic_function_of_twice_the_kernel(rng: np.random.Generator) -> None:
    K, y = _gram(AT, _distances(rng)), rng.integers(0, 2, N)
    both = find_softmax_mode(K, np.eye(2)[y], tol=1e-15)
    one = find_mode(2.0 * K, Logit(), y.astype(float), tol=1e-15)
    np.testing.assert_allclose(both.F[:, 1] - both.F[:, 0], one.f, atol=1e-8)
    assert both.evidence == pytest.approx(one.evidence, abs=1e-8)


def test_the_gradient_of_softmax_is_that_of_finite_differences(rng: np.random.Generator) -> None:
    d2, w = _distances(rng), rng.uniform(0.5, 2.0, N)
    Y = np.eye(3)[rng.integers(0, 3, N)]
    K = _gram(AT, d2)
    found = softmax_evidence(find_softmax_mode(K, Y, weights=w, tol=1e-15), K, _pullback(K, d2))

    def evidence(theta: np.ndarray) -> float:
        return find_softmax_mode(_gram(theta, d2), Y, weights=w, tol=1e-15).evidence

    steps = [(evidence(AT + 1e-5 * e) - evidence(AT - 1e-5 * e)) / 2e-5 for e in np.eye(2)]
    np.testing.assert_allclose(found.kernel_gradient, steps, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("amplitude", [1.0, 1e5])
def test_many_rows_end_where_exact_steps_end(
    intercept: bool, amplitude: float, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps in single precision, on half of the rows and with old factors lead to the same mode and evidence."""
    n = MANY_ROWS + 20
    X = rng.normal(size=(n, 2))
    K = amplitude * np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(-1))
    y = (X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(float)
    w = rng.uniform(0.5, 2.0, n)
    many = find_mode(K, Logit(), y, weights=w, intercept=intercept, tol=1e-15)
    monkeypatch.setattr("mercer.linalg.newton.MANY_ROWS", n + 1)
    plain = find_mode(K, Logit(), y, weights=w, intercept=intercept, tol=1e-15)
    assert many.converged
    assert plain.converged
    # psi is stationary and flat in some directions: values of f far from 0 are less certain than psi
    np.testing.assert_allclose(many.f, plain.f, rtol=1e-5, atol=1e-5)
    assert many.value == pytest.approx(plain.value, abs=1e-9 * n)
    assert many.evidence == pytest.approx(plain.evidence, abs=1e-5)


@pytest.mark.parametrize("intercept", [False, True])
def test_held_out_values_are_those_of_refits(intercept: bool, rng: np.random.Generator) -> None:
    """Corrections matter for a flexible function: the quadratic model alone is off by several percent."""
    X = rng.normal(size=(50, 2))
    K = 10.0 * np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(-1) / 0.25)
    y = (X[:, 0] + 0.5 * rng.normal(size=50) > 0).astype(float)
    w = rng.uniform(0.5, 2.0, 50)
    mode = find_mode(K, Logit(), y, weights=w, intercept=intercept)
    found = held_out_latent(mode, lambda F: w[:, None] * (y[:, None] - 1.0 / (1.0 + np.exp(-F))))
    true = np.empty(50)
    for i in range(50):
        k = np.delete(np.arange(50), i)
        rest = find_mode(K[np.ix_(k, k)], Logit(), y[k], weights=w[k], intercept=intercept)
        true[i] = K[i, k] @ rest.dual + rest.intercept
    losses = [np.average(np.logaddexp(0.0, np.where(y > 0, -f, f)), weights=w) for f in (found, true)]
    assert losses[0] == pytest.approx(losses[1], rel=0.005)
    assert np.abs(found - true).max() < 0.15


@pytest.mark.parametrize("intercept", [False, True])
def test_held_out_values_of_softmax_are_those_of_refits(intercept: bool, rng: np.random.Generator) -> None:
    X = rng.normal(size=(50, 2))
    K = 10.0 * np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(-1) / 0.25)
    K = K - K.mean(axis=0) - K.mean(axis=1, keepdims=True) + K.mean() if intercept else K
    codes = np.digitize(X[:, 0] + 0.5 * rng.normal(size=50), [-0.5, 0.5])
    Y, w = np.eye(3)[codes], rng.uniform(0.5, 2.0, 50)
    found = held_out_softmax(find_softmax_mode(K, Y, weights=w, intercept=intercept), K, intercept)
    true = np.empty((50, 3))
    for i in range(50):
        k = np.delete(np.arange(50), i)
        rest = find_softmax_mode(K[np.ix_(k, k)], Y[k], weights=w[k], intercept=intercept)
        true[i] = K[i, k] @ rest.dual + rest.intercept
    losses = [-np.average(log_softmax(F)[np.arange(50), codes], weights=w) for F in (found, true)]
    assert losses[0] == pytest.approx(losses[1], rel=0.01)
    assert np.abs(log_softmax(found) - log_softmax(true)).max() < 0.15


def test_preconditioned_ascent_in_a_space_of_functions(rng: np.random.Generator) -> None:
    K = _gram(AT, _distances(rng))
    y = rng.normal(size=N)

    def evaluate(a: np.ndarray, f: np.ndarray) -> tuple[float, np.ndarray]:
        return -0.5 * float((y - f) @ (y - f) + a @ f), y - f - a

    rough = np.linalg.inv(np.eye(N) + 3.0 * K)  # of curvature three times too large
    zero = np.zeros(N)
    top = ascend_preconditioned(evaluate, lambda q: (rough @ q, K @ (rough @ q)), zero, zero, tol=1e-15, max_iter=200)
    assert top.converged
    np.testing.assert_allclose(top.x, np.linalg.solve(K + np.eye(N), y), atol=1e-6)
    early = ascend_preconditioned(evaluate, lambda q: (rough @ q, K @ (rough @ q)), zero, zero, tol=1e-15, max_iter=2)
    assert not early.converged
    assert "2 steps" in early.message
