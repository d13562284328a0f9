"""Kernels that promise k(x, x) = 1 keep the promise: their diagonal is not looked at before a product."""

from __future__ import annotations

import numpy as np
import pytest

import mercer

STATIONARY = ["Gaussian", "Laplacian", "Exponential", "Matern", "RationalQuadratic", "Periodic", "PowerExponential"]


@pytest.mark.parametrize("name", STATIONARY)
def test_the_diagonal_is_one_at_every_scale(name):
    kernel = (mercer.Matern(1.5) if name == "Matern" else getattr(mercer, name)()).set_params(length_scale=0.7)
    assert kernel._unit
    for size in (1e-150, 1.0, 1e100):
        X = size * np.random.default_rng(0).normal(size=(5, 2))
        np.testing.assert_array_equal(kernel.diag(X), np.ones(5))
        np.testing.assert_allclose(np.diagonal(kernel(X)), np.ones(5), rtol=1e-12)


def test_others_do_not_promise_it():
    for kernel in (mercer.Linear(), 2.0 * mercer.Gaussian(), mercer.Gaussian() + mercer.Gaussian(), mercer.Polynomial(2)):
        assert not kernel._unit
