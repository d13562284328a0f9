"""The kernels of a test without tuning: Gaussian and Laplacian, each at length scales from fine to coarse.

Length scales run geometrically between half the 5 % and twice the 95 % quantile of the distances within the pooled
sample (of at most 500 rows, drawn without regard to the labels). Nothing here looks at which sample a row came from,
so no level is spent on the choice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Array, Floats, Indices
from mercer.errors import InputError
from mercer.inputs import Rows
from mercer.kernels.base import Kernel
from mercer.kernels.stationary import Gaussian, Laplacian
from mercer.kernels.strings.spectrum import Spectrum
from mercer.numeric.encodings import dense
from mercer.numeric.points import in_units
from mercer.twosample.samples import Pooled

#: Rows whose distances set the length scales.
ROWS_FOR_SCALES = 500

#: Length scales per family.
SCALES = 10

#: Length scales between these have squares that are floats with all their digits.
SMALLEST, LARGEST = 1e-140, 1e140


@dataclass(frozen=True)
class Scales:
    """Length scales of the two families, ascending, in the units of the data."""

    gaussian: tuple[float, ...]
    laplacian: tuple[float, ...]

    def kernels(self) -> tuple[Kernel, ...]:
        """Gaussian kernels, then Laplacian ones."""
        return tuple(Gaussian(s) for s in self.gaussian) + tuple(Laplacian(s) for s in self.laplacian)


def length_scales(X: Any, rng: np.random.Generator, count: int = SCALES) -> Scales:  # (N, d)
    """Return length scales for both families from the distances within a pooled sample."""
    return scales_of(dense(X[rows_for_scales(X.shape[0], rng)]), count)


def rows_for_scales(n: int, rng: np.random.Generator) -> Indices:
    """The rows, of n, whose distances are looked at."""
    return np.arange(n) if n <= ROWS_FOR_SCALES else rng.choice(n, ROWS_FOR_SCALES, replace=False)


def scales_of(rows: Array, count: int = SCALES) -> Scales:  # (r, d)
    """The length scales of both families from all distances between these rows."""
    from scipy.spatial.distance import pdist

    sample, unit = in_units(rows)
    # exp(-d^2 / (2 l^2)) at l = width / sqrt(2) is exp(-(d / width)^2): widths are what distances are compared with
    widths = _grid(unit * pdist(sample, "euclidean"), count) / np.sqrt(2.0)
    manhattan = _grid(unit * pdist(sample, "cityblock"), count)
    if min(widths[0], manhattan[0]) < SMALLEST or not max(widths[-1], manhattan[-1]) < LARGEST:
        raise InputError(
            f"mmd_test: distances within the pooled sample are about {widths[len(widths) // 2]:.1e}; their squares leave "
            "the range of floats. Multiply both samples by one constant first."
        )
    return Scales(tuple(widths.tolist()), tuple(manhattan.tolist()))


def _grid(distances: Floats, count: int) -> Floats:
    distances = distances[distances > 0]
    if len(distances) == 0:  # constant data: every kernel is constant, whatever its scale
        return np.ones(1)
    low, high = np.quantile(distances, [0.05, 0.95])
    return np.geomspace(low / 2.0, high * 2.0, count)


def default_kernels(pooled: Pooled, rng: np.random.Generator) -> tuple[Kernel, ...]:
    """The kernels to aggregate over when none is given."""
    if pooled.kind == "objects":
        return object_kernels(pooled.rows.data)
    return scale_kernels(length_scales(pooled.rows.vectors(), rng), pooled.kind)


def scale_kernels(scales: Scales, kind: str) -> tuple[Kernel, ...]:
    """The kernels of both families; of sparse rows, which have no Manhattan distances, those of the first."""
    return tuple(Gaussian(s) for s in scales.gaussian) if kind == "sparse" else scales.kernels()


def object_kernels(data: Any) -> tuple[Kernel, ...]:
    """The kernels for strings; there are none for other objects."""
    if all(isinstance(item, str) for item in data):
        return tuple(Spectrum(p).normalized() for p in (1, 2, 3, 4))
    raise InputError(
        f"mmd_test: there is no default kernel for a collection of {type(data[0]).__name__}; give one, for "
        "graphs e.g. kernel=VertexHistogram(), for lists of tokens kernel=Spectrum(p=2)."
    )


def as_light(pooled: Pooled, kernels: tuple[Kernel, ...]) -> tuple[tuple[Kernel, ...], Rows]:
    """The pooled vectors as float32, without their mean and in units of their spread, and the kernels in these units.

    The same values as before, for kernels of the default collection; in its own units float32 has room for any data.
    """
    X = pooled.rows.vectors()
    if pooled.kind == "sparse":
        unit = float(np.abs(X.data).max(initial=0.0)) or 1.0
        light = X / unit
    else:
        light = X - X.mean(axis=0, dtype=np.float64)
        light[:, (X[0] == X).all(axis=0)] = 0.0  # not the rounding of its mean
        unit = float(np.abs(light).max()) or 1.0
        light /= unit
        light = light.astype(np.float32)
    scaled = tuple(kernel.set_params(length_scale=kernel.get_params()["length_scale"] / unit) for kernel in kernels)
    return scaled, Rows(light, "the pooled sample")
