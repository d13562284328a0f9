"""Draws: all kinds converge to the kernel, shares of sums, accuracy against independent draws, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import Constant, Gaussian, Laplacian, Matern, Periodic, RationalQuadratic
from mercer.errors import CapabilityError, InputError
from mercer.kernels.base import Kernel
from mercer.kernels.spectral.fourier_map import draw


def rms_error(kernel: Kernel, d: int, m: int, kind: str, seed: int) -> float:
    """The root mean square error of m frequencies on 200 random steps of moderate length."""
    rng = np.random.default_rng(seed)
    steps = rng.normal(size=(200, d)) / np.sqrt(d)
    found = draw(kernel.spectral(d), m, kind, rng)
    exact = kernel(steps, np.zeros((1, d)))[:, 0]
    return float(np.sqrt(np.mean((np.cos(steps @ found.frequencies.T) @ found.weights - exact) ** 2)))


@pytest.mark.parametrize("kind", ["plain", "sobol", "orthogonal", "auto"])
@pytest.mark.parametrize("d", [1, 3, 20])
@pytest.mark.parametrize(
    "kernel", [Gaussian(0.7), Matern(1.5), RationalQuadratic(shape=0.8), 2.0 * Gaussian() + Constant(1.0)], ids=str
)
def test_the_error_falls_with_the_number_of_frequencies(kernel: Kernel, d: int, kind: str) -> None:
    m, top = 16_384, float(kernel.diag(np.zeros((1, d)))[0])
    assert rms_error(kernel, d, m, kind, 0) < 3.0 * top / np.sqrt(2 * m)


@pytest.mark.parametrize(("d", "gain"), [(1, 5.0), (2, 4.0), (4, 2.5), (8, 1.8), (16, 1.2), (40, 1.2)])
def test_default_draws_are_more_accurate_than_independent_ones(d: int, gain: float) -> None:
    """In the mean over seeds; the square of the gain is the factor in the number of features."""
    kernel = Gaussian(1.0)
    ours = np.mean([rms_error(kernel, d, 1024, "auto", seed) ** 2 for seed in range(8)]) ** 0.5
    plain = np.mean([rms_error(kernel, d, 1024, "plain", seed) ** 2 for seed in range(8)]) ** 0.5
    assert plain / ours > gain


def test_orthogonal_frequencies_are_orthogonal() -> None:
    found = draw(Gaussian(2.0).spectral(15), 30, "orthogonal", np.random.default_rng(0))
    for block in (found.frequencies[:15], found.frequencies[15:]):
        gram = block @ block.T
        assert np.abs(gram - np.diag(np.diagonal(gram))).max() < 1e-12 * gram.max()


def test_terms_of_a_sum_get_their_share_and_constants_one_frequency() -> None:
    kernel = 3.0 * Gaussian() + 1.0 * Laplacian() + Constant(5.0)
    found = draw(kernel.spectral(2), 44, "auto", np.random.default_rng(0))
    zero = ~found.frequencies.any(axis=1)
    assert zero.sum() == 1 and found.weights[zero] == 5.0
    assert np.isclose(found.weights.sum(), 9.0)
    values, counts = np.unique(found.weights[~zero], return_counts=True)
    assert counts.sum() == 43 and np.allclose(sorted(values * counts), [1.0, 3.0])
    assert abs(counts.max() - 32) <= 1


@pytest.mark.parametrize("m", [1, 2, 3, 10])
@pytest.mark.parametrize(
    "kernel", [Gaussian(), Constant(2.0), Gaussian() + Laplacian() + Matern(1.5) + Constant(1.0), 0.0 * Gaussian()], ids=str
)
@pytest.mark.parametrize("kind", ["auto", "plain"])
def test_few_frequencies(kernel: Kernel, m: int, kind: str) -> None:
    found = draw(kernel.spectral(3), m, kind, np.random.default_rng(0))
    assert found.frequencies.shape == (m, 3) and np.isclose(found.weights.sum(), kernel.diag(np.zeros((1, 3)))[0])


def test_few_frequencies_are_unbiased() -> None:
    """Fewer frequencies than terms: the mean over many draws is still the kernel."""
    kernel, step = Gaussian() + Laplacian() + 2.0 * Matern(1.5), np.array([[0.5, -0.3]])
    rng = np.random.default_rng(0)
    values = []
    for _ in range(1500):
        found = draw(kernel.spectral(2), 2, "auto", rng)
        values.append((np.cos(step @ found.frequencies.T) @ found.weights)[0])
    assert abs(np.mean(values) - kernel(step, np.zeros((1, 2)))[0, 0]) < 4.5 * np.std(values) / np.sqrt(len(values))


def test_structured_draws_have_one_length() -> None:
    found = draw(Gaussian(2.0).spectral(16), 64, "structured", np.random.default_rng(0))
    assert np.allclose(np.linalg.norm(found.frequencies, axis=1), 4.0 / 2.0)


@pytest.mark.parametrize("kernel", [Laplacian(), Periodic(), Gaussian() * Matern(1.5)], ids=str)
@pytest.mark.parametrize("kind", ["orthogonal", "structured"])
def test_directions_need_an_isotropic_measure(kernel: Kernel, kind: str) -> None:
    with pytest.raises(CapabilityError, match="isotropic"):
        draw(kernel.spectral(3), 10, kind, np.random.default_rng(0))


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(InputError, match="draws must be one of"):
        draw(Gaussian().spectral(3), 10, "random", np.random.default_rng(0))


def test_the_same_seed_gives_the_same_draws() -> None:
    for kind in ("auto", "plain", "orthogonal", "structured"):
        a, b = (draw(Matern(1.5).spectral(4), 50, kind, np.random.default_rng(7)) for _ in range(2))
        assert np.array_equal(a.frequencies, b.frequencies)
