"""The margin theorem with constants: against its formula, on every draw, over rho and n, whatever the scale."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer import Gaussian, KernelPerceptron, KernelRidge, KernelRidgeClassifier, Linear, NearestMean, Tanh, margin_bound
from mercer.errors import InputError
from mercer.estimators.margin_theorem import _part, least_bounds, losses_at

MODELS = {
    "perceptron": lambda: KernelPerceptron(Gaussian(4.0), max_iter=3, random_state=0),
    "means": lambda: NearestMean(Gaussian(4.0)),
    "ridge": lambda: KernelRidgeClassifier(Gaussian(4.0), alpha=10.0),
    "svc": lambda: mercer.SVC(Gaussian(4.0), C=0.05),
}


def draw(n: int, shift: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1, -1)
    return rng.normal(size=(n, 2)) + shift * y[:, None] / 2, y


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", MODELS)
def test_the_bound_holds_on_every_draw(name: str) -> None:
    """Every rho is named beforehand; without rho the best one, paid for. An easy distribution and a hopeless one."""
    for shift, most in ((6.0, 0.6), (0.0, 1.0)):
        said = []
        for seed in range(3):
            X, y = draw(600, shift, seed)
            T, t = draw(2000, shift, seed + 100)
            model = MODELS[name]().fit(X, y)
            error = float((model.predict(T) != t).mean())
            bounds = [margin_bound(model, X, y, rho=rho) for rho in (0.01, 0.1, 0.3, 1.0)]
            free = margin_bound(model, X, y)
            assert all(error <= bound.value for bound in [*bounds, free])
            said.append(min(bound.value for bound in bounds))
            assert free.value >= min(said[-1], free.loss)
        assert np.median(said) <= most


def test_the_bound_against_its_formula() -> None:
    X, y = draw(500, 3.0, 0)
    model = KernelRidge(Linear(), alpha=1.0, fit_intercept=True).fit(X, y.astype(float))
    w, b = X.T @ model.dual_coef_, model.intercept_
    for rho in (0.05, 0.7):
        found = margin_bound(model, X, y, rho=rho, delta=0.1)
        loss = np.mean(y * (X @ w + b) / np.linalg.norm(w) < rho)
        B = 2.0 ** np.ceil(np.log2(abs(b) / np.linalg.norm(w) / rho))
        complexity = 2 / rho * np.sqrt(np.sum(X**2)) / 500 + 2 * B / np.sqrt(500)
        confidence = 3 * np.sqrt(np.log(2 / (0.1 * _part(np.log2(B)))) / 1000)
        assert (found.loss, found.complexity, found.confidence) == pytest.approx((loss, complexity, confidence))
        assert found.value == pytest.approx(min(1.0, loss + complexity + confidence))
    assert _part(np.arange(-100_000, 100_001)).sum() == pytest.approx(1.0, abs=1e-4)


def test_the_ledger_of_svc_says_the_same() -> None:
    X, y = draw(1500, 6.0, 1)
    model = mercer.SVC(Gaussian(8.0), C=0.05, tol=1e-6).fit(X, y)
    found = margin_bound(model, X, y)
    assert found.value == pytest.approx(model.margin_bound_, rel=1e-3)
    assert found.rho == model.ledger_.margin_of_bound


def test_many_functions_at_once_against_the_formula() -> None:
    margins, norm, bias, trace = np.linspace(-0.2, 3.0, 5000), 2.0, 0.7, 5000.0
    one = [np.array([value]) for value in (5000.0, norm, bias, trace)]
    [bound], [distance], [loss] = least_bounds(losses_at(margins, norm)[:, None], *one, 0.05)  # type: ignore[call-arg]
    i = int(np.log2(1 / distance))
    rho = norm / 2**i
    assert loss == (margins < rho).mean()
    j = int(np.ceil(np.log2(bias / rho)))
    part = 0.05 * _part(i) * _part(j)
    slow = loss + 2 * (2**i * np.sqrt(trace) / 5000 + 2**j / np.sqrt(5000)) + 3 * np.sqrt(np.log(2 / part) / 10000)
    assert bound == pytest.approx(min(slow, 1.0))


def test_scale_free_and_shrinking_with_the_rows() -> None:
    """Data and rho ten times as large: the same bound, which the classic form with ln^2(l/rho) does not give."""
    X, y = draw(1000, 6.0, 2)
    small = KernelPerceptron(Linear(), random_state=0).fit(X, y)
    large = KernelPerceptron(Linear(), random_state=0).fit(10 * X, y)
    assert margin_bound(small, X, y, rho=0.5).value == pytest.approx(margin_bound(large, 10 * X, y, rho=5.0).value)
    shares = []
    for n in (100, 1000, 10_000):
        X, y = draw(n, 6.0, 3)
        found = margin_bound(NearestMean(Linear()).fit(X, y), X, y, rho=1.0)
        shares.append(found.complexity + found.confidence)
    assert shares[0] > 2.5 * shares[1] > 2.5 * 2.5 * shares[2]  # as 1/sqrt(n)


@pytest.mark.filterwarnings("ignore::mercer.estimators.definiteness.NotAKernelWarning")
def test_refusals() -> None:
    X, y = draw(60, 6.0, 4)
    model = NearestMean(Gaussian(4.0)).fit(X, y)
    with pytest.raises(InputError, match="rho is a distance"):
        margin_bound(model, X, y, rho=0.0)
    with pytest.raises(InputError, match="delta must lie"):
        margin_bound(model, X, y, delta=1.0)
    with pytest.raises(InputError, match="60 labels are needed"):
        margin_bound(model, X, y + 1)
    with pytest.raises(InputError, match="one function of two classes"):
        margin_bound(NearestMean(Gaussian(1.0)).fit(X, np.arange(60) % 3), X, y)
    with pytest.raises(InputError, match="fitted model"):
        margin_bound(object(), X, y)
    with pytest.raises(InputError, match="not known to be a kernel"):
        margin_bound(mercer.SVC(Tanh(1.0, offset=-1.0)).fit(X, y), X, y)
    voted = KernelPerceptron(Gaussian(4.0), average="voted", random_state=0, max_iter=2, stopping="mistakes").fit(X, y)
    with pytest.raises(InputError, match="a vote"):
        margin_bound(voted, X, y)
    flat = KernelRidge(Linear()).fit(X, np.zeros(60))
    assert margin_bound(flat, X, y).value == 1.0
