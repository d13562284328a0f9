"""Equispaced Fourier features of a stationary kernel in one to three columns, with the non-uniform fast Fourier transform.

On a box of side B the kernel is k(x - z) = sum_j weight_j^2 e^(2 pi i h j'(x - z)) with weight_j^2 = h^d times the spectral
density at 2 pi h j, for frequencies j in {-m … m}^d and a spacing h below 1 / (B + the reach of k). Sums over the rows are
one transform each, and Phi*Phi is a Toeplitz matrix, given by one transform of ones: a fit takes n log n operations. Another
length scale or penalty on the same grid costs nothing that depends on n (Greengard, Rachh and Barnett 2022).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np
import scipy.linalg as la
from scipy import fft

from mercer.arrays import Array
from mercer.errors import CapabilityError, InputError, MissingExtraError, install_command
from mercer.inputs import is_frame
from mercer.kernels.base import Kernel
from mercer.kernels.spectral.measures import Measure
from mercer.linalg.cholesky import definite_factor
from mercer.linalg.log_determinant import random_traces
from mercer.registry import record

#: Largest number of columns for which a grid of frequencies is smaller than the data.
MOST_COLUMNS = 3

#: The grid is refined until its error is FINE of k(0) if it has few frequencies, otherwise ACCURACY, but has no more than
#: MOST_FREQUENCIES. The period exceeds the box by the distance at which k falls below REACH of k(0).
#: Row: terrain-fourier.
ACCURACY, FINE, REACH = 1e-5, 1e-7, 1e-6
FEW_FREQUENCIES, MOST_FREQUENCIES = 10_000, 600_000

#: D T D is factored if at most this many frequencies are relevant; all others together add less than NEGLIGIBLE to log det.
DENSE, NEGLIGIBLE = 1500, 1e-4

#: Number of random vectors; small grids use more, up to SIGNS entries in total.
MOST_PROBES, SIGNS = 64, 400_000

#: Relative accuracy of the transform.
TRANSFORM = 1e-9


@record()
@dataclass(frozen=True)
class FourierGrid:
    """Frequencies 2 pi h j on a grid, with their weights under a kernel."""

    _stored: ClassVar[dict[str, str]] = {
        "center": "float (d,)",
        "spacing": "float (d,) > 0",
        "halves": "int (d,) >= 0",
        "weights": "float (_,)",
    }

    center: Array  # (d,) the middle of the box
    spacing: Array  # (d,) h
    halves: Array  # (d,) m
    weights: Array  # (M,) in C order of the grid
    missed: float  # k(0) - sum weights^2: the error at lag zero, the largest over all lags

    def __post_init__(self) -> None:
        if len(self.weights) != math.prod(self.shape):
            raise InputError(f"a grid of shape {self.shape} has {len(self.weights)} weights.")

    @property
    def shape(self) -> tuple[int, ...]:
        """Frequencies per column, 2 m + 1."""
        return tuple((2 * self.halves + 1).tolist())

    def adjoint(self, X: Array, strengths: Array, *, doubled: bool = False) -> Array:  # (n, d), (t, n) -> (t, *grid)
        """Return sum_i strengths_i e^(-2 pi i h j'x_i) for every j of the grid, or of the grid of differences j - j'."""
        shape = tuple((4 * self.halves + 1).tolist()) if doubled else self.shape
        transform = _transforms(X.shape[1])[0]
        values = np.ascontiguousarray(strengths.astype(np.complex128))
        found = transform(*self._angles(X), values, shape, eps=TRANSFORM, isign=-1)
        return np.asarray(found).reshape(len(strengths), *shape)

    def values(self, X: Array, coefficients: Array) -> Array:  # (n, d), (t, M) -> (n, t)
        """Return the real part of sum_j coefficients_j e^(2 pi i h j'x)."""
        transform = _transforms(X.shape[1])[1]
        grid = np.ascontiguousarray(coefficients.reshape(-1, *self.shape).astype(np.complex128))
        found = np.asarray(transform(*self._angles(X), grid, eps=TRANSFORM, isign=1))
        return found.reshape(len(grid), -1).real.T.copy()

    @property
    def half_shape(self) -> tuple[int, ...]:
        """The grid without negative frequencies of the last column."""
        return (*self.shape[:-1], int(self.halves[-1]) + 1)

    @property
    def counts(self) -> Array:  # -> (m + 1,)
        """Number of frequencies of the whole grid per frequency of the half grid: 2, or 1 on the edge."""
        return np.where(np.arange(int(self.halves[-1]) + 1) == 0, 1.0, 2.0)

    @cached_property
    def half_weights(self) -> Array:
        """The weights of the half grid."""
        return np.ascontiguousarray(self.weights.reshape(self.shape)[..., int(self.halves[-1]) :])

    @property
    def n_packed(self) -> int:
        """The length of a packed vector."""
        return 2 * math.prod(self.half_shape)

    def pack(self, values: Array) -> Array:  # (t, M) complex -> (p, t)
        """Return weights v with v_-j = conj(v_j) as real columns with the same inner products."""
        half = values.reshape(-1, *self.shape)[..., int(self.halves[-1]) :] * np.sqrt(self.counts)
        flat = half.reshape(len(values), -1)
        return np.concatenate([flat.real, flat.imag], axis=1).T.copy()

    def unpack(self, columns: Array) -> Array:  # (p, t) -> (t, M) complex
        """The inverse of `pack`."""
        first, second = columns.T.reshape(-1, 2, *self.half_shape).swapaxes(0, 1)
        half = (first + 1j * second) / np.sqrt(self.counts)
        axes = tuple(range(1, half.ndim))
        whole = np.concatenate([np.flip(half[..., 1:].conj(), axes), half], axis=-1)
        return whole.reshape(len(half), -1)

    def mirrored(self, half: Array) -> Array:  # -> (M,)
        """Return values on the whole grid from those on the half grid, for values that are equal at j and -j."""
        half = half.reshape(self.half_shape)
        return np.concatenate([np.flip(half[..., 1:]), half], axis=-1).ravel()

    def signs(self, count: int, seed: int) -> Array:  # -> (p, count)
        """Return random packed vectors with independent weights of modulus one, for traces."""
        g = np.random.default_rng(seed).choice([-1.0, 1.0], size=(count, *self.shape))
        mirrored = np.flip(g, tuple(range(1, g.ndim)))
        return self.pack(((g + mirrored) / 2.0 + 1j * (g - mirrored) / 2.0).reshape(count, -1))

    def features(self, X: Array) -> Array:  # (n, d) -> (n, M)
        """Return Phi as an array, for few rows."""
        axes = [2.0 * np.pi * h * np.arange(-m, m + 1) for h, m in zip(self.spacing, self.halves.tolist(), strict=True)]
        waves = [np.exp(1j * np.multiply.outer(x, w)) for x, w in zip((X - self.center).T, axes, strict=True)]
        out = waves[0]
        for wave in waves[1:]:
            out = (out[:, :, None] * wave[:, None, :]).reshape(len(out), -1)
        return out * self.weights

    def _angles(self, X: Array) -> list[Array]:
        theta = 2.0 * np.pi * self.spacing * (np.asarray(X, dtype=np.float64) - self.center)
        if not np.isfinite(theta).all():  # the transform would read memory out of bounds
            raise InputError(f"values up to {np.abs(X).max():.1e} overflow in units of the grid; scale the columns.")
        return [np.ascontiguousarray(column) for column in theta.T]


class ToeplitzSystem:
    """D T D on packed vectors, with T_jk = sum_i w_i e^(-2 pi i h (j - k)'x_i).

    Real functions have weights with v_-j = conj(v_j): half of the weights determine the others, and the transform is real.
    """

    def __init__(self, generator: Array, grid: FourierGrid) -> None:  # (4 m + 1, …)
        self.grid, self.generator = grid, generator
        self._padded = tuple(fft.next_fast_len(size, real=True) for size in generator.shape)
        half = generator[..., 2 * int(grid.halves[-1]) :]
        # a sequence with v_-j = conj(v_j) holds the Fourier coefficients of a real function
        self._spectrum = fft.irfftn(self._spread(half, 2 * grid.halves), self._padded, norm="forward", workers=-1)
        self.shape = (grid.n_packed, grid.n_packed)
        self.total = float(generator[tuple((2 * grid.halves).tolist())].real)

    def with_grid(self, grid: FourierGrid) -> ToeplitzSystem:
        """Return the system of the same rows with the weights of another kernel on the same frequencies."""
        other = object.__new__(ToeplitzSystem)
        other.__dict__.update(self.__dict__)
        other.grid = grid
        return other

    def without(self, part: ToeplitzSystem) -> ToeplitzSystem:
        """Return this system minus the rows of another system."""
        return ToeplitzSystem(self.generator - part.generator, self.grid)

    def dense(self, index: Array) -> Array:  # (a,) -> (a, a)
        """D T D between some frequencies, complex."""
        numbers, w = np.stack(np.unravel_index(index, self.grid.shape), axis=-1), self.grid.weights[index]
        steps = numbers[:, None] - numbers[None] + 2 * self.grid.halves
        return np.asarray(self.generator[tuple(np.moveaxis(steps, -1, 0))] * np.outer(w, w))

    def diag(self) -> Array:  # -> (p,)
        """The diagonal."""
        return np.tile(self.total * self.grid.half_weights.ravel() ** 2, 2)

    def __matmul__(self, vectors: Array) -> Array:  # (p, t) -> (p, t)
        out = np.empty_like(vectors)
        for column in range(vectors.shape[1]):
            out[:, column] = self._product(vectors[:, column])
        return out

    def _product(self, v: Array) -> Array:  # (p,) -> (p,)
        grid = self.grid
        root = np.sqrt(grid.counts)
        first, second = v.reshape(2, *grid.half_shape)
        spread = fft.irfftn(
            self._spread(grid.half_weights / root * (first + 1j * second), grid.halves), self._padded, workers=-1
        )
        spread *= self._spectrum
        back = fft.rfftn(spread, workers=-1, overwrite_x=True)[self._places(grid.halves)] * (grid.half_weights * root)
        return np.concatenate([back.real.ravel(), back.imag.ravel()])

    def _spread(self, half: Array, halves: Array) -> Array:
        """Return coefficients of indices -m … m (the last one 0 … m) at their places in a transform of the padded size."""
        out = np.zeros((*self._padded[:-1], self._padded[-1] // 2 + 1), np.complex128)
        out[self._places(halves)] = half
        return out

    def _places(self, halves: Array) -> tuple[Array, ...]:
        leading = [np.arange(-m, m + 1) for m in halves[:-1].tolist()]
        return np.ix_(*leading, np.arange(int(halves[-1]) + 1))


@dataclass(frozen=True)
class GridFactor:
    """Cholesky factor of D T D + shift I on the relevant frequencies; on all others the matrix is taken as shift I."""

    index: Array  # (a,) frequencies
    L: Array  # (a, a) complex, lower
    size: int
    shift: float

    @staticmethod
    def matter(system: ToeplitzSystem, shift: float) -> Array | None:  # -> (a,)
        """Return the relevant frequencies, or None if there are too many."""
        s = system.total * system.grid.weights**2 / shift  # upper bound of the contribution of a frequency to log det
        order = np.argsort(s)
        index = np.sort(order[np.searchsorted(np.cumsum(s[order]), NEGLIGIBLE) :])
        return index if len(index) <= DENSE else None

    @classmethod
    def of(cls, system: ToeplitzSystem, shift: float) -> GridFactor | None:
        """Return the factor, or None if too many frequencies are relevant."""
        index = cls.matter(system, shift)
        if index is None:
            return None
        A = system.dense(index)
        A[np.diag_indices_from(A)] += shift
        return cls(index, definite_factor(A), len(system.grid.weights), shift)

    def solve(self, B: Array) -> Array:  # (t, M) -> (t, M)
        """Return (D T D + shift I)^-1 applied to every row."""
        out = np.asarray(B, dtype=np.complex128) / self.shift
        out[:, self.index] = la.cho_solve((self.L, True), B[:, self.index].T, check_finite=False).T
        return out

    def squares(self, B: Array) -> Array:  # (t, M) -> (t,)
        """Return b*(D T D + shift I)^-1 b for every row b, on the relevant frequencies."""
        half = la.solve_triangular(self.L, B[:, self.index].T, lower=True, check_finite=False)
        return np.sum(np.abs(half) ** 2, axis=0)

    def traces(self) -> tuple[float, Array]:  # -> number, (M,)
        """Return log det, and the diagonal of the inverse."""
        inverse = la.solve_triangular(self.L, np.eye(len(self.L), dtype=self.L.dtype), lower=True, check_finite=False)
        diagonal = np.full(self.size, 1.0 / self.shift)
        diagonal[self.index] = np.sum(np.abs(inverse) ** 2, axis=0)
        logdet = 2.0 * float(np.log(self.L.diagonal().real).sum())
        return logdet + (self.size - len(self.L)) * math.log(self.shift), diagonal


def grid_traces(system: ToeplitzSystem, shift: float, probes: int, tol: float) -> tuple[float, Array]:  # -> number, (M,)
    """Return log det (D T D + shift I) and the diagonal of its inverse, estimated by at least `probes` random vectors."""
    grid = system.grid
    count = max(probes, min(MOST_PROBES, SIGNS // len(grid.weights)))
    traces = random_traces(system, system.diag(), shift, grid.signs(count, 0), tol=tol)
    first, second = traces.inverse_diagonal.reshape(2, *grid.half_shape)  # real and imaginary parts
    return traces.logdet, grid.mirrored((first + second) / grid.counts)


def has_grid(kernel: Kernel, width: int) -> bool:
    """Whether the kernel has a spectral density in one to three columns."""
    try:
        return width <= MOST_COLUMNS and kernel.spectral(width).has_density
    except (CapabilityError, InputError):
        return False


def frequencies_for(kernels: Sequence[Kernel], X: Any) -> int | None:
    """Return the number of frequencies of the grid of these kernels for rows X, or None if there is no grid."""
    dense = (isinstance(X, np.ndarray) or is_frame(X)) and len(X.shape) == 2 and X.shape[0] > 0
    if not dense or not all(has_grid(kernel, X.shape[1]) for kernel in kernels):
        return None
    data = np.asarray(X)
    low, high = (np.asarray(edge, dtype=np.float64) for edge in (data.min(axis=0), data.max(axis=0)))
    return len(grid_for(kernels, low, high)[0].weights) if np.isfinite(high - low).all() else None


def grid_for(kernels: Sequence[Kernel], low: Array, high: Array) -> list[FourierGrid]:
    """Return grids of several kernels with common frequencies, for rows in the box from low to high, (d,) each."""
    _finufft()
    measures = [kernel.spectral(len(low)) for kernel in kernels]
    side = np.maximum(high - low, 1e-300)
    reach = np.max([reach_of(kernel, len(low), REACH) for kernel in kernels], axis=0)
    spacing = 1.0 / (side + reach)
    scale = np.max([_scale(measure) for measure in measures], axis=0)
    factor = 1.0
    while True:
        halves = np.maximum(1, np.ceil(factor * scale / (2.0 * np.pi * spacing))).astype(np.int64)
        size = float(np.prod(2.0 * halves + 1.0))
        found = [_weighted(measure, (low + high) / 2.0, spacing, halves) for measure in measures]
        worst = max(grid.missed / measure.mass for grid, measure in zip(found, measures, strict=True))
        enough = FINE if size * 1.7 <= FEW_FREQUENCIES else ACCURACY
        if worst <= enough or size * 1.7 > MOST_FREQUENCIES:
            return found
        factor *= 1.3


def _weighted(measure: Measure, center: Array, spacing: Array, halves: Array) -> FourierGrid:
    axes = [2.0 * np.pi * h * np.arange(-m, m + 1) for h, m in zip(spacing, halves, strict=True)]
    frequencies = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(center))
    squares = measure.density(frequencies) * np.prod(2.0 * np.pi * spacing)
    return FourierGrid(center, spacing, halves, np.sqrt(squares), max(0.0, measure.mass - float(squares.sum())))


def same_frequencies(kernel: Kernel, grid: FourierGrid) -> FourierGrid:
    """Return a grid with the same frequencies and the weights of another kernel."""
    return _weighted(kernel.spectral(len(grid.center)), grid.center, grid.spacing, grid.halves)


def _scale(measure: Measure) -> Array:  # -> (d,)
    """Return the typical size of frequencies of every column."""
    rng = np.random.default_rng(0)
    return np.median(np.abs(measure.sample(rng.random((4000, measure.n_uniforms)))), axis=0) * 2.0


def reach_of(kernel: Kernel, width: int, share: float) -> Array:  # -> (d,)
    """Return the distance along every column beyond which k is below a share of k(0)."""
    zero = np.zeros((1, width))
    floor = share * float(kernel.diag(zero)[0])
    found = np.empty(width)
    for k in range(width):
        steps = np.zeros((400, width))
        steps[:, k] = np.geomspace(1e-6, 1e6, 400)
        above = np.flatnonzero(np.abs(kernel(steps, zero)[:, 0]) > floor)
        last = int(above[-1]) if len(above) else 0
        if last >= 398:
            raise CapabilityError(f"{kernel} does not decay with the distance, so no grid of frequencies is fine enough.")
        found[k] = steps[last + 1, k]
    return found


def _transforms(columns: int) -> tuple[Any, Any]:
    """Return the transforms of types 1 and 2 for one, two or three columns."""
    library = _finufft()
    return {
        1: (library.nufft1d1, library.nufft1d2),
        2: (library.nufft2d1, library.nufft2d2),
        3: (library.nufft3d1, library.nufft3d2),
    }[columns]


def has_transform() -> bool:
    """Whether the package of the transform is installed."""
    return find_spec("finufft") is not None


def _finufft() -> Any:
    try:
        import finufft
    except ImportError:
        raise MissingExtraError(
            'Fourier features on a grid (solver="fourier" in one to three columns) need the package finufft: '
            f"{install_command('large')}"
        ) from None
    return finufft
