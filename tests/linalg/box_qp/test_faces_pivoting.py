"""The minimum on a face of the box against an independent solver, and what happens where there is none."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from mercer import Gaussian, Tanh
from mercer.linalg.box_qp import faces
from mercer.linalg.box_qp.faces import balanced, best_on_face


def gain(K: np.ndarray, f: np.ndarray, d: np.ndarray) -> float:
    return float(f @ d - 0.5 * d @ K @ d)


@pytest.mark.parametrize("width", [0.05, 0.5, 50.0], ids=["most at a bound", "some", "none"])
@pytest.mark.parametrize("seed", range(4))
def test_an_independent_solver_finds_no_better(seed: int, width: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faces, "HELD", 1.0)  # to the end, however many are held
    rng = np.random.default_rng(seed)
    K = Gaussian(0.7)(rng.normal(size=(25, 2))) + 0.5 * np.eye(25)
    f, b, low, high = rng.normal(size=25), np.zeros(25), np.full(25, -width), np.full(25, 1.5 * width)
    change = best_on_face(K, f, b, low, high)
    assert change is not None
    assert (b + change >= low).all() and (b + change <= high).all()
    assert change.sum() == pytest.approx(0.0, abs=1e-9)
    found = minimize(
        lambda d: -gain(K, f, d), np.zeros(25), jac=lambda d: K @ d - f, method="SLSQP",
        bounds=list(zip(low, high, strict=True)), constraints=[LinearConstraint(np.ones((1, 25)), 0.0, 0.0)],
        options={"maxiter": 500, "ftol": 1e-12},
    )  # fmt: skip
    assert gain(K, f, change) >= (1.0 - 1e-4) * gain(K, f, found.x)
    monkeypatch.setattr(faces, "HELD", 0.4)
    early = best_on_face(K, f, b, low, high)
    assert early is not None and gain(K, f, early) > 0


def test_the_optimality_conditions(rng: np.random.Generator) -> None:
    K = Gaussian(0.5)(rng.normal(size=(300, 2))) + np.eye(300)
    f, b, low, high = rng.normal(size=300), np.zeros(300), np.full(300, -1.2), np.full(300, 1.2)
    change = best_on_face(K, f, b, low, high)
    assert change is not None
    left = f - K @ change
    inside = (change > low) & (change < high)
    assert 0 < (~inside).sum() < 0.4 * 300
    assert np.ptp(left[inside]) < 1e-4
    level = left[inside].mean()
    assert (left[change >= high] >= level - 1e-4).all() and (left[change <= low] <= level + 1e-4).all()


@pytest.mark.parametrize("seed", range(6))
def test_ill_conditioned_faces_lead_uphill_all_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    K = Gaussian(1.0)(rng.normal(size=(200, 2)))  # smallest eigenvalues far below rounding
    f, b = rng.normal(size=200), rng.random(200)
    change = best_on_face(K, f, b, np.zeros(200), np.full(200, 50.0))
    assert change is not None and gain(K, f, change) > 0
    assert (b + change >= 0).all() and (b + change <= 50.0).all()
    assert change.sum() == pytest.approx(0.0, abs=1e-8)


def test_rounds_that_run_out_still_lead_uphill(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faces, "ROUNDS", 1)
    K = Gaussian(2.0)(rng.normal(size=(60, 2)))
    f = rng.normal(size=60)
    change = best_on_face(K, f, np.zeros(60), np.full(60, -1.0), np.full(60, 1.0))
    assert change is not None and gain(K, f, change) > 0
    assert change.sum() == pytest.approx(0.0, abs=1e-9)


def test_where_there_is_no_minimum(rng: np.random.Generator) -> None:
    K = Tanh(scale=2.0, offset=-1.0)(rng.normal(size=(30, 2)))
    assert best_on_face(K, rng.normal(size=30), np.zeros(30), -np.ones(30), np.ones(30)) is None
    still = best_on_face(np.eye(4), np.ones(4), np.zeros(4), -np.ones(4), np.ones(4))
    assert still is None, "at the minimum there is nothing to gain"


def test_sums_are_kept_in_the_box(rng: np.random.Generator) -> None:
    low, high = np.zeros(50), rng.random(50)
    for total in (0.0, 3.0, float(high.sum())):
        b = balanced(rng.normal(size=50), total, low, high)
        assert b.sum() == pytest.approx(total) and (b >= low).all() and (b <= high).all()
