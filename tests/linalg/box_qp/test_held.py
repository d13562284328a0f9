"""The box problem on a held matrix: the same optimum as the general solver, with and without Newton steps."""

import numpy as np
import pytest

from mercer import Gaussian, Linear, Tanh
from mercer.grams.row_cache import KernelRows
from mercer.linalg.box_qp import held
from mercer.linalg.box_qp.held import solve_held
from mercer.linalg.box_qp.problems import BoxProblem
from mercer.linalg.box_qp.solver import solve_box


@pytest.fixture(params=[40, 700])
def problem(request, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(size=(request.param, 3))
    signs = np.where(np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=request.param) > 0, 1.0, -1.0)
    return X, signs


def classification(signs: np.ndarray, C: float, start: np.ndarray | None = None) -> BoxProblem:
    n = len(signs)
    return BoxProblem(signs, np.full(n, -1.0), np.full(n, C), np.zeros(n) if start is None else start)


def violation(K: np.ndarray, problem: BoxProblem, value: np.ndarray) -> float:
    """LIBSVM's m - M from the definition."""
    s = problem.signs
    f = s - K @ (s * value)
    rises = np.where(s > 0, value < problem.upper, value > 0)
    falls = np.where(s > 0, value > 0, value < problem.upper)
    return float(f[rises].max() - f[falls].min())


@pytest.mark.parametrize("eager", [False, True], ids=["as it is", "newton at once"])
@pytest.mark.parametrize("C", [0.01, 1.0, 1e4])
def test_same_optimum_as_the_general_solver(problem, C: float, eager: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if eager:
        monkeypatch.setattr(held, "OVERHEAD", 0)
        monkeypatch.setattr(held, "WORTH", 0.0)
        monkeypatch.setattr(held, "SETTLED", 1.0)
        monkeypatch.setattr(held, "LEAST_STEPS", 50)
        monkeypatch.setattr(held, "PATIENCE", 1)
    X, signs = problem
    rows = KernelRows.held(Gaussian(1.0), X, dtype=np.float64)
    ours = solve_held(classification(signs, C), rows, tol=1e-6)
    theirs = solve_box(classification(signs, C), rows, tol=1e-6)
    assert ours.converged
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-8)
    assert ours.offset == pytest.approx(theirs.offset, abs=1e-4)
    assert violation(rows.store, classification(signs, C), ours.value) < 2e-6
    assert ours.value.min() >= 0 and ours.value.max() <= C
    assert abs(signs @ ours.value) <= 1e-9 * C * len(signs)
    np.testing.assert_allclose(ours.gradient, signs * (rows.store @ (signs * ours.value)) - 1.0, atol=1e-8 * C * len(signs))


def test_a_start_with_its_gradient_gives_the_same(problem) -> None:
    X, signs = problem
    rows = KernelRows.held(Gaussian(1.0), X, dtype=np.float64)
    first = solve_held(classification(signs, 1.0), rows, tol=1e-6)
    start = 2.0 * first.value
    with_gradient = solve_held(
        classification(signs, 2.0, start), rows, tol=1e-6, gradient=2.0 * (first.gradient + 1.0) - 1.0
    )
    without = solve_held(classification(signs, 2.0, start), rows, tol=1e-6)
    cold = solve_held(classification(signs, 2.0), rows, tol=1e-6)
    assert with_gradient.objective == pytest.approx(cold.objective, rel=1e-9)
    assert without.objective == pytest.approx(cold.objective, rel=1e-9)
    again = solve_held(classification(signs, 2.0, cold.value), rows, tol=1e-5)
    assert again.n_iter == 0


def test_some_rows_of_a_larger_matrix(problem) -> None:
    X, signs = problem
    rows = KernelRows.held(Gaussian(1.0), X, dtype=np.float64)
    chosen = np.flatnonzero(np.arange(len(X)) % 3 != 1)
    m = len(chosen)
    part = BoxProblem(signs[chosen], np.full(m, -1.0), np.full(m, 5.0), np.zeros(m), chosen)
    alone = KernelRows.held(Gaussian(1.0), X[chosen], dtype=np.float64)
    np.testing.assert_allclose(
        solve_held(part, rows, tol=1e-7).objective, solve_held(classification(signs[chosen], 5.0), alone, tol=1e-7).objective
    )


def test_limits_and_matrices_that_are_no_kernel(rng: np.random.Generator) -> None:
    X = rng.normal(size=(200, 2))
    signs = np.where(rng.random(200) > 0.5, 1.0, -1.0)
    short = solve_held(classification(signs, 1e3), KernelRows.held(Gaussian(1.0), X), max_iter=5)
    assert not short.converged and short.n_iter == 5 and "stopped" in short.message
    for kernel in (Tanh(scale=2.0, offset=1.0), Linear()):
        rows = KernelRows.held(kernel, np.repeat(X, 2, axis=0), dtype=np.float64)
        both = solve_held(classification(np.tile([1.0, -1.0], 200), 10.0), rows)  # every point with both labels
        assert np.isfinite(both.value).all()


def test_who_watches_can_stop_it(rng: np.random.Generator) -> None:
    X = rng.normal(size=(100, 2))

    def tick(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve_held(classification(np.where(X[:, 0] > 0, 1.0, -1.0), 1.0), KernelRows.held(Gaussian(1.0), X), tick=tick)
