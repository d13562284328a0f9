"""Arguments that a kernel does not have: an error with the name of the argument here, as estimators give it."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import mercer as typed
from mercer.errors import ArgumentError, InputError

mercer: Any = typed  # the arguments are wrong on purpose


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mercer.Gaussian(gamma=0.5), r"Gaussian has no parameter 'gamma': Gaussian.from_gamma\(0.5\)"),
        (
            lambda: mercer.Gaussian(sigma=2.0),
            r"'sigma': it is length_scale here; write Gaussian\(length_scale\)",
        ),
        (lambda: mercer.Polynomial(2, coef0=1.0), "no parameter 'coef0': it is offset here"),
        (lambda: mercer.Laplacian(gamma=1.0), "no parameter 'gamma': length_scale is 1 / gamma"),
        (lambda: mercer.Matern(nu=1.5, lenght_scale=1.0), "it is length_scale here"),
        (lambda: mercer.Linear(wrong=1), r"Linear has no parameter 'wrong'; write Linear\(\)"),
        (lambda: mercer.Tanh(1, 1), r"Tanh takes 1 positional argument, got 2; write Tanh\(scale, offset=…\)"),
        (lambda: mercer.Linear(1), "takes 0 positional arguments, got 1"),
    ],
)
def test_an_unknown_argument_is_named_with_advice(make: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message) as caught:
        make()
    assert isinstance(caught.value, TypeError)


def test_kernels_are_copied_and_pickled_as_before() -> None:
    k = 2.0 * mercer.Gaussian(1.5) + mercer.Polynomial(2, offset=1.0).on(0)
    assert copy.deepcopy(k) == k and pickle.loads(pickle.dumps(k)) == k


def test_a_function_as_kernel_gets_advice() -> None:
    with pytest.raises(InputError, match=r"a function is not a kernel by itself; mercer.Function\(f\)"):
        mercer.SVC(lambda x, z: x @ z.T).fit(np.eye(4), [0, 1, 0, 1])


def test_the_type_of_a_numpy_scalar_is_not_shown() -> None:
    with pytest.raises(InputError, match=r"got 'a'\."):
        mercer.Gaussian(np.str_("a"))
    with pytest.raises(InputError, match=r"X holds str 'a' at row 0, column 0"):
        mercer.KernelRidge(mercer.Gaussian(1.0)).fit([["a"], ["b"]], [1.0, 2.0])


def test_cells_that_a_vector_kernel_cannot_take_are_named() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": np.arange(6.0), "c": list("abcabc")})
    for model in (mercer.KernelRidge(mercer.Gaussian(1.0)), mercer.SVC(mercer.Gaussian(1.0))):
        with pytest.raises(InputError, match=r"X: column 'c' holds str 'a', not numbers.*TableRegressor.*frame_kernel"):
            model.fit(frame, [0, 1, 0, 1, 0, 1])
        frame["d"] = [0.0, 1.0, np.nan, 0.0, 1.0, 2.0]
        with pytest.raises(InputError, match=r"X has NaN at row 2, column 'd'.*TableRegressor, TableClassifier") as caught:
            model.fit(frame[["x", "d"]], [0, 1, 0, 1, 0, 1])
        assert "HistGradientBoosting" not in str(caught.value)
    with pytest.raises(InputError, match="X has an infinite value at row 0, column 1"):
        mercer.KernelRidge(mercer.Gaussian(1.0)).fit([[1.0, np.inf], [1.0, 2.0]], [1.0, 2.0])
