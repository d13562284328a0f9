"""Gaussian process classification through inducing rows and chunks: against the exact route, its gradient, plan, files."""

import numpy as np
import pytest
from sklearn.base import clone

import mercer
from mercer import Gaussian, GaussianProcessClassifier
from mercer.errors import InputError
from mercer.estimators.gp.inducing_classes import InducingClassEngine
from mercer.estimators.gp.laplace import LatentProblem
from mercer.estimators.gp.problem import EngineSettings
from mercer.inputs.chunks import Chunks

RNG = np.random.default_rng(3)
X = RNG.normal(size=(240, 2))
NEW = RNG.normal(size=(50, 2))
WAVE = np.sin(2 * X[:, 0]) + X[:, 1] + 0.4 * RNG.normal(size=240)
LABELS = {2: np.where(WAVE > 0, "yes", "no"), 3: np.digitize(WAVE, [-0.5, 0.5])}
KERNEL = 4.0 * Gaussian(1.0)


def chunks(y: np.ndarray, size: int = 70) -> Chunks:
    return mercer.chunks(lambda: ((X[i : i + size], y[i : i + size]) for i in range(0, len(X), size)))


@pytest.mark.parametrize("C", [2, 3])
def test_all_rows_as_inducing_rows_are_the_exact_route(C: int) -> None:
    exact = GaussianProcessClassifier(KERNEL, optimizer=None).fit(X, LABELS[C])
    induced = GaussianProcessClassifier(KERNEL, optimizer=None, solver="inducing", n_inducing=240).fit(X, LABELS[C])
    assert induced.log_marginal_likelihood_value_ == pytest.approx(exact.log_marginal_likelihood_value_, abs=1e-4)
    np.testing.assert_allclose(induced.predict_proba(NEW), exact.predict_proba(NEW), atol=1e-5)
    for one, other in zip(induced.latent_mean_and_variance(NEW), exact.latent_mean_and_variance(NEW), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)
    np.testing.assert_array_equal(induced.predict(NEW), exact.predict(NEW))


@pytest.mark.parametrize("C", [2, 3])
@pytest.mark.parametrize("kernel", [2.0 * Gaussian([1.0, 2.0]), 3.0 * Gaussian(0.8) + 0.5 * mercer.Linear()])
def test_the_gradient_is_that_of_finite_differences(C: int, kernel: mercer.Kernel) -> None:
    codes = np.unique(LABELS[C], return_inverse=True)[1]
    problem = LatentProblem(X, codes, "classes", C, intercept=False)
    engine = InducingClassEngine(EngineSettings(n_inducing=15), C)
    engine.prepare(problem, kernel, None)

    def value(theta: np.ndarray) -> float:
        return engine.evidence(problem, kernel.with_theta(theta), None, False).value

    gradient = engine.evidence(problem, kernel, None, True).kernel_gradient
    steps = [(value(kernel.theta + 1e-4 * e) - value(kernel.theta - 1e-4 * e)) / 2e-4 for e in np.eye(len(kernel.theta))]
    np.testing.assert_allclose(gradient, steps, rtol=1e-5, atol=1e-5)


def test_few_inducing_rows_learn_what_all_rows_learn() -> None:
    exact = GaussianProcessClassifier(KERNEL, n_restarts=0).fit(X, LABELS[2])
    induced = GaussianProcessClassifier(KERNEL, n_restarts=0, solver="inducing", n_inducing=60).fit(X, LABELS[2])
    np.testing.assert_allclose(induced.theta_, exact.theta_, atol=0.1)
    np.testing.assert_allclose(induced.predict_proba(NEW), exact.predict_proba(NEW), atol=0.02)
    far = induced.predict_proba([[1e3, 1e3]])
    np.testing.assert_allclose(far, 0.5)  # the prior, with its variance
    assert induced.latent_mean_and_variance([[1e3, 1e3]])[1][0] == pytest.approx(induced.kernel_.diag(X[:1])[0])


@pytest.mark.parametrize("C", [2, 3])
def test_chunks_give_the_model_of_rows_in_memory(C: int) -> None:
    model = GaussianProcessClassifier(KERNEL, n_restarts=0, solver="inducing", n_inducing=20, max_iter=2)
    whole, parts = model.fit(X, LABELS[C]), clone(model).fit(chunks(LABELS[C]))
    np.testing.assert_allclose(parts.theta_, whole.theta_, atol=1e-6)
    np.testing.assert_allclose(parts.predict_proba(NEW), whole.predict_proba(NEW), atol=1e-6)
    assert parts.log_marginal_likelihood_value_ == pytest.approx(whole.log_marginal_likelihood_value_, abs=1e-6)
    assert parts.route_.passes > 0
    assert not hasattr(parts, "_codes")


