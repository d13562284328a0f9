"""The kernel on names of tasks: values, laws, names from data, messages, and kernels on pairs (row, task)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer import Categorical, Gaussian, Linear, Tasks, parse
from mercer.errors import InputError
from mercer.kernels.tables.tasks import has_tasks, on_pairs, task_factor
from mercer.testing import check_kernel


@pytest.mark.parametrize("rank", [1, 2])
def test_values_and_laws(rank: int) -> None:
    V = np.random.default_rng(rank).normal(size=(3, rank))
    kernel = Tasks(rank, names=("a", "b", "c"), loadings=V.ravel(), own=(0.5, 1.0, 0.2))
    B = V @ V.T + np.diag([0.5, 1.0, 0.2])
    X, Z = ["a", "b", "a", "c"], ["c", "a"]
    assert np.allclose(kernel(X, Z), B[np.ix_([0, 1, 0, 2], [2, 0])])
    assert np.allclose(kernel.matrix, B)
    assert np.allclose(kernel.correlation.diagonal(), 1.0)
    assert parse(repr(kernel)) == kernel
    assert kernel.certificate().status == "valid"
    check_kernel(kernel, X, Z, twin=lambda x, z: float(B["abc".index(x), "abc".index(z)]))
    louder = kernel.amplified(3.0)
    assert louder is not None
    assert np.allclose(louder(X), 3.0 * kernel(X))


def test_names_come_from_the_rows_in_any_order() -> None:
    first, second = Tasks().resolve(["b", "a", "b"]), Tasks().resolve(["a", "b"])
    assert first == second
    assert first.get_params()["names"] == ("a", "b")
    assert np.allclose(Tasks()(["b", "a"]), first(["b", "a"]))
    check_kernel(Tasks(), ["a", "b", "a"], ["b"])
    assert Tasks().theta_names == []
    assert first.theta_names == ["loadings[0]", "loadings[1]", "own[0]", "own[1]"]


def test_numbers_of_either_sign_are_entries_of_theta_themselves() -> None:
    kernel = Tasks(names=(0, 1), loadings=(1.0, -2.0), own=(0.5, 1.0)) * Gaussian(3.0)
    assert np.allclose(kernel.theta, [1.0, -2.0, np.log(0.5), 0.0, np.log(3.0)])
    assert np.allclose(kernel.theta_values, [1.0, -2.0, 0.5, 1.0, 3.0])
    assert np.allclose(kernel.with_theta(kernel.theta + 0.1).theta, kernel.theta + 0.1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rank": 0}, "rank must be a whole number >= 1"),
        ({"names": ("a", "a")}, "different names"),
        ({"names": "ab"}, "different names"),
        ({"loadings": (1.0,)}, "give names="),
        ({"names": ("a", "b"), "loadings": (1.0,)}, "2 loadings and 2 own variances; got 1 and 2"),
        ({"names": ("a",), "own": (0.0,)}, "finite numbers > 0"),
        ({"names": ("a",), "loadings": (np.inf,)}, "finite numbers"),
    ],
)
def test_bad_parameters_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Tasks(**arguments)


def test_an_unknown_task_is_named() -> None:
    with pytest.raises(InputError, match="holds the task 'c', which is not among the tasks of the kernel: 'a', 'b'"):
        Tasks(names=("a", "b"))(["a", "c"])
    with pytest.raises(InputError, match="names are not known yet"):
        Tasks().matrix  # noqa: B018


def test_kernels_on_pairs() -> None:
    tasks, inner = Tasks(names=(0, 1)), Gaussian(2.0)
    assert has_tasks(tasks * inner)
    assert not has_tasks(tasks.on("task") * inner.on("x"))
    both = on_pairs(tasks * inner, (0, 1), 2)
    assert repr(both) == f"{tasks!r}.on(2) * {inner!r}.on(0, 1)"
    X = np.array([[0.0, 1.0, 0.0], [1.0, 1.0, 1.0], [2.0, 0.0, 1.0]])
    assert np.allclose(both(X), tasks(X[:, 2].astype(int)) * inner(X[:, :2]))
    found = task_factor(both, 2)
    assert found is not None
    assert found.tasks == tasks
    assert found.rows == inner.on(0, 1)
    alone = on_pairs(inner, (0, 1), 2)
    assert np.allclose(alone(X), Categorical()(X[:, 2]) * inner(X[:, :2]))
    assert task_factor(on_pairs(tasks * inner + tasks * Linear(), (0, 1), 2), 2) is None
    assert task_factor(inner, 2) is None
    assert task_factor(tasks.on(2) * inner.on(1, 2), 2) is None
    assert task_factor(Categorical(0.5).on(2) * inner.on(1), 2) is None
    middle = inner.on(0) * tasks.on(2) * Linear().on(1)
    cut = task_factor(middle, 2)
    assert cut is not None
    assert np.array_equal(cut.joined(np.array([1.0, 2.0]), np.array([3.0])), [3.0, 1.0, 2.0])
