"""The next experiment: scores against simulation, batches against explicit refits, and what is never suggested."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from mercer import Gaussian, GaussianProcessRegressor, Spectrum, suggest
from mercer.errors import InputError
from mercer.estimators.gp import suggest as module

RNG = np.random.default_rng(0)
X = RNG.uniform(-3.0, 3.0, size=(15, 2))
y = np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.05 * RNG.normal(size=15)
NEW = RNG.uniform(-3.0, 3.0, size=(60, 2))
PLAIN: dict[str, Any] = {"noise": 0.01, "optimizer": None, "mean": "zero", "normalize_y": False}
MODEL = GaussianProcessRegressor(Gaussian(1.2), **PLAIN).fit(X, y)


def test_expected_improvement_is_the_mean_of_its_definition() -> None:
    mean, std, best = np.array([0.3, -2.0, 1.5]), np.array([0.5, 1.0, 0.2]), 0.4
    draws = np.random.default_rng(1).normal(size=4_000_000)
    simulated = [np.maximum(m + s * draws - best, 0.0).mean() for m, s in zip(mean, std, strict=True)]
    assert np.allclose(np.exp(module.log_improvement(mean, std, best)), simulated, rtol=0.02)


def test_expected_improvement_keeps_its_order_where_it_underflows() -> None:
    z = -np.array([0.5, 0.99, 1.01, 5.0, 30.0, 100.0, 9999.0, 10001.0, 1e6])
    scores = module.log_improvement(z, np.ones(len(z)), 0.0)
    assert np.isfinite(scores).all() and (np.diff(scores) < 0).all()
    exact = np.log(stats.norm.pdf(z[:4]) + z[:4] * stats.norm.cdf(z[:4]))
    assert np.allclose(scores[:4], exact, rtol=1e-9)
    assert module.log_improvement(np.array([1.0, -1.0]), np.zeros(2), 0.0).tolist() == [0.0, -np.inf]


@pytest.mark.parametrize("goal", ["max", "min", "explore"])
@pytest.mark.parametrize("method", ["improvement", "bound", "mean"])
def test_a_batch_equals_refits_on_fantasies(goal: str, method: str) -> None:
    """The slow twin: refit after each suggestion with the posterior mean as its outcome."""
    model, known, target = MODEL, X, y
    left, expected = list(range(len(NEW))), []
    sign = -1.0 if goal == "min" else 1.0
    for _ in range(5):
        mean, std = model.predict(NEW[left], return_std=True)
        best = (sign * model.predict(known)).max()
        scores = {
            "explore": std, "mean": sign * mean, "bound": sign * mean + 2.0 * std,
            "improvement": module.log_improvement(sign * mean, std, best),
        }["explore" if goal == "explore" else method]  # fmt: skip
        place = int(np.argmax(scores))
        expected.append(left.pop(place))
        known, target = np.vstack([known, NEW[expected[-1:]]]), np.append(target, mean[place])
        model = GaussianProcessRegressor(Gaussian(1.2), **PLAIN).fit(known, target)
    assert suggest(MODEL, NEW, n=5, goal=goal, method=method).tolist() == expected


def test_a_short_list_gives_the_choice_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = suggest(MODEL, NEW, n=6)
    monkeypatch.setattr(module, "SHORTLIST", 1)
    assert suggest(MODEL, NEW, n=6).tolist() == whole.tolist()
    assert suggest(MODEL, NEW, n=6, goal="explore").tolist() == suggest(MODEL, NEW, n=6, goal="explore").tolist()


def test_thompson_draws_follow_the_joint_posterior() -> None:
    few = NEW[:6]
    mean, C = MODEL.predict(few, return_cov=True)
    draws = MODEL.sample_y(few, 40_000, 0)
    assert np.allclose(draws.mean(axis=1), mean, atol=4 * np.sqrt(np.diagonal(C).max() / 40_000))
    assert np.allclose(np.cov(draws), C, atol=0.05 * np.diagonal(C).max())
    picks = np.bincount([suggest(MODEL, few, method="thompson", random_state=seed)[0] for seed in range(300)], minlength=6)
    shares = np.bincount(draws.argmax(axis=0), minlength=6) / 40_000
    assert np.allclose(picks / 300, shares, atol=4 * np.sqrt(0.25 / 300))


def test_measured_and_repeated_rows_are_not_suggested() -> None:
    candidates = np.vstack([X, NEW[:4], NEW[:4]])
    found = suggest(MODEL, candidates, n=4)
    assert sorted(found.tolist()) == [15, 16, 17, 18]
    with pytest.raises(InputError, match="only 4 of 23 candidates differ"):
        suggest(MODEL, candidates, n=5)


def test_strings_are_candidates_too() -> None:
    words = ["abc", "abd", "xyz", "xya", "bcd"]
    model = GaussianProcessRegressor(Spectrum(2).normalized(), noise=0.1, optimizer=None).fit(words, np.arange(5.0))
    assert suggest(model, ["abc", "bcda", "zzz"], n=2).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"goal": "best"}, "goal must be one of 'max', 'min', 'explore'"),
        ({"method": "luck"}, "method must be one of"),
        ({"n": 0}, "n must be a whole number"),
        ({"width": -1.0}, "width must be"),
        ({"model": "gp"}, "takes a fitted GaussianProcessRegressor"),
    ],
)
def test_what_is_refused(change: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"model": MODEL, "candidates": NEW} | change
    with pytest.raises(InputError, match=words):
        suggest(**given)


def test_several_targets_are_refused() -> None:
    model = GaussianProcessRegressor(Gaussian(1.2), noise=0.01, optimizer=None).fit(X, np.stack([y, -y], axis=1))
    with pytest.raises(InputError, match="one target; this one has 2"):
        suggest(model, NEW)
