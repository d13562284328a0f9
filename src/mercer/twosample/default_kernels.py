"""Default kernels of a two-sample test: Gaussian and Laplacian kernels at a range of length scales.

Length scales run geometrically from half the 5 % quantile to twice the 95 % quantile of the distances within the pooled
sample (at most 500 rows, drawn at random). Columns are divided by a robust spread of the same rows first, unless
`scale=False`: p-values then do not depend on the units of columns. The choice does not use the labels and therefore keeps
the level.
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
from mercer.numeric.spread import column_deviation
from mercer.twosample.samples import Pooled

#: Largest number of rows whose distances are used.
ROWS_FOR_SCALES = 500

#: Length scales per family.
SCALES = 10

#: Range of length scales whose squares are floats without loss of digits.
SMALLEST, LARGEST = 1e-140, 1e140

#: Length scale of a column that is ignored.
IGNORED = 1e140


@dataclass(frozen=True)
class Scales:
    """Length scales of the two families, ascending; in units of `units` (d,), or of the data if it is None.

    A unit of 0 belongs to a column that is constant in the rows that were looked at; the kernels ignore it.
    """

    gaussian: tuple[float, ...]
    laplacian: tuple[float, ...]
    units: tuple[float, ...] | None = None

    def kernels(self) -> tuple[Kernel, ...]:
        """Return the Gaussian kernels, then the Laplacian ones, in the units of the data."""
        gaussian = tuple(Gaussian(self._of_columns(s)) for s in self.gaussian)
        return gaussian + tuple(Laplacian(self._of_columns(s)) for s in self.laplacian)

    def divisors(self, width: int) -> Floats:  # -> (d,)
        """Return the number by which each column is divided; infinite for columns that are ignored."""
        if self.units is None:
            return np.ones(width)
        units = np.array(self.units)
        return np.where(units > 0, units, np.inf)

    def _of_columns(self, scale: float) -> float | tuple[float, ...]:
        if self.units is None:
            return scale
        lengths = tuple(scale * unit if unit > 0 else IGNORED for unit in self.units)
        return lengths[0] if len(lengths) == 1 else lengths


def length_scales(X: Any, rng: np.random.Generator, count: int = SCALES, scale: bool = False) -> Scales:  # (N, d)
    """Return length scales for both families from the distances within a pooled sample; `scale` divides by spreads."""
    return scales_of(dense(X[rows_for_scales(X.shape[0], rng)]), count, scale)


def rows_for_scales(n: int, rng: np.random.Generator) -> Indices:
    """Return the rows, out of n, whose distances are used."""
    return np.arange(n) if n <= ROWS_FOR_SCALES else rng.choice(n, ROWS_FOR_SCALES, replace=False)


def scales_of(rows: Array, count: int = SCALES, scale: bool = False) -> Scales:  # (r, d)
    """Return length scales of both families from all distances between these rows, divided by spreads if `scale`."""
    from scipy.spatial.distance import pdist

    units = None
    if scale:
        spread = column_deviation(rows)
        units = tuple(spread.tolist())
        rows = np.where(spread > 0, rows / np.where(spread > 0, spread, 1.0), 0.0)
        check_units(spread, "mmd_test")
    sample, unit = in_units(rows)
    # exp(-d^2 / (2 l^2)) at l = width / sqrt(2) is exp(-(d / width)^2): widths are compared with distances
    widths = _grid(unit * pdist(sample, "euclidean"), count) / np.sqrt(2.0)
    manhattan = _grid(unit * pdist(sample, "cityblock"), count)
    if min(widths[0], manhattan[0]) < SMALLEST or not max(widths[-1], manhattan[-1]) < LARGEST:
        raise InputError(_OUT_OF_RANGE.format(widths[len(widths) // 2]))
    return Scales(tuple(widths.tolist()), tuple(manhattan.tolist()), units)


def check_units(spread: Floats, owner: str) -> None:  # (d,)
    """Raise if the squares of the units of a column are not floats."""
    bad = ((spread > 0) & (spread < SMALLEST)) | (spread > LARGEST)
    if bad.any():
        column = int(np.argmax(bad))
        raise InputError(
            f"{owner}: values of column {column} differ by about {spread[column]:.1e}; their squares leave the range of "
            "floats. Multiply the column by a constant."
        )


_OUT_OF_RANGE = (
    "mmd_test: distances within the pooled sample are about {:.1e}; their squares leave the range of floats. Multiply both "
    "samples by the same constant."
)


def _grid(distances: Floats, count: int) -> Floats:
    distances = distances[distances > 0]
    if len(distances) == 0:  # constant data: the kernel is constant for every length scale
        return np.ones(1)
    low, high = np.quantile(distances, [0.05, 0.95])
    return np.geomspace(low / 2.0, high * 2.0, count)


def default_scales(pooled: Pooled, rng: np.random.Generator, scale: bool) -> Scales | None:
    """Return the length scales of the default kernels for a pooled sample; None for strings and other objects."""
    if pooled.kind == "objects":
        return None
    return length_scales(pooled.rows.vectors(), rng, scale=scale and pooled.kind != "sparse")


def scale_kernels(scales: Scales, kind: str) -> tuple[Kernel, ...]:
    """Return the kernels of both families; for sparse rows, the Gaussian ones only."""
    return tuple(Gaussian(s) for s in scales.gaussian) if kind == "sparse" else scales.kernels()


def object_kernels(data: Any) -> tuple[Kernel, ...]:
    """Return Spectrum kernels for strings; raise for other objects."""
    if all(isinstance(item, str) for item in data):
        return tuple(Spectrum(p).normalized() for p in (1, 2, 3, 4))
    raise InputError(
        f"mmd_test: there is no default kernel for a collection of {type(data[0]).__name__}. Give one, for example "
        "kernel=VertexHistogram() for graphs or kernel=Spectrum(p=2) for lists of tokens."
    )


def as_float32(pooled: Pooled, scales: Scales) -> tuple[tuple[Kernel, ...], Rows]:
    """Return kernels and centered float32 vectors, both divided by the largest absolute entry.

    Values are those of `scales.kernels()` on the data. Scaling keeps all data within the range of float32.
    """
    X = pooled.rows.vectors()
    if pooled.kind == "sparse":
        unit = float(np.abs(X.data).max(initial=0.0)) or 1.0
        light = X / unit
    else:
        light = X - X.mean(axis=0, dtype=np.float64)
        light /= scales.divisors(X.shape[1])
        light[:, (X[0] == X).all(axis=0)] = 0.0  # a constant column would keep the rounding error of its mean
        unit = float(np.abs(light).max()) or 1.0
        light /= unit
        light = light.astype(np.float32)
    scaled = Scales(tuple(s / unit for s in scales.gaussian), tuple(s / unit for s in scales.laplacian))
    return scale_kernels(scaled, pooled.kind), Rows(light, "the pooled sample")
