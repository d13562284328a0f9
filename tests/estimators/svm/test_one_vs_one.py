"""Pairs of classes: each as solved alone, whatever the way its kernel values came."""

from __future__ import annotations

import numpy as np
import pytest

import mercer.estimators.svm.one_vs_one as pairs_module
from mercer import Gaussian
from mercer.estimators.svm.one_vs_one import class_pairs, solve_pairs
from mercer.grams.row_cache import KernelRows
from mercer.linalg.box_qp.problems import BoxProblem
from mercer.linalg.box_qp.solver import solve_box


def case(rng, n=160, classes=4):
    X = rng.normal(size=(n, 3))
    labels = (np.digitize(X[:, 0] + 0.4 * rng.normal(size=n), [-0.8, 0.0, 0.8]) % classes).astype(int)
    labels[:classes] = np.arange(classes)
    return X, labels


def alone(kernel, X, pair, upper, tol):
    m = len(pair.index)
    problem = BoxProblem(pair.signs, -np.ones(m), upper[pair.index], np.zeros(m))
    return solve_box(problem, KernelRows.held(kernel, X[pair.index]), tol=tol)


@pytest.mark.parametrize("whole", [10, 4096])
@pytest.mark.parametrize("form", ["held", "cached"])
def test_each_pair_is_the_problem_of_its_rows(monkeypatch, rng, form, whole):
    monkeypatch.setattr(pairs_module, "WHOLE", whole)
    X, labels = case(rng)
    kernel = Gaussian(length_scale=1.0)
    upper = np.where(labels == 1, 2.0, 5.0)
    found = solve_pairs(getattr(KernelRows, form)(kernel, X), labels, upper, tol=1e-4)
    pairs = class_pairs(labels)
    assert [(p.first, p.second) for p in pairs] == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    for pair, solution in zip(pairs, found, strict=True):
        assert set(labels[pair.index[pair.signs > 0]]) == {pair.first}
        expected = alone(kernel, X, pair, upper, 1e-4)
        assert solution.converged
        assert solution.objective == pytest.approx(expected.objective, rel=1e-5)
        assert solution.offset == pytest.approx(expected.offset, abs=2e-3)


def test_agrees_with_scikit_learn(rng):
    svm = pytest.importorskip("sklearn.svm")
    X, labels = case(rng, 300)
    found = solve_pairs(KernelRows.cached(Gaussian.from_gamma(0.5), X), labels, np.full(300, 10.0), tol=1e-4)
    peer = svm.SVC(C=10.0, gamma=0.5, tol=1e-5).fit(X, labels)
    np.testing.assert_allclose([-s.offset for s in found], peer.intercept_, atol=2e-3)


def test_two_classes_are_one_pair(rng):
    X, labels = case(rng, classes=2)
    ticks = []
    [found] = solve_pairs(
        KernelRows.cached(Gaussian(length_scale=1.0), X),
        labels,
        np.ones(160),
        tick=lambda done, total: ticks.append((done, total)),
    )
    assert found.converged and ticks and ticks[-1][1] == 100


def test_progress_and_ctrl_c(rng):
    X, labels = case(rng)
    rows = KernelRows.cached(Gaussian(length_scale=1.0), X)
    seen = []
    solve_pairs(rows, labels, np.ones(160), tick=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (6, 6)

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve_pairs(rows, labels, np.ones(160), tick=stop)


def test_a_time_limit_for_all_pairs(rng):
    X, labels = case(rng)
    found = solve_pairs(KernelRows.cached(Gaussian(length_scale=1.0), X), labels, np.full(160, 100.0), time_limit=1e-9)
    assert len(found) == 6 and not any(s.converged for s in found)
    assert all("time_limit" in s.message for s in found)
