"""The test in linear time and memory: blocks of rows stand for the rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.arrays import Array, Floats
from mercer.inputs import Rows
from mercer.kernels.base import Kernel
from mercer.twosample import block_means as waves
from mercer.twosample.collection import default_kernels, length_scales
from mercer.twosample.procedure import Settings, choose_labels, run
from mercer.twosample.result import MMDTestResult
from mercer.twosample.samples import Pooled, Samples
from mercer.twosample.units import InUnits, refuse_underflow


@dataclass(frozen=True)
class Grams:
    """Gram matrices that are already there."""

    kernels: tuple[Kernel, ...]
    arrays: list[Array]

    @property
    def length(self) -> int:
        """Rows of every matrix."""
        return len(self.arrays[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of the entries."""
        return self.arrays[0].dtype

    def tile(self, rows: slice, cols: slice) -> list[Array]:
        """A tile of every matrix, as arrays of their own."""
        return [array[rows, cols].copy() for array in self.arrays]

    def diag(self) -> Floats:
        """The diagonal of every matrix."""
        return np.array([np.diagonal(array) for array in self.arrays])


def by_blocks(
    pooled: Pooled, kernels: tuple[Kernel, ...] | None, chosen: Settings, rng: np.random.Generator, seed: int
) -> MMDTestResult:
    """The test on means of features of blocks of rows; no kernels means the default collection."""
    layout = waves.lay_out(pooled.m, pooled.n, rng)
    if kernels is None and pooled.kind in ("numbers", "frame"):
        X = pooled.rows.vectors()
        scales = waves.octaves(length_scales(X, rng))
        kernels = scales.kernels()
        arrays = waves.grams_of_waves(X, scales, layout, chosen.n_features, rng)
        how = f"{chosen.n_features} random frequencies per family"
    else:
        kernels = default_kernels(pooled, rng) if kernels is None else kernels
        arrays = [waves.gram_of_kernel(k, pooled.rows, layout, chosen.n_features, rng) for k in kernels]
        how = f"explicit features or {chosen.n_features} landmarks"
    return compare_blocks(pooled, pooled.rows, Grams(kernels, arrays), layout, chosen, rng, seed, how)


def compare_blocks(
    samples: Samples,
    rows: Rows,
    grams: Grams,
    layout: waves.Layout,
    chosen: Settings,
    rng: np.random.Generator,
    seed: int,
    how: str,
) -> MMDTestResult:
    """The test on the Gram matrices of block means; `rows` are some of the data."""
    matrices = InUnits(grams)
    refuse_underflow(grams.kernels, matrices.diag(), rows)
    labels = choose_labels(chosen.resampling, layout.m, layout.n)
    left = samples.m + samples.n - layout.index.size
    left_out = "" if left == 0 else f", {left} rows left over"
    route = f"{layout.m} + {layout.n} blocks of {layout.size} rows{left_out}, {how}"
    result = run(samples, matrices, labels, chosen, rng, seed, route)
    monte = replace(result.monte_carlo, resampling=f"{labels.words} of blocks")
    return replace(result, monte_carlo=monte)