def test_the_plan_chooses_the_route(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = np.zeros((300, 2)), np.zeros((5000, 2))
    y = np.arange(5000) % 2
    assert mercer.plan(GaussianProcessClassifier(), few, y[:300]).route.solver == "laplace"
    assert mercer.plan(GaussianProcessClassifier(), many, y).route.solver == "inducing"
    assert mercer.plan(GaussianProcessClassifier(), many[:2000], y[:2000]).route.solver == "laplace"
    assert mercer.plan(GaussianProcessClassifier(), many[:2000], np.arange(2000) % 3).route.solver == "inducing"
    assert mercer.plan(GaussianProcessClassifier(solver="exact"), many, y).route.solver == "laplace"
    assert mercer.plan(GaussianProcessClassifier(), many[:3500], y[:3500], memory="200 MB").route.solver == "inducing"
    assert mercer.plan(GaussianProcessClassifier(optimizer=None), chunks(LABELS[2])).route.passes > 0
    monkeypatch.setattr("mercer.estimators.gp.routes.EXACT_CLASS_ROWS", 100)
    with pytest.warns(UserWarning, match="GaussianProcessClassifier: 240 rows are more than 100"):
        found = GaussianProcessClassifier(KERNEL, optimizer=None, n_inducing=20).fit(X, LABELS[2])
    assert found.route_.solver == "inducing"
    with pytest.warns(UserWarning, match="GaussianProcessClassifier: the rows come in chunks"):
        GaussianProcessClassifier(KERNEL, optimizer=None, n_inducing=20).fit(chunks(LABELS[2]))


@pytest.mark.parametrize("C", [2, 3])
def test_saved_and_loaded(C: int, tmp_path) -> None:
    gp = GaussianProcessClassifier(KERNEL, optimizer=None, solver="inducing", n_inducing=30).fit(X, LABELS[C])
    mercer.save(gp, tmp_path / "model")
    again = mercer.load(tmp_path / "model")
    np.testing.assert_allclose(again.predict_proba(NEW), gp.predict_proba(NEW), atol=1e-12)
    assert again.log_marginal_likelihood() == gp.log_marginal_likelihood_value_
    assert len(gp.X_fit_) == 30


def test_strings_take_inducing_rows() -> None:
    words = ["aab", "abb", "aaa", "zzy", "zyy", "zzz"] * 10
    labels = (["a"] * 3 + ["z"] * 3) * 10
    gp = GaussianProcessClassifier(mercer.Spectrum(1).normalized(), solver="inducing", n_inducing=4).fit(words, labels)
    assert gp.predict(["aa", "zz"]).tolist() == ["a", "z"]


def test_what_is_not_available_is_named() -> None:
    gp = GaussianProcessClassifier(KERNEL, optimizer=None, solver="inducing", n_inducing=10).fit(X, LABELS[2])
    with pytest.raises(InputError, match="needs the rows, which a fit through inducing rows does not keep"):
        gp.log_marginal_likelihood(gp.theta_)
    with pytest.raises(InputError, match="keeps no held-out probabilities"):
        gp.predict_set(X)
    with pytest.raises(InputError, match="solver must be one of auto, exact, inducing"):
        GaussianProcessClassifier(solver="vecchia").fit(X, LABELS[2])
    with pytest.raises(InputError, match="n_inducing must be a whole number >= 1"):
        GaussianProcessClassifier(n_inducing=0).fit(X, LABELS[2])
    with pytest.raises(InputError, match="solver='exact' needs all rows"):
        GaussianProcessClassifier(solver="exact").fit(chunks(LABELS[2]))
    with pytest.raises(InputError, match="one class only"):
        GaussianProcessClassifier(solver="inducing").fit(chunks(np.zeros(240)))
    with pytest.raises(InputError, match="reads the chunks several times"):
        GaussianProcessClassifier(solver="inducing").fit(mercer.chunks(iter([(X, LABELS[2])])))
    with pytest.raises(InputError, match="does not use weights of chunks"):
        GaussianProcessClassifier(solver="inducing").fit(mercer.chunks(lambda: [(X, LABELS[2], np.ones(240))]))
