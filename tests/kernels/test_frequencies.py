"""Kernels written down by their spectrum: laws, twins, text, quadrature of densities, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mercer
from mercer import Cosines, Exponential, Gaussian, Matern, SpectralMixture, from_spectral, parse
from mercer.errors import ClosureError, InputError
from mercer.kernels.base import Kernel
from mercer.testing import check_kernel

W = np.array([[1.0, -0.5], [0.3, 2.0], [0.0, 0.0]])
WEIGHTS = [0.5, 2.0, 1.5]
MIXTURE = SpectralMixture([1.0, 0.5], means=[[1.0, 2.0], [0.0, 0.3]], scales=[[0.5, 0.3], [1.0, 1.2]])


def cosines_twin(x: list[float], z: list[float]) -> float:
    """sum_j weight_j cos(<w_j, x - z>)."""
    return math.fsum(
        v * math.cos(sum(w * (a - b) for w, a, b in zip(f, x, z, strict=True))) for f, v in zip(W, WEIGHTS, strict=True)
    )


def mixture_twin(x: list[float], z: list[float]) -> float:
    """sum_q weight_q cos(<mean_q, x - z>) exp(-sum_k (scale_qk (x_k - z_k))^2 / 2)."""
    total = 0.0
    for v, mean, scale in zip(MIXTURE.weights, MIXTURE.means, MIXTURE.scales, strict=True):
        phase = sum(m * (a - b) for m, a, b in zip(mean, x, z, strict=True))
        square = sum((s * (a - b)) ** 2 for s, a, b in zip(scale, x, z, strict=True))
        total += v * math.cos(phase) * math.exp(-square / 2.0)
    return total


@pytest.mark.parametrize(
    ("kernel", "twin"), [(from_spectral(W, WEIGHTS), cosines_twin), (MIXTURE, mixture_twin)], ids=["cosines", "mixture"]
)
def test_all_laws_and_the_twin(kernel: Kernel, twin: mercer.testing.naive.Twin) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(7, 2))
    X[1], X[2] = X[0], X[0] * (1 + 1e-7)
    check_kernel(kernel, X, rng.normal(size=(5, 2)), twin=twin)
    check_kernel(2.0 * kernel + Gaussian() * kernel, X)
    assert kernel.certificate().status == "valid"
    assert parse(repr(kernel)) == kernel


def test_given_frequencies_have_a_finite_feature_map() -> None:
    kernel, X = from_spectral(W, WEIGHTS), np.random.default_rng(0).normal(size=(6, 2))
    Z = kernel.feature_map(X)
    assert Z.shape == (6, 6) and np.allclose(Z @ Z.T, kernel(X), atol=1e-14)


def test_far_rows_in_float32_keep_their_phase() -> None:
    X = (np.random.default_rng(0).normal(size=(6, 1)) + 1e5).astype(np.float32)
    exact = from_spectral([3.0], [1.0])(X.astype(np.float64))
    assert np.abs(from_spectral([3.0], [1.0])(X) - exact).max() < 1e-5


@pytest.mark.parametrize("kernel", [Gaussian(0.7), Matern(2.5, length_scale=1.3), 2.0 * Gaussian(3.0)], ids=str)
def test_a_density_gives_its_kernel(kernel: Kernel) -> None:
    X = np.linspace(-2.0, 2.0, 15).reshape(-1, 1)
    assert np.abs(from_spectral(density=kernel.spectral(1).density)(X) - kernel(X)).max() < 1e-5


def test_a_sampler_draws_once_with_a_seed() -> None:
    def sampler(n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.normal(size=(n, 2))

    kernel = from_spectral(sampler=sampler, n=4096)
    assert kernel == from_spectral(sampler=sampler, n=4096) != from_spectral(sampler=sampler, n=4096, random_state=1)
    X = np.random.default_rng(0).normal(size=(10, 2))
    assert np.abs(kernel(X) - Gaussian(1.0)(X)).max() < 0.06


def test_a_mixture_is_gaussians_times_cosines() -> None:
    X = np.random.default_rng(0).normal(size=(8, 2))
    parts = Gaussian((1.0, 2.0)) * from_spectral([[0.5, 1.5]], [3.0])
    assert np.allclose(SpectralMixture([3.0], means=[[0.5, 1.5]], scales=[[1.0, 0.5]])(X), parts(X), atol=1e-14)


def test_cosines_survive_a_file(tmp_path: object) -> None:
    model = mercer.KernelRidge(2.0 * from_spectral(W, WEIGHTS) + MIXTURE, alpha=0.1)
    X = np.random.default_rng(0).normal(size=(12, 2))
    model.fit(X, X[:, 0])
    path = f"{tmp_path}/m.mercer"
    mercer.save(model, path)
    assert mercer.load(path).kernel_ == model.kernel_


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: from_spectral(W, [1.0, -1.0, 1.0]), "weight 1 is -1"),
        (lambda: from_spectral(W, [1.0]), "3 frequencies need as many weights"),
        (lambda: from_spectral([[np.nan]], [1.0]), "finite"),
        (lambda: from_spectral([], []), "at least one"),
        (lambda: from_spectral(), "got none"),
        (lambda: from_spectral(W, WEIGHTS, density=np.cos), "frequencies and density"),
        (lambda: from_spectral(weights=[1.0], sampler=lambda n, rng: rng.normal(size=n)), "weights belong to frequencies"),
        (lambda: from_spectral(density=np.cos), "< 0"),
        (lambda: from_spectral(density=lambda w: np.full(len(w), np.nan)), "finite numbers"),
        (lambda: from_spectral(density=Exponential().spectral(1).density, n=64), "Raise n="),
        (lambda: SpectralMixture([-1.0], means=[0.0], scales=[1.0]), "weights must be"),
        (lambda: SpectralMixture([1.0], means=[0.0], scales=[0.0]), "scales must be > 0"),
        (lambda: SpectralMixture([1.0, 2.0], means=[0.0], scales=[1.0]), "2 weights need"),
        (lambda: from_spectral(W, WEIGHTS)(np.ones((2, 3))), "frequencies have 2 columns"),
        (lambda: MIXTURE(np.ones((2, 3))), "means have 2 columns"),
    ],
)
def test_refusals(make: object, words: str) -> None:
    with pytest.raises((InputError, ClosureError)) as error:
        make()
    assert words in str(error.value)


def test_frequencies_of_one_column_may_be_a_list() -> None:
    assert Cosines([1.0, 2.0], weights=[1.0, 1.0]) == Cosines([[1.0], [2.0]], weights=[1.0, 1.0])
