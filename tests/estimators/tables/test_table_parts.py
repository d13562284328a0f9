"""Parts of the table models: what a limit of time allows, and the state for all rows from those of the folds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer import Gaussian, Laplacian, PowerExponential, TableClassifier, TableRegressor
from mercer.estimators.tables import fitting, ridge
from mercer.estimators.tables.candidates import Candidate, LearnedKernel
from mercer.estimators.tables.pace import COUNTS, FREE, Pace, measured_pace, within
from mercer.estimators.tables.search import CandidateSearch, Effort, Objective, Tables
from mercer.inputs import Rows
from mercer.linalg.ridge.dual import DualFit

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


# -- rows whose fit the others do not determine ----------------------------------------------------------------------------


def small_tables(n: int) -> dict[str, tuple[Any, Any]]:
    """Return tables of n rows in which columns are constant, rows equal, or a row is far from the others."""
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=n)
    return {
        "constant column": (np.column_stack([X, np.ones(n)]), y),
        "copies": (X[rng.integers(0, max(2, n // 3), n)], y),
        "all but one equal": (np.vstack([X[:1]] * (n - 1) + [X[1:2]]), y),
        "a row per column": (np.eye(n)[:, : n - 1], y),
        "far row": (np.vstack([X[:-1], [[1e6, -1e6]]]), y),
    }


@pytest.mark.parametrize("n", [5, 12, 30])
@pytest.mark.parametrize("name", sorted(small_tables(5)))
def test_small_tables_are_fitted(n: int, name: str) -> None:
    X, y = small_tables(n)[name]
    model = TableRegressor().fit(X, y)
    assert np.isfinite(model.predict(X)).all() and np.isfinite(model.result_.error)
    classes = TableClassifier().fit(X, np.where(y > np.median(y), "a", "b"))
    assert np.allclose(classes.predict_proba(X).sum(axis=1), 1.0)


def test_rows_that_no_other_rows_determine_have_huge_residuals() -> None:
    X, Y = np.random.default_rng(0).normal(size=(6, 2)), np.arange(6.0)[:, None]
    together = ridge.fit_and_leave_out(Gaussian(), X, Y, 1.0, np.zeros(6, dtype=np.intp))[1]  # no row is left
    assert np.array_equal(together, np.full((6, 1), ridge.UNDETERMINED))
    alone = ridge.fit_and_leave_out(Gaussian(), X, Y, 1.0, np.arange(6))[1]
    assert np.abs(alone).max() < 10.0


class Fixed(Candidate):
    """A candidate that learns nothing: its kernel and a penalty that tells it from others."""

    def learn(self, Z: Rows, Y: Any, weights: Any = None) -> list[LearnedKernel]:
        return [LearnedKernel(self.name, self.kernel, 1e-3 if self.name == "undetermined" else 1e-2)]


def undetermined(monkeypatch: pytest.MonkeyPatch, alpha: float | None) -> None:
    """Let the first left-out row of fits with this penalty (None: of all fits) be undetermined."""
    defined = DualFit.held_out_last

    def held_out_last(fit: DualFit, groups: Any) -> Any:
        residuals = defined(fit, groups)
        if alpha is None or fit.alpha == alpha:
            residuals[:1] = np.nan
        return residuals

    monkeypatch.setattr(DualFit, "held_out_last", held_out_last)


def test_a_candidate_that_cannot_be_judged_loses(monkeypatch: pytest.MonkeyPatch) -> None:
    undetermined(monkeypatch, 1e-3)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    tables = Tables({"standard": Rows(X)}, np.sin(X[:, :1]), np.arange(40) % 4, np.arange(40))
    squared = Objective("regression", "error", lambda F, Y, weights=None: ((F - Y) ** 2).sum(axis=1))
    effort = Effort(np.inf, lambda text: None)
    search = CandidateSearch(tables, squared, effort)
    search.run([Fixed(name, "standard", "plain", Gaussian(2.0)) for name in ("undetermined", "determined")])
    assert not effort.failed
    assert [trial.label for trial in search.complete()] == ["determined"]  # the other one left after its first fold
    assert [candidate.name for candidate in search.ranked()] == ["determined"]


@pytest.mark.parametrize("transformed", [False, True])
def test_a_fit_ends_well_if_no_candidate_can_be_judged(monkeypatch: pytest.MonkeyPatch, transformed: bool) -> None:
    undetermined(monkeypatch, None)
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = np.exp(3.0 * X[:, 0]) if transformed else X[:, 0]
    model = TableRegressor().fit(X, y)
    assert np.isfinite(model.predict(X)).all() and not model.result_.notes
    assert TableClassifier().fit(X, y > np.median(y)).predict(X).shape == (30,)
