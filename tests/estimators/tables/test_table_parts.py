"""Parts of the table models: what a limit of time allows, and the state for all rows from those of the folds."""

from __future__ import annotations

import numpy as np

from mercer import Laplacian, PowerExponential, TableRegressor
from mercer.estimators.tables import fitting
from mercer.estimators.tables.candidates import Candidate, LearnedKernel
from mercer.estimators.tables.fitting import COUNTS, FREE, Pace, measured_pace, within
from mercer.inputs import Rows

PACE = Pace(value=1e-8, product=1e-11)


def test_members_go_before_exactness_and_then_landmarks() -> None:
    n = 6000
    one = PACE.exact(n)
    assert within(PACE, n, 4, 4.1 * one) == (4, None)
    assert within(PACE, n, 4, 2.5 * one) == (2, None)
    count, landmarks = within(PACE, n, 4, 0.9 * one)
    assert count == 4 and landmarks in COUNTS
    assert 4 * PACE.landmarks(n, landmarks) <= 0.9 * one
    assert within(PACE, n, 4, 0.0) == (1, COUNTS[-1])
    assert within(PACE, FREE, 3, 0.0) == (3, None)


def test_the_pace_is_that_of_a_kernel_on_rows() -> None:
    pace = measured_pace(Laplacian(2.0), Rows(np.random.default_rng(0).standard_normal((60, 3))))
    assert pace.value > 0 and pace.product > 0


def test_the_state_for_all_rows_is_the_mean_of_the_folds() -> None:
    likelihood = Candidate("a", "standard", "likelihood", Laplacian("median"))
    parts = [LearnedKernel("a", Laplacian((1.0, 4.0)), 0.01), LearnedKernel("a", Laplacian((4.0, 9.0)), 1.0)]
    settled = likelihood.settled(parts)
    assert np.allclose(settled.kernel.get_params()["length_scale"], (2.0, 6.0)) and np.isclose(settled.alpha, 0.1)
    roots = [np.diag([1.0, 0.5]), np.array([[1.0, 0.3], [0.3, 0.5]])]
    full = Candidate("b", "standard", "full metric", PowerExponential())
    kernels = [PowerExponential(length_scale=L).linear(S) for L, S in zip((1.0, 4.0), roots, strict=True)]
    kernel = full.settled([LearnedKernel("b", k, 0.1) for k in kernels]).kernel
    S = np.asarray(kernel.get_params(deep=False)["S"])
    M = sum(root @ root for root in roots)
    assert np.allclose(S @ S, M / np.abs(M).max()) and np.isclose(kernel.get_params()["0__length_scale"], 2.0)


def test_without_time_for_exact_fits_there_are_landmarks(monkeypatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (600, 2))
    y = np.sin(4 * X[:, 0]) + 0.1 * rng.standard_normal(600)
    monkeypatch.setattr(fitting, "within", lambda pace, n, members, seconds: (1, 60))
    model = TableRegressor(time=1e-6).fit(X[:500], y[:500])
    assert "60 landmarks" in model.result_.route and len(model.members_) == 1 and model.members_[0].weight == 1.0
    low, high = model.predict_interval(X[500:]).T
    assert np.sqrt(np.mean((model.predict(X[500:]) - y[500:]) ** 2)) < 0.2
    assert np.mean((low <= y[500:]) & (y[500:] <= high)) > 0.8
