"""Gaussian process classification against scikit-learn, integrals by brute force, calibration, its contract and messages."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from sklearn import datasets
from sklearn.gaussian_process import GaussianProcessClassifier as Peer
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.utils.estimator_checks import check_estimator

import mercer
from mercer import Gaussian, GaussianProcessClassifier
from mercer.errors import InputError
from mercer.estimators.gp.laplace import LaplaceEngine, LatentProblem, expected_sigmoid, expected_softmax

RNG = np.random.default_rng(5)
X = RNG.normal(size=(80, 2))
TWO = (np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * RNG.normal(size=80) > 0).astype(int)
THREE = np.digitize(X[:, 0] + 0.4 * RNG.normal(size=80), [-0.5, 0.5])


def _sets() -> list[tuple[np.ndarray, np.ndarray]]:
    found = [(X, TWO), (X, (X[:, 0] > 0).astype(int)), (X, RNG.integers(0, 2, 80))]
    iris, wine, cancer = datasets.load_iris(), datasets.load_wine(), datasets.load_breast_cancer()
    for data in (iris, wine, cancer):
        Z = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
        rows = np.random.default_rng(0).permutation(len(Z))[:90]
        found.append((Z[rows], (data.target[rows] == 1).astype(int)))
    for noise in (0.05, 0.4):
        found.append(datasets.make_moons(70, noise=noise, random_state=0))
        found.append(datasets.make_circles(70, noise=noise, factor=0.4, random_state=0))
    return found


@pytest.mark.parametrize("number", range(10))
def test_value_and_gradient_are_those_of_scikit_learn(number: int) -> None:
    Z, y = _sets()[number]
    gp = GaussianProcessClassifier(2.5 * Gaussian(1.4), optimizer=None).fit(Z, y)
    peer = Peer(ConstantKernel(2.5) * RBF(1.4), optimizer=None, warm_start=True).fit(Z, y)
    assert gp.log_marginal_likelihood_value_ == pytest.approx(peer.log_marginal_likelihood_value_, abs=1e-6)
    value, gradient = gp.log_marginal_likelihood(gp.theta_ + 0.3, eval_gradient=True)
    for _ in range(2):  # the second call starts at the mode; the first ends with the curvature of one step before it
        other, slopes = peer.log_marginal_likelihood(peer.kernel_.theta + 0.3, eval_gradient=True)
    assert value == pytest.approx(other, abs=1e-6)
    np.testing.assert_allclose(gradient, slopes, rtol=0, atol=1e-6)


@pytest.mark.parametrize("number", range(10))
def test_probabilities_are_nearer_to_the_integral_than_those_of_scikit_learn(number: int) -> None:
    Z, y = _sets()[number]
    gp = GaussianProcessClassifier(9.0 * Gaussian(1.0), optimizer=None).fit(Z, y)
    peer = Peer(ConstantKernel(9.0) * RBF(1.0), optimizer=None).fit(Z, y)
    new = np.random.default_rng(1).normal(scale=2.0, size=(40, Z.shape[1]))
    mean, variance = gp.latent_mean_and_variance(new)
    true = [
        quad(lambda z, m=m, s=s: expit(m + s * z) * np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi), -12, 12, limit=400)[0]
        for m, s in zip(mean, np.sqrt(variance), strict=True)
    ]
    ours, theirs = np.abs(gp.predict_proba(new)[:, 1] - true), np.abs(peer.predict_proba(new)[:, 1] - true)
    assert ours.max() < 1e-8
    assert theirs.mean() > 100.0 * ours.mean()
    assert (ours <= theirs + 1e-12).all()


def test_the_search_reaches_the_likelihood_of_scikit_learn() -> None:
    gp = GaussianProcessClassifier(1.0 * Gaussian(1.0), priors=None).fit(X, TWO)
    peer = Peer(ConstantKernel(1.0) * RBF(1.0)).fit(X, TWO)
    assert gp.log_marginal_likelihood_value_ > peer.log_marginal_likelihood_value_ - 1e-2
    assert gp.diagnosis_.converged
    assert gp.log_marginal_likelihood() == gp.log_marginal_likelihood_value_


def test_the_gradient_of_many_classes_is_that_of_finite_differences() -> None:
    gp = GaussianProcessClassifier(2.0 * Gaussian([1.0, 2.0]), optimizer=None).fit(X, THREE)
    value, gradient = gp.log_marginal_likelihood(gp.theta_ + 0.1, eval_gradient=True)
    steps = [
        (gp.log_marginal_likelihood(gp.theta_ + 0.1 + 1e-5 * e) - gp.log_marginal_likelihood(gp.theta_ + 0.1 - 1e-5 * e))
        / 2e-5
        for e in np.eye(3)
    ]
    np.testing.assert_allclose(gradient, steps, rtol=1e-5, atol=1e-6)
    assert value < 0


def test_latent_moments_are_the_dense_formulas() -> None:
    kernel = 3.0 * Gaussian(1.2)
    gp = GaussianProcessClassifier(kernel, optimizer=None).fit(X, TWO)
    new = RNG.normal(size=(9, 2))
    K, k = kernel(X), kernel(new, X)
    f = K @ gp.dual_coef_
    W = expit(f) * expit(-f)
    mean, variance = gp.latent_mean_and_variance(new)
    np.testing.assert_allclose(mean, k @ (TWO - expit(f)), atol=1e-7)
    np.testing.assert_allclose(variance, 3.0 - np.einsum("ij,ji->i", k, np.linalg.solve(K + np.diag(1 / W), k.T)), atol=1e-8)


def test_softmax_moments_are_the_dense_formulas() -> None:
    kernel = 3.0 * Gaussian(1.2)
    gp = GaussianProcessClassifier(kernel, optimizer=None).fit(X, THREE)
    new = RNG.normal(size=(4, 2))
    K, n = kernel(X), len(X)
    F = K @ gp.dual_coef_
    P = np.exp(F) / np.exp(F).sum(axis=1, keepdims=True)
    W = np.zeros((3 * n, 3 * n))
    for i in range(n):
        places = np.arange(3) * n + i
        W[np.ix_(places, places)] = np.diag(P[i]) - np.outer(P[i], P[i])
    M = np.linalg.solve(np.eye(3 * n) + W @ np.kron(np.eye(3), K), W)
    mean, variance = gp.latent_mean_and_variance(new)
    for j, k in enumerate(kernel(new, X)):
        Q = np.kron(np.eye(3), k[None])
        np.testing.assert_allclose(variance[j], (3.0 * np.eye(3) - Q @ M @ Q.T).diagonal(), atol=1e-7)
    np.testing.assert_allclose(mean, kernel(new, X) @ gp.dual_coef_)
    proba = gp.predict_proba(new)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_array_equal(gp.predict(new), proba.argmax(axis=1))


def test_integrals_over_the_latent_values() -> None:
    mean, sd = np.array([0.3, -2.0, 4.0, 1.0]), np.array([0.2, 0.999, 1.001, 30.0])
    true = [
        quad(lambda z, m=m, s=s: expit(m + s * z) * np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi), -12, 12, limit=1000)[0]
        for m, s in zip(mean, sd, strict=True)
    ]
    np.testing.assert_allclose(expected_sigmoid(mean, sd**2), true, atol=1e-9)
    draws = RNG.multivariate_normal([0.5, 0.0, -0.5], np.diag([1.0, 2.0, 0.5]), 400_000)
    brute = (np.exp(draws) / np.exp(draws).sum(axis=1, keepdims=True)).mean(axis=0)
    found = expected_softmax(np.array([[0.5, 0.0, -0.5]]), np.diag([1.0, 2.0, 0.5])[None])
    np.testing.assert_allclose(found[0], brute, atol=2e-3)


def test_probabilities_are_calibrated_on_simulated_classes() -> None:
    rng = np.random.default_rng(1)
    Z = rng.uniform(-3, 3, size=(700, 1))
    kernel = 4.0 * Gaussian(1.0)
    f = np.linalg.cholesky(kernel(Z) + 1e-8 * np.eye(700)) @ rng.normal(size=700)
    y = (rng.random(700) < expit(f)).astype(int)
    gp = GaussianProcessClassifier(kernel, optimizer=None).fit(Z[:350], y[:350])
    p = gp.predict_proba(Z[350:])[:, 1]
    for low, high in ((0.0, 0.3), (0.3, 0.7), (0.7, 1.0)):
        inside = (p >= low) & (p <= high)
        error = abs(y[350:][inside].mean() - p[inside].mean())
        assert error < 3.5 * np.sqrt(0.25 / inside.sum())


def test_far_from_the_data_the_prior_returns() -> None:
    gp = GaussianProcessClassifier(4.0 * Gaussian(1.0), optimizer=None)
    np.testing.assert_allclose(gp.fit(X, TWO).predict_proba([[1e3, 1e3]]), 0.5)
    np.testing.assert_allclose(gp.fit(X, THREE).predict_proba([[1e3, 1e3]]), 1 / 3, atol=2e-3)


def test_probabilities_that_are_too_near_to_equal_are_reported() -> None:
    """Laplace's posterior keeps the prior variance where classes are separated; the likelihood tells that this is wrong."""
    rng, y = np.random.default_rng(0), np.repeat(np.arange(3), 30)
    Z = np.column_stack([3.0 * y, 3.0 * (y == 1)]) + 0.3 * rng.normal(size=(90, 2))
    gp = GaussianProcessClassifier(2000.0 * Gaussian(5.0), optimizer=None).fit(Z, y)
    (note,) = gp.diagnosis_.notes
    assert "the probabilities are too near to equal" in note
    assert "KernelLogisticRegressionCV" in note
    loss = -np.log(gp.predict_proba(Z)[np.arange(90), y]).mean()
    assert loss > -1.25 * gp.log_marginal_likelihood_value_ / 90
    assert not GaussianProcessClassifier(4.0 * Gaussian(1.0), optimizer=None).fit(X, TWO).diagnosis_.notes
    found = GaussianProcessClassifier(1e5 * Gaussian(5.0), fixed=["scale", "0__length_scale"]).fit(Z, y).diagnosis_.notes
    assert any("too near to equal" in note for note in found)


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_variances_of_the_rows_that_come_with_the_gradient_are_those_of_the_posterior(y: np.ndarray) -> None:
    problem = LatentProblem(X, y, "classes", y.max() + 1, intercept=False)
    engine, kernel = LaplaceEngine(), 3.0 * Gaussian(1.2)
    engine.evidence(problem, kernel, np.nan, True)
    posterior, mode = engine.posterior(problem, kernel, np.nan)
    mean, spread = posterior.latent(X)
    np.testing.assert_allclose(engine.spread, spread, atol=1e-8)
    np.testing.assert_allclose(mode.f if y is TWO else mode.F, mean, atol=1e-8)


