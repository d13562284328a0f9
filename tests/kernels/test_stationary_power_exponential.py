"""PowerExponential: its limits, slopes against differences, gradients, bounds, proofs, spectral draws."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import Exponential, Gaussian, Laplacian, PowerExponential
from mercer.errors import InputError
from mercer.testing import check_kernel, naive

FAMILY = [(2.0, 1.0), (1.0, 1.0), (2.0, 2.0), (1.5, 1.2), (1.0, 0.6), (2.0, 1.4), (0.7, 0.7)]


def rows(n: int = 25, d: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, d))


@pytest.mark.parametrize("scale", [1.3, (1.0, 2.0, 0.5)])
def test_members_of_the_family_are_the_named_kernels(scale: float | tuple[float, ...]) -> None:
    X, Z = rows(), rows(12, seed=1)
    member = PowerExponential(1.0, power=1.0, length_scale=scale)
    assert np.allclose(member(X, Z), Laplacian(scale)(X, Z), rtol=0, atol=1e-14)
    member = PowerExponential(2.0, power=1.0, length_scale=scale)
    assert np.allclose(member(X, Z), Exponential(scale)(X, Z), rtol=0, atol=1e-14)
    wider = tuple(np.array(scale) / 2**0.5) if isinstance(scale, tuple) else scale / 2**0.5
    assert np.allclose(PowerExponential(2.0, power=2.0, length_scale=scale)(X, Z), Gaussian(wider)(X, Z), rtol=0, atol=1e-14)


@pytest.mark.parametrize(("norm", "power"), FAMILY)
def test_laws_and_twin(norm: float, power: float) -> None:
    for scale in (0.9, (1.0, 2.0, 0.5)):
        kernel = PowerExponential(norm, power=power, length_scale=scale)
        twin = lambda x, z, s=scale: naive.power_exponential(x, z, norm, power, s)  # noqa: E731
        check_kernel(kernel, rows(8), rows(5, seed=2), twin=twin)


@pytest.mark.parametrize(("norm", "power"), FAMILY)
@pytest.mark.parametrize("mapped", [False, True])
def test_slopes_in_x_are_differences(norm: float, power: float, mapped: bool) -> None:
    rng = np.random.default_rng(3)
    X, Z, coef = rows(6), rows(9, seed=4), rng.standard_normal(9)
    kernel = PowerExponential(norm, power=power, length_scale=1.2)
    kernel = kernel.linear(rng.standard_normal((2, 3))) if mapped else kernel  # type: ignore[assignment]
    slopes = kernel.input_slopes(X, Z, coef)
    step = 1e-6
    for k in range(3):
        move = step * np.eye(3)[k]
        difference = (kernel(X + move, Z) - kernel(X - move, Z)) @ coef / (2 * step)
        assert np.abs(slopes[:, k] - difference).max() < 2e-5 * max(1.0, np.abs(slopes).max())


def test_slopes_leave_out_pairs_at_distance_zero() -> None:
    X = rows(7)
    for norm, power in FAMILY:
        kernel = PowerExponential(norm, power=power)
        whole = kernel.input_slopes(X, X, np.ones(7))
        for i in range(7):
            others = np.delete(X, i, axis=0)
            assert np.allclose(whole[i], kernel.input_slopes(X[[i]], others, np.ones(6))[0], atol=1e-12)


@pytest.mark.parametrize(("norm", "power"), [(2.0, 2.1), (2.5, 1.0), (1.0, 1.5)])
def test_outside_the_family_is_refused(norm: float, power: float) -> None:
    with pytest.raises(InputError, match="0 < power <= norm <= 2"):
        PowerExponential(norm, power=power)


def test_a_power_above_the_norm_would_be_no_kernel() -> None:
    # the reason for the bounds: exp(-||x - z||_1^2) has a negative eigenvalue in the plane
    grid = np.array([[a, b] for a in np.linspace(-1.0, 1.0, 5) for b in np.linspace(-1.0, 1.0, 5)])
    distances = np.abs(grid[:, None, :] - grid[None, :, :]).sum(axis=2)
    assert np.linalg.eigvalsh(np.exp(-(distances**2)))[0] < -1e-3


def test_median_length_scale_and_text() -> None:
    from mercer import parse

    kernel = PowerExponential(1.0, power=0.7, length_scale="median")
    assert parse(repr(kernel)) == kernel
    resolved = kernel.resolve(rows())
    assert resolved == PowerExponential(1.0, power=0.7, length_scale=Laplacian("median").resolve(rows()).length_scale)  # type: ignore[attr-defined]


def test_other_kernels_say_that_they_have_no_slopes() -> None:
    with pytest.raises(InputError, match="gradient in x"):
        Gaussian(1.0).input_slopes(rows(), rows(), np.ones(25))


@pytest.mark.parametrize(("norm", "power"), FAMILY)
@pytest.mark.parametrize("scale", [1.7, (1.0, 2.0, 0.5)])
def test_frequencies_have_the_kernel_for_their_mean_cosine(norm: float, power: float, scale: float) -> None:
    kernel = PowerExponential(norm, power=power, length_scale=scale)
    measure = kernel.spectral(3)
    n = 40_000
    w = measure.sample(np.random.default_rng(0).random((n, measure.n_uniforms)))
    steps = np.array([[0.3, -0.2, 0.1], [1.0, 0.5, -0.7], [0.0, 2.0, 0.0]])
    means = np.cos(steps @ w.T).mean(axis=1)
    # a mean of n cosines has a standard deviation of at most 1 / sqrt(2 n) (1 - k^2 ...): five of them
    assert np.abs(means - kernel(steps, np.zeros((1, 3)))[:, 0]).max() < 5.0 / np.sqrt(2.0 * n)
