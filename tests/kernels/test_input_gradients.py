"""Gradients of k(y, x) in y against differences, for every node that has a rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mercer
from mercer.errors import CapabilityError
from mercer.inputs import Rows
from mercer.kernels.evaluation import Pair
from mercer.kernels.input_gradients import diagonal_gradient, differentiable, input_gradient

KERNELS = [
    mercer.Gaussian(0.8),
    mercer.Gaussian([0.5, 1.0, 2.0]),
    mercer.Exponential(1.5),
    mercer.Matern(nu=1.5, length_scale=0.7),
    mercer.Matern(nu=2.5, length_scale=[1.0, 2.0, 3.0]),
    mercer.Matern(nu=1.2),
    mercer.RationalQuadratic(1.2, shape=0.7),
    mercer.Linear(),
    mercer.Polynomial(3, offset=0.5),
    2.5 * mercer.Gaussian(1.0) + mercer.Linear() + 1.0,
    mercer.Gaussian(1.0) * mercer.Polynomial(2) * mercer.Matern(nu=2.5),
    (0.3 * mercer.Linear()).exp(),
    mercer.Gaussian(1.0) ** 3,
    mercer.Linear().polynomial([1.0, 0.5, 0.2]),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_gradients_are_those_of_differences(kernel: Any) -> None:
    rng = np.random.default_rng(0)
    Y, X, h = rng.normal(size=(4, 3)), rng.normal(size=(5, 3)), 1e-6
    pair = Pair.whole(kernel._encode(Rows(Y)), kernel._encode(Rows(X)))
    P, Q = input_gradient(kernel, pair)
    R = np.broadcast_to(diagonal_gradient(kernel, pair.A), 4)
    scales = [node.length_scale for node in kernel.walk() if isinstance(getattr(node, "length_scale", None), tuple)]
    M = np.array(scales[0]) ** -2.0 if scales else np.ones(3)
    own = M * (R[:, None] * Y)
    planes = M * (P[:, :, None] * X[None] + Q[:, :, None] * Y[:, None])
    for k in range(3):
        step = h * np.eye(3)[k]
        np.testing.assert_allclose(planes[:, :, k], (kernel(Y + step, X) - kernel(Y - step, X)) / (2 * h), atol=1e-5)
        np.testing.assert_allclose(own[:, k], (kernel.diag(Y + step) - kernel.diag(Y - step)) / (2 * h), atol=1e-4)


@pytest.mark.parametrize(
    "kernel",
    [
        mercer.Laplacian(1.0),
        mercer.Periodic(1.0),
        mercer.Tanh(1.0),
        mercer.Gaussian(1.0) + mercer.Laplacian(1.0),
        mercer.Gaussian([1.0, 2.0]) + mercer.Linear(),  # two metrics: no common M
        mercer.Gaussian(1.0).on(0),
        mercer.Spectrum(p=2),
    ],
    ids=str,
)
def test_kernels_without_a_rule_say_so(kernel: Any) -> None:
    assert not differentiable(kernel)
    if kernel._views() == {"vectors"}:
        X = np.random.default_rng(0).normal(size=(3, 2))
        with pytest.raises(CapabilityError, match="no gradient"):
            input_gradient(kernel, Pair.whole(kernel._encode(Rows(X)), kernel._encode(Rows(X))))
