"""Spectral measures: the Fourier identity in numbers, samplers against densities, composition, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

import mercer
from mercer import (
    Bilinear,
    Constant,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
    SpectralMixture,
    Spectrum,
)  # fmt: skip
from mercer.errors import CapabilityError, InputError
from mercer.kernels.base import Kernel
from mercer.kernels.spectral.composition import LinearImage

WITH_DENSITY: list[Kernel] = [
    Gaussian(0.7), Exponential(1.3), Matern(0.8, length_scale=0.9), Matern(2.5, length_scale=1.4), Matern(60.0),
    RationalQuadratic(0.9, shape=0.6), RationalQuadratic(1.2, shape=3.0), 2.0 * Gaussian(0.5) + Matern(1.5),
    Gaussian(0.5) * Gaussian(2.0), (3.0 * Matern(1.5)).normalized(), Gaussian(0.8).polynomial((0.0, 1.0, 0.5)),
]  # fmt: skip


def at(kernel: Kernel, step: np.ndarray) -> float:
    """k(step, 0)."""
    return float(kernel(step[None, :], np.zeros((1, len(step))))[0, 0])


#: Frequencies up to 1e4 in steps of 1/50: what lies above oscillates away for t > 0. Next to 0, where some densities have
#: a pole, in even steps of the logarithm.
GRID = np.concatenate([np.geomspace(1e-12, 1.0, 10_001)[:-1], np.linspace(1.0, 1e4, 500_000)])


@pytest.mark.parametrize("kernel", [*WITH_DENSITY, Laplacian(1.2), Laplacian(0.5) * Laplacian(2.0)], ids=str)
def test_the_fourier_identity_in_one_column(kernel: Kernel) -> None:
    """2 times the integral of density(w) cos(w t) over w > 0 is k(t), and that of the density alone is k(0)."""
    measure = kernel.spectral(1)
    density = measure.density(GRID)
    for t in (0.3, 1.7):
        value = 2.0 * integrate.simpson(density * np.cos(GRID * t), x=GRID)
        assert abs(value - at(kernel, np.array([t]))) < 2e-6
    mass = 2.0 * integrate.quad(lambda w: float(measure.density(np.array([w]))[0]), 0, np.inf, limit=400)[0]
    assert abs(mass - at(kernel, np.zeros(1))) < 2e-6


@pytest.mark.parametrize("kernel", WITH_DENSITY, ids=str)
def test_the_fourier_identity_in_three_columns(kernel: Kernel) -> None:
    """In three columns the integral of an isotropic density is one of 4 pi r sin(r t) / t over r > 0."""
    r = GRID[:110_000]
    points = np.zeros((len(r), 3))
    points[:, 1] = r
    density = kernel.spectral(3).density(points)
    for t in (0.4, 1.5):
        value = integrate.simpson(density * 4.0 * np.pi * r * np.sin(r * t) / t, x=r)
        assert abs(value - at(kernel, np.array([0.0, t, 0.0]))) < 1e-5


def test_the_fourier_identity_with_scales_and_columns_of_their_own() -> None:
    """A density in two columns on a grid: the trapezoidal rule has all digits for these smooth ones."""
    kernels = [
        Gaussian((0.5, 1.5)),
        Gaussian(0.8).on(1) * Gaussian(1.1).on(0),
        SpectralMixture([1.0, 0.5], means=[[2.0, -1.0], [0.0, 0.0]], scales=[[0.5, 0.8], [1.0, 1.3]]),
    ]
    w = np.linspace(-15.0, 15.0, 301)
    grid = np.stack(np.meshgrid(w, w, indexing="ij"), axis=-1).reshape(-1, 2)
    for kernel in kernels:
        density = kernel.spectral(2).density(grid)
        for step in np.array([[0.0, 0.0], [0.3, -0.7], [1.0, 0.4]]):
            assert abs(density @ np.cos(grid @ step) * 0.01 - at(kernel, step)) < 1e-9


SAMPLED: list[Kernel] = [
    *WITH_DENSITY, Laplacian(1.2), Periodic(0.8, period=2.0), Periodic((0.5, 1.0, 3.0), period=1.3), Constant(2.0),
    Matern(1.5, length_scale=(0.5, 1.0, 2.0)), Gaussian() * Matern(1.5) * Periodic(1.0, period=3.0),
    (Gaussian() + Laplacian()) ** 2, (0.5 * Gaussian()).exp(), Gaussian().on(0) * Matern(1.5).on(2, 1),
    2.0 * Gaussian().on(-1) + Laplacian().on(0, 1), mercer.from_spectral([[1.0, 0.0, 2.0], [0.3, 1.0, 0.0]], [2.0, 0.5]),
    SpectralMixture([1.0], means=[[1.0, 2.0, 0.0]], scales=[[1.0, 0.3, 0.5]]), Matern(1.5) ** 0, 0.0 * Gaussian(),
]  # fmt: skip


@pytest.mark.parametrize("kernel", SAMPLED, ids=str)
def test_the_mean_cosine_of_draws_is_the_kernel(kernel: Kernel) -> None:
    """Within 4.5 standard errors, whose variance is (k(0)^2 + k(0) k(2t)) / 2 - k(t)^2."""
    rng, m = np.random.default_rng(3), 40_000
    measure = kernel.spectral(3)
    w = measure.sample(rng.random((m, measure.n_uniforms)))
    assert w.shape == (m, 3) and np.isfinite(w).all()
    top = at(kernel, np.zeros(3))
    assert abs(measure.mass - top) < 1e-12 * max(1.0, top)
    for step in rng.normal(size=(20, 3)):
        variance = max(0.0, (top**2 + top * at(kernel, 2.0 * step)) / 2.0 - at(kernel, step) ** 2)
        error = measure.mass * np.cos(w @ step).mean() - at(kernel, step)
        assert abs(error) <= 4.5 * np.sqrt(variance / m) + 1e-12


@pytest.mark.parametrize("kernel", [Gaussian(0.7), Matern(2.5), Matern(0.6), RationalQuadratic(shape=0.7)], ids=str)
@pytest.mark.parametrize("d", [1, 2, 5])
def test_draws_have_the_density(kernel: Kernel, d: int) -> None:
    """The lengths of draws against the integral of the density over spheres, by the Kolmogorov-Smirnov test."""
    measure = kernel.spectral(d)
    lengths = np.linalg.norm(measure.sample(np.random.default_rng(0).random((4000, measure.n_uniforms))), axis=1)
    from scipy.special import gammaln

    r = np.geomspace(1e-6, 1e7, 200_001)
    sphere = np.exp(np.log(2.0) + d / 2 * np.log(np.pi) - gammaln(d / 2) + (d - 1) * np.log(r))
    points = np.zeros((len(r), d))
    points[:, 0] = r
    cumulative = integrate.cumulative_simpson(measure.density(points) * sphere * r, x=np.log(r), initial=0.0)
    assert abs(cumulative[-1] - 1.0) < 1e-3
    assert stats.kstest(lengths, lambda x: np.interp(x, r, cumulative)).pvalue > 1e-4


@pytest.mark.parametrize("kernel", [Gaussian(0.7), Matern(2.5), RationalQuadratic(shape=0.7), Exponential()], ids=str)
def test_lengths_of_orthogonal_draws_have_the_law_of_all_draws(kernel: Kernel) -> None:
    measure, rng = kernel.spectral(4), np.random.default_rng(1)
    further, scales = measure.radius() or (0, np.ones(4))
    w = measure.sample(rng.random((4000, measure.n_uniforms)))
    radii = measure.radii(rng.random((4000, 1 + further)))
    assert stats.ks_2samp(np.linalg.norm(w / scales, axis=1), radii).pvalue > 1e-4


@pytest.mark.parametrize(
    "kernel",
    [Gaussian(0.7), Matern(2.5), RationalQuadratic(0.8, shape=0.7), Gaussian() + Matern(3.5), Gaussian() * Matern(2.5),
     Periodic(0.7, period=3.0), Gaussian().on(1)],
    ids=str,
)  # fmt: skip
def test_second_moments_are_the_curvature_at_zero(kernel: Kernel) -> None:
    h, measure = 1e-3, kernel.spectral(2)
    for k in range(2):
        step = h * np.eye(2)[k]
        curvature = 2.0 * (at(kernel, np.zeros(2)) - at(kernel, step)) / h**2
        assert abs(measure.mass * measure.covariance()[k, k] - curvature) < 3e-4 * max(1.0, abs(curvature))


@pytest.mark.parametrize("kernel", [Exponential(), Laplacian(), Matern(1.0), Gaussian() + Laplacian()], ids=str)
def test_a_kink_at_zero_has_no_second_moment(kernel: Kernel) -> None:
    assert kernel.spectral(2).second_moment == np.inf


def test_a_linear_map_moves_the_measure() -> None:
    S = np.array([[1.0, 2.0, 0.0], [0.0, 0.5, -1.0]])
    measure = LinearImage(Matern(2.5).spectral(2), S)
    w = measure.sample(np.random.default_rng(0).random((60_000, measure.n_uniforms)))
    for step in np.random.default_rng(1).normal(size=(10, 3)):
        assert abs(np.cos(w @ step).mean() - at(Matern(2.5), S @ step)) < 0.02
    assert not measure.has_density
    square = LinearImage(Gaussian().spectral(2), np.array([[2.0, 1.0], [0.0, 1.0]]))
    assert np.isclose(square.density([[0.3, 0.2]])[0], Gaussian().spectral(2).density([[0.15, 0.05]])[0] / 2.0)


@pytest.mark.parametrize(
    ("kernel", "term"),
    [(Linear(), "Linear()"), (Gaussian() + Polynomial(2), "Polynomial("), (Gaussian() * Bilinear(np.eye(2)), "Bilinear("),
     (2.0 * Gaussian().map(np.tanh), "map("), (Gaussian().on("a"), "names its columns")],
    ids=str,
)  # fmt: skip
def test_a_kernel_without_a_measure_names_the_term(kernel: Kernel, term: str) -> None:
    with pytest.raises(CapabilityError) as error:
        kernel.spectral(2)
    assert term in str(error.value) and "Nystroem" in str(error.value)


def test_other_refusals() -> None:
    with pytest.raises(CapabilityError, match="Spectrum"):
        Spectrum(3).spectral(2)
    with pytest.raises(InputError, match="median"):
        Gaussian("median").spectral(2)
    with pytest.raises(InputError, match="3 columns; got width=2"):
        Gaussian((1.0, 2.0, 3.0)).spectral(2)
    with pytest.raises(InputError, match="no such column"):
        Gaussian().on(5).spectral(2)
    with pytest.raises(CapabilityError, match="no density"):
        Periodic().spectral(2).density([[0.0, 0.0]])
    with pytest.raises(CapabilityError, match="no density"):
        (Gaussian() * Matern(1.5)).spectral(2).density([[0.0, 0.0]])


def test_extreme_parameters_stay_finite() -> None:
    for kernel in (
        Matern(1e-3),
        Matern(500.0),
        RationalQuadratic(shape=1e-3),
        Periodic(1e-5),
        Periodic(1e3),
        Gaussian(1e-140),
    ):
        measure = kernel.spectral(3)
        w = measure.sample(np.random.default_rng(0).random((1000, measure.n_uniforms)))
        assert np.isfinite(w).all()
