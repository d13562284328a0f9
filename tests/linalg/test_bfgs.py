"""The climb: it finds the top, stays in its box, turns back from where the function is undefined, and says how it ended."""

import numpy as np
import pytest

from mercer.errors import NumericalError
from mercer.linalg.bfgs import ascend

WIDE = np.full(2, -10.0), np.full(2, 10.0)


def bowl(v: np.ndarray) -> tuple[float, np.ndarray]:
    A = np.array([[3.0, 1.0], [1.0, 2.0]])
    e = v - [1.0, -2.0]
    return float(-e @ A @ e), -2 * A @ e


def test_it_finds_the_top() -> None:
    top = ascend(bowl, np.zeros(2), *WIDE, tol=1e-9)
    np.testing.assert_allclose(top.vector, [1.0, -2.0], atol=1e-4)
    assert top.converged
    assert top.first == bowl(np.zeros(2))[0]
    assert top.value == pytest.approx(0.0, abs=1e-8)


def test_it_stays_in_its_box() -> None:
    top = ascend(bowl, np.array([5.0, 5.0]), np.array([-1.0, -1.0]), np.array([0.5, 3.0]), tol=1e-9)
    assert top.vector[0] == 0.5
    assert -1.0 <= top.vector[1] <= 3.0


def test_it_turns_back_from_where_the_function_is_undefined() -> None:
    def cliff(v: np.ndarray) -> tuple[float, np.ndarray]:
        if v[0] > 1.2:
            raise NumericalError("off the cliff")
        return float(v[0] - np.exp(3 * (v[0] - 1.0))) - float(v[1] ** 2), np.array(
            [1.0 - 3 * np.exp(3 * (v[0] - 1.0)), -2 * v[1]]
        )

    top = ascend(cliff, np.array([-5.0, 1.0]), *WIDE, tol=1e-10)
    np.testing.assert_allclose(top.vector, [1.0 - np.log(3.0) / 3.0, 0.0], atol=1e-3)


def test_an_undefined_start_is_the_callers_business() -> None:
    def nowhere(v: np.ndarray) -> tuple[float, np.ndarray]:
        return float("nan"), v

    with pytest.raises(NumericalError, match="the objective is nan"):
        ascend(nowhere, np.zeros(2), *WIDE)


def test_running_out_of_steps_is_said() -> None:
    def banana(v: np.ndarray) -> tuple[float, np.ndarray]:
        a, b = 1 - v[0], v[1] - v[0] ** 2
        return float(-(a * a) - 100 * b * b), np.array([2 * a + 400 * v[0] * b, -200 * b])

    short = ascend(banana, np.array([-1.0, 1.0]), *WIDE, tol=1e-12, max_iter=3)
    assert not short.converged
    assert "stopped after 3 steps" in short.message
    assert ascend(banana, np.array([-1.0, 1.0]), *WIDE, tol=1e-12, max_iter=300).converged


def test_nothing_to_move_is_one_evaluation() -> None:
    still = ascend(lambda v: (7.0, v), np.empty(0), np.empty(0), np.empty(0))
    assert (still.value, still.n_evaluations) == (7.0, 1)


def test_a_gradient_that_points_the_wrong_way_is_not_called_a_top() -> None:
    lost = ascend(lambda v: (-float(v @ v), 2 * v), np.array([1.0, 1.0]), *WIDE)
    assert not lost.converged
    assert "the slope is 2" in lost.message


def test_the_curvature_learned_is_that_of_the_function_and_saves_steps() -> None:
    rng = np.random.default_rng(0)
    Q, _ = np.linalg.qr(rng.normal(size=(8, 8)))
    A = Q @ np.diag(np.logspace(-2, 4, 8)) @ Q.T
    center = rng.normal(size=8)

    def valley(v: np.ndarray) -> tuple[float, np.ndarray]:
        e = v - center
        return float(-0.5 * e @ A @ e), -A @ e

    box = np.full(8, -50.0), np.full(8, 50.0)
    cold = ascend(valley, np.zeros(8), *box, tol=1e-9)
    np.testing.assert_allclose(cold.vector, center, atol=1e-2)
    warm = ascend(valley, np.ones(8), *box, tol=1e-9, curvature=A)
    assert warm.n_evaluations <= 4 < cold.n_evaluations
    np.testing.assert_allclose(warm.vector, center, atol=1e-4)
