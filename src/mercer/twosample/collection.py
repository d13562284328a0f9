"""The kernels of a test without tuning: Gaussian and Laplacian, each at length scales from fine to coarse.

Length scales run geometrically between half the 5 % and twice the 95 % quantile of the distances within the pooled
sample (of at most 500 rows, drawn without regard to the labels). Nothing here looks at which sample a row came from,
so no level is spent on the choice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.errors import InputError
from mercer.inputs import Rows
from mercer.kernels.base import Kernel
from mercer.kernels.stationary import Gaussian, Laplacian
from mercer.kernels.strings.spectrum import Spectrum
from mercer.numeric.encodings import dense
from mercer.twosample.samples import Pooled

#: Rows whose distances set the length scales.
SAMPLE = 500

#: Length scales per family.
SCALES = 10


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
    from scipy.spatial.distance import pdist

    rows = np.arange(X.shape[0])
    if len(rows) > SAMPLE:
        rows = rng.choice(len(rows), SAMPLE, replace=False)
    sample = dense(X[rows]).astype(np.float64)
    # exp(-d^2 / (2 l^2)) at l = width / sqrt(2) is exp(-(d / width)^2): widths are what distances are compared with
    widths = _grid(pdist(sample, "euclidean"), count) / np.sqrt(2.0)
    return Scales(tuple(widths.tolist()), tuple(_grid(pdist(sample, "cityblock"), count).tolist()))


def _grid(distances: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    distances = distances[distances > 0]
    if len(distances) == 0:  # constant data: every kernel is constant, whatever its scale
        return np.ones(1)
    low, high = np.quantile(distances, [0.05, 0.95])
    return np.geomspace(low / 2.0, high * 2.0, count)


def default_kernels(pooled: Pooled, rng: np.random.Generator) -> tuple[Kernel, ...]:
    """The kernels to aggregate over when none is given."""
    if pooled.kind == "sparse":
        scales = length_scales(pooled.rows.vectors(), rng)
        return tuple(Gaussian(s) for s in scales.gaussian)
    if pooled.kind in ("numbers", "frame"):
        return length_scales(pooled.rows.vectors(), rng).kernels()
    if all(isinstance(item, str) for item in pooled.rows.data):
        return tuple(Spectrum(p).normalized() for p in (1, 2, 3, 4))
    raise InputError(
        f"mmd_test: there is no default kernel for a collection of {type(pooled.rows.data[0]).__name__}; give one, for "
        "graphs e.g. kernel=VertexHistogram(), for lists of tokens kernel=Spectrum(p=2)."
    )


def as_light(pooled: Pooled) -> Rows:
    """The pooled vectors as float32 with their mean taken off, for the many kernels of a collection."""
    X = pooled.rows.vectors()
    if pooled.kind == "sparse" or X.dtype == np.float32:
        return pooled.rows
    return Rows((X - X.mean(axis=0)).astype(np.float32), "the pooled sample")
