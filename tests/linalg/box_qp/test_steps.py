"""Small problems in one call: the same bits in NumPy and compiled, and the same optimum as working sets."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from tests.linalg.box_qp.test_solver import gaussian, problems

from mercer import SVR, Gaussian
from mercer.grams.row_cache import KernelRows
from mercer.linalg.box_qp import solver, steps
from mercer.linalg.box_qp._compiled_loops import solve_problem
from mercer.linalg.box_qp.solver import solve_box
from mercer.numeric import compiling


def arguments(problem, K, fine):
    rows = np.arange(len(K)) if problem.rows is None else problem.rows
    vectors = (problem.signs, problem.linear, problem.upper, problem.start)
    return (K, *vectors, rows, 1 + problem.split, 1e-3, fine, 20 * len(rows))


def answers(problem, K, fine, *ways):
    for way in ways:
        value, gradient = np.empty((2, len(problem.signs)))
        takeover = solver._compiled_descend if way is steps.solve_problem else None
        yield (*way(*arguments(problem, K, fine), value, gradient, takeover), *value, *gradient)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n", [6, 30, 90])
def test_numpy_rounds_as_the_compiled_loops_do(monkeypatch, seed, n):
    monkeypatch.setattr(steps, "rented", lambda: False)
    for X, problem in problems(np.random.default_rng(seed), n):
        for K in (gaussian(X), X @ X.T, np.tanh(X @ X.T - 1.0)):
            for fine in (1e-3, 1e-10):
                plain, compiled = answers(problem, K, fine, steps.solve_problem, solve_problem)
                assert plain == compiled  # every bit


def test_some_of_the_rows_and_what_is_no_problem(monkeypatch, rng):
    monkeypatch.setattr(steps, "rented", lambda: False)
    _, problem = next(problems(rng, 20))
    K = gaussian(rng.normal(size=(50, 3)))
    some = replace(problem, rows=rng.permutation(50)[:20])
    plain, compiled = answers(some, K, 1e-10, steps.solve_problem, solve_problem)
    assert plain == compiled and plain[0] == steps.DONE
    twice = KernelRows.of(K[np.ix_(some.rows, some.rows)])
    np.testing.assert_allclose(solve_box(problem, twice).value, solve_box(some, KernelRows.of(K)).value, atol=1e-12)
    for name, value in (("upper", np.inf), ("upper", -1.0), ("linear", np.nan), ("signs", 2.0), ("start", 5.0)):
        wrong = replace(some, **{name: np.full(20, value)})
        for found in answers(wrong, K, 1e-10, steps.solve_problem, solve_problem):
            assert found[0] == steps.NO_PROBLEM
    for found in answers(some, np.full((50, 50), np.nan), 1e-10, steps.solve_problem, solve_problem):
        assert found[0] in (steps.UNDEFINED, steps.HARD)  # the sets look closer, and refuse


def test_the_compiled_loop_may_take_over_at_any_step(monkeypatch, rng):
    for X, problem in problems(rng, 60):
        K = gaussian(X)
        (expected,) = answers(problem, K, 1e-10, solve_problem)
        for switch in (1, 2, 5):
            asked = iter(range(10**6))
            monkeypatch.setattr(steps, "GLANCE", 7)
            monkeypatch.setattr(steps, "rented", lambda asked=asked, switch=switch: next(asked) >= switch)
            (found,) = answers(problem, K, 1e-10, steps.solve_problem)
            assert found == expected


@pytest.mark.parametrize("n", [40, 700])
def test_one_call_agrees_with_working_sets(monkeypatch, rng, n):
    for X, problem in problems(rng, n):
        gram = KernelRows.of(gaussian(X))
        quick = solve_box(problem, gram, tol=1e-4)
        with monkeypatch.context() as patch:
            patch.setattr(solver, "_at_once", lambda *arguments: None)
            slow = solve_box(problem, gram, tol=1e-4)
        assert quick.converged and slow.converged
        assert quick.objective == pytest.approx(slow.objective, rel=1e-5, abs=1e-3)
        assert quick.offset == pytest.approx(slow.offset, abs=1e-3)
        np.testing.assert_allclose(quick.gradient, slow.gradient, atol=2e-3)


def test_what_one_call_leaves_is_taken_up_by_the_sets(monkeypatch, rng):
    for X, problem in problems(rng, 60):
        gram = KernelRows.of(gaussian(X))
        whole = solve_box(problem, gram, further=(1e-10, 20_000))
        with monkeypatch.context() as patch:
            patch.setattr(solver, "_at_once", _few_steps)
            taken = solve_box(problem, gram, further=(1e-10, 20_000))
        np.testing.assert_allclose(taken.gradient, whole.gradient, atol=1e-6)


def _few_steps(problem, gram, tol, fine, tick):
    return solver.solve_at_once(*arguments(problem, gram.store, fine)[:-1], 3)  # type: ignore[call-arg]


FIRST_FITS = """
import sys
from dataclasses import replace
import numpy as np
import mercer

X = np.random.default_rng(0).normal(size=(300, 3))
y = (X[:, 0] * X[:, 1] > 0).astype(int)
k = mercer.Gaussian(1.0)
models = mercer.SVC(k).fit(X, y), mercer.SVC(k).fit(X, y + (X[:, 2] > 1)), mercer.SVR(k).fit(X[:40], X[:40, 0])
print("numba" in sys.modules, float.hex(float(np.sum([m.dual_objective_ for m in models]))))
"""


def test_first_small_fits_load_no_compiler_and_have_the_same_digits():
    starts = "from mercer.numeric import compiling\ncompiling.RENT = 1e9\n", "import numba\n"
    plain, compiled = (
        subprocess.run(
            [sys.executable, "-c", before + FIRST_FITS], capture_output=True, text=True, check=True
        ).stdout.split()
        for before in starts
    )
    assert plain == ["False", compiled[1]] and compiled[0] == "True"


def test_the_time_spent_in_numpy_is_counted_until_it_is_enough(monkeypatch):
    monkeypatch.setattr(compiling, "_spent", 0.0)
    monkeypatch.delitem(sys.modules, "numba")
    assert not compiling.rented()
    compiling.spend(0.7 * compiling.RENT)
    assert not compiling.rented()
    compiling.spend(0.7 * compiling.RENT)
    assert compiling.rented()


def test_two_sides_of_a_regression_never_make_a_larger_matrix(rng):
    X = rng.normal(size=(120, 3))
    y = np.sin(X[:, 0])
    model = SVR(Gaussian(1.0), C=10.0, epsilon=0.05).fit(X, y)
    assert model.fit_status_ == 0 and model.duality_gap_ <= 1e-8 * abs(model.dual_objective_)