def test_strings_and_graphs() -> None:
    words, labels = ["aab", "abb", "aaa", "zzy", "zyy", "zzz"] * 3, ["a"] * 3 + ["z"] * 3
    gp = GaussianProcessClassifier(mercer.Spectrum(1).normalized()).fit(words, labels * 3)
    assert gp.predict(["aa", "zz"]).tolist() == ["a", "z"]
    graphs = [mercer.Graph(n, [(i, (i + 1) % n) for i in range(n)]) for n in (3, 4, 7, 8) * 3]
    gp = GaussianProcessClassifier(mercer.ShortestPath().normalized()).fit(graphs, [0, 0, 1, 1] * 3)
    assert gp.score(graphs, [0, 0, 1, 1] * 3) == 1.0


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_saved_and_loaded(y: np.ndarray, tmp_path) -> None:
    gp = GaussianProcessClassifier(2.0 * Gaussian(1.0), optimizer=None).fit(X, y)
    mercer.save(gp, tmp_path / "model")
    again = mercer.load(tmp_path / "model")
    np.testing.assert_allclose(again.predict_proba(X), gp.predict_proba(X), atol=1e-10)
    assert again.log_marginal_likelihood(gp.theta_) == pytest.approx(gp.log_marginal_likelihood_value_)


def test_the_contract_of_scikit_learn() -> None:
    model = GaussianProcessClassifier(optimizer=None)
    failed = [r for r in check_estimator(model, on_fail=None, on_skip=None) if r["status"] == "failed"]
    assert not failed, [(r["check_name"], r["exception"]) for r in failed]


@pytest.mark.parametrize(
    ("gp", "y", "message"),
    [
        (GaussianProcessClassifier(), np.zeros(80), "one class only"),
        (GaussianProcessClassifier(), np.where(np.arange(80) == 3, np.nan, TWO), "contains NaN"),
        (GaussianProcessClassifier(), np.where(np.arange(80) == 3, None, TWO), "row 3 has the label None"),
        (GaussianProcessClassifier(optimizer="adam"), TWO, "optimizer must be one of bfgs"),
        (GaussianProcessClassifier(tol=0.0), TWO, "tol must be a number > 0"),
        (GaussianProcessClassifier(fixed="noise"), TWO, "fixed names 'noise', which is not a parameter"),
    ],
)
def test_bad_input_is_named(gp: GaussianProcessClassifier, y: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        gp.fit(X, y)
    fitted = GaussianProcessClassifier(optimizer=None).fit(X, TWO)
    with pytest.raises(InputError, match="1 entry of theta_names_"):
        fitted.log_marginal_likelihood([1.0, 2.0, 3.0])
