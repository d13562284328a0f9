"""Equispaced Fourier features: the kernel within the stated error, the Toeplitz product against the dense matrix."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import Constant, Gaussian, Laplacian, Linear, Matern, Periodic, SpectralMixture
from mercer.errors import CapabilityError, MissingExtraError
from mercer.grams import fourier_grid
from mercer.grams.fourier_grid import FourierGrid, ToeplitzSystem, grid_for, has_grid
from mercer.kernels.base import Kernel

pytest.importorskip("finufft")

CASES: list[tuple[Kernel, int]] = [
    (Gaussian(0.5), 1), (Matern(1.5, length_scale=0.5), 1), (Gaussian(0.5), 2), (Gaussian((0.4, 1.5)), 2),
    (2.0 * Gaussian(0.6) + Gaussian(0.3), 2), (Gaussian(1.0), 3), (Gaussian(0.7).on(0) * Gaussian(0.4).on(1), 2),
    (SpectralMixture([1.0], means=[[4.0]], scales=[[1.5]]), 1),
]  # fmt: skip


def dense(grid: FourierGrid, X: np.ndarray) -> np.ndarray:
    """Phi, row by row."""
    axes = [h * np.arange(-m, m + 1) for h, m in zip(grid.spacing, grid.halves, strict=True)]
    J = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, X.shape[1])
    return np.asarray(np.exp(2j * np.pi * (X - grid.center) @ J.T) * grid.weights)


@pytest.mark.parametrize(("kernel", "d"), CASES, ids=str)
def test_the_kernel_within_the_stated_error(kernel: Kernel, d: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(60, d)) + 1e3
    [grid] = grid_for([kernel], X.min(axis=0), X.max(axis=0))
    Phi = dense(grid, X)
    top = float(kernel.diag(X[:1])[0])
    assert grid.missed <= 1.01e-5 * top
    assert np.abs((Phi @ Phi.conj().T).real - kernel(X)).max() < (2.0 * grid.missed + 4e-6 * top)
    w = rng.random(60)
    system = ToeplitzSystem(grid.adjoint(X, w[None], doubled=True)[0], grid)
    v = Phi.conj().T @ rng.normal(size=60)  # the weights of a real function
    exact = Phi.conj().T @ (w * (Phi @ v))
    packed = grid.pack(v[None])
    assert np.allclose(grid.unpack(packed)[0], v) and np.isclose(packed[:, 0] @ packed[:, 0], np.vdot(v, v).real)
    found = grid.unpack(system @ packed)[0]
    assert np.abs(found - exact).max() < 1e-7 * np.abs(exact).max()
    diagonal = np.einsum("ij,i,ij->j", Phi.conj(), w, Phi).real.reshape(grid.shape)[..., grid.halves[-1] :]
    assert np.allclose(system.diag(), np.tile(diagonal.ravel(), 2), rtol=1e-6)
    signs = grid.signs(3, 0)
    assert np.allclose(np.abs(grid.unpack(signs)), 1.0) and np.allclose(np.sum(signs**2, axis=0), len(grid.weights))
    assert np.abs(grid.values(X, (grid.weights * v)[None])[:, 0] - (Phi @ v).real).max() < 1e-6 * np.abs(Phi @ v).max()
    y = rng.normal(size=(2, 60))
    assert np.abs(grid.weights * grid.adjoint(X, y).reshape(2, -1) - y @ Phi.conj()).max() < 1e-6


def test_kernels_on_one_grid_share_the_frequencies() -> None:
    low, high = np.zeros(2), np.ones(2)
    a, b = grid_for([Gaussian(0.2), Gaussian(0.5)], low, high)
    assert np.array_equal(a.halves, b.halves) and np.array_equal(a.spacing, b.spacing)
    assert max(a.missed, b.missed) < 1.01e-5
    assert not np.array_equal(a.weights, b.weights)


def test_rough_kernels_stop_at_the_largest_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fourier_grid, "MOST_FREQUENCIES", 2000)
    [grid] = grid_for([Laplacian(0.1)], np.zeros(2), np.ones(2))
    assert len(grid.weights) <= 2000 and grid.missed > 1e-3


def test_which_kernels_have_a_grid() -> None:
    assert has_grid(Gaussian(), 3) and not has_grid(Gaussian(), 4)
    assert not any(
        has_grid(kernel, 2) for kernel in (Linear(), Periodic(), Gaussian() + Constant(1.0), Gaussian() * Matern(1.5))
    )
    with pytest.raises(CapabilityError, match="does not decay"):
        grid_for([Gaussian(1e7)], np.zeros(1), np.ones(1))


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "finufft", None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[large\]"):
        grid_for([Gaussian()], np.zeros(1), np.ones(1))
