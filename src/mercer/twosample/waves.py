"""Mean feature vectors of blocks of rows, in time and memory linear in the rows.

A block of g rows is replaced by the mean of their features. Blocks are made without regard to anything but chance, all
of one size, so under the null hypothesis blocks are exchangeable, and relabeling blocks is a valid test. The inner
product of two block means is the mean of k over pairs of rows, so MMD^2 between blocks loses only the pairs inside one
block, one in a few hundred.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.inputs import Rows
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Evaluation
from mercer.numeric.encodings import dense
from mercer.numeric.threads import cpu_count, run
from mercer.twosample.collection import Scales

#: Blocks of the smaller sample; the unbiased statistic leaves out one pair in so many.
BLOCKS = 256

#: Blocks of the larger sample are at most so many; rows beyond are left out, and the result says so.
MOST_BLOCKS = 4096

#: Rows turned into features at a time: their cosines stay in a core's cache.
ROWS = 256

#: Explicit features are used up to so many columns (any number, where they are sparse).
EXPLICIT = 4096


@dataclass(frozen=True)
class Layout:
    """Which rows make up which block: `index[b]` are the pooled rows of block b, blocks of X first."""

    index: NDArray[np.int64]  # (blocks, g)
    m: int
    n: int

    @property
    def size(self) -> int:
        """Rows per block."""
        return int(self.index.shape[1])


def lay_out(m: int, n: int, rng: np.random.Generator) -> Layout:
    """Cut both samples, shuffled, into blocks of one size."""
    size = max(1, min(m, n) // BLOCKS)
    first, second = min(m // size, MOST_BLOCKS), min(n // size, MOST_BLOCKS)
    left = rng.permutation(m)[: first * size].reshape(first, size)
    right = m + rng.permutation(n)[: second * size].reshape(second, size)
    return Layout(np.concatenate([left, right]), first, second)


def over_blocks(layout: Layout, work: Callable[[int, NDArray[np.int64]], None]) -> None:
    """Call work(block, its rows) for every block, on all cores."""
    run(range(len(layout.index)), lambda block, _: work(block, layout.index[block]), cpu_count(), len(layout.index))


def grams_of_waves(X: Any, scales: Scales, layout: Layout, count: int, rng: np.random.Generator) -> list[NDArray[Any]]:
    """Gram matrices of block means for Gaussian and Laplacian kernels, by random Fourier features (Bochner).

    Frequencies are drawn once per family for its largest length scale; halving the scale doubles them.
    """
    draws = (rng.standard_normal((X.shape[1], count)), scales.gaussian), (
        rng.standard_cauchy((X.shape[1], count)), scales.laplacian,
    )  # fmt: skip
    center = X.mean(axis=0, dtype=np.float64)
    grams: list[NDArray[Any]] = []
    for frequencies, family in draws:
        grams += _family(X, center, frequencies / family[-1], len(family), layout)[::-1]
    return grams


def _family(
    X: Any, center: NDArray[np.float64], frequencies: NDArray[np.float64], levels: int, layout: Layout
) -> list[NDArray[Any]]:
    from mercer.numeric.compiled.waves import add_octaves

    count = frequencies.shape[1]
    sums = np.zeros((len(layout.index), levels, 2 * count))

    def work(block: int, rows: NDArray[np.int64]) -> None:
        for start in range(0, len(rows), ROWS):
            angles = (X[rows[start : start + ROWS]] - center) @ frequencies
            # brought near zero in float64: NumPy's fast float32 sine wants small angles, and octaves want exact ones
            angles -= 2.0 * np.pi * np.rint(angles / (2.0 * np.pi))
            near = angles.astype(np.float32)
            add_octaves(np.cos(near), np.sin(near), sums[block])

    over_blocks(layout, work)
    sums /= layout.size * np.sqrt(count)
    return [sums[:, level] @ sums[:, level].T for level in range(levels)]


def octaves(scales: Scales) -> Scales:
    """Length scales in steps of two that cover the given ones, ascending."""

    def steps(family: tuple[float, ...]) -> tuple[float, ...]:
        count = 1 + int(np.ceil(np.log2(family[-1] / family[0]) - 1e-9)) if len(family) > 1 else 1
        return tuple(family[-1] / 2.0**level for level in range(min(count, 10)))[::-1]

    return Scales(steps(scales.gaussian), steps(scales.laplacian))


def gram_of_kernel(kernel: Kernel, rows: Rows, layout: Layout, count: int, rng: np.random.Generator) -> NDArray[Any]:
    """The Gram matrix of block means for any kernel: its explicit features, or else `count` landmarks (Nystroem)."""
    if kernel._lacks_features() is None:
        few = kernel.feature_map(rows.take(np.arange(2)))
        if sp.issparse(few):
            return _sparse(kernel, rows, layout)
        if few.shape[1] <= EXPLICIT:
            return _by_portions(rows, layout, few.shape[1], lambda part: dense(kernel.feature_map(part)))
    landmarks = rows.take(np.sort(rng.choice(len(rows), min(count, len(rows)), replace=False)))
    values, vectors = np.linalg.eigh(kernel(landmarks).astype(np.float64))
    kept = values > len(values) * np.finfo(np.float64).eps * values[-1]
    whitening = vectors[:, kept] / np.sqrt(values[kept])

    def features(part: Rows) -> NDArray[Any]:
        pair = Evaluation(kernel, part, landmarks)
        return np.asarray(pair.block(slice(0, pair.shape[0]), slice(0, pair.shape[1])) @ whitening)

    return _by_portions(rows, layout, int(kept.sum()), features)


def _sparse(kernel: Kernel, rows: Rows, layout: Layout) -> NDArray[Any]:
    features = sp.csr_array(kernel.feature_map(rows))
    blocks = len(layout.index)
    where = layout.index.ravel(), np.repeat(np.arange(blocks), layout.size)
    average = sp.csr_array((np.full(layout.index.size, 1.0 / layout.size), where[::-1]), shape=(blocks, len(rows)))
    means = average @ features
    return np.asarray((means @ means.T).toarray())


def _by_portions(rows: Rows, layout: Layout, width: int, features: Callable[[Rows], NDArray[Any]]) -> NDArray[Any]:
    means = np.zeros((len(layout.index), width))

    def work(block: int, index: NDArray[np.int64]) -> None:
        for start in range(0, len(index), ROWS):
            means[block] += features(rows.take(index[start : start + ROWS])).sum(axis=0, dtype=np.float64)

    over_blocks(layout, work)
    means /= layout.size
    return means @ means.T
