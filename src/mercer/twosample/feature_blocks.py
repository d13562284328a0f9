"""The two-sample test in time and memory linear in the rows: relabeling blocks of rows by their mean features.

A block of g rows is replaced by the mean of their features. Blocks are drawn at random and have one size. Under the null
hypothesis blocks are therefore exchangeable, and relabeling blocks is a valid test. The inner product of two block means
is the mean of k over pairs of rows. MMD^2 between blocks loses only the pairs inside one block, one in a few hundred.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.arrays import Array, Floats, Ints
from mercer.inputs import Rows
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Evaluation
from mercer.numeric.encodings import dense
from mercer.numeric.threads import cpu_count, run
from mercer.numeric.tiles import row_blocks
from mercer.twosample.default_kernels import Scales

#: Blocks of the smaller sample; the unbiased statistic leaves out one pair in this many.
BLOCKS = 256

#: Largest number of blocks of one sample; the result reports rows that are left out.
MOST_BLOCKS = 4096

#: Rows whose features are computed together; their cosines fit a core's cache. Row: mmd-million.
CACHED_ROWS = 256

#: Largest number of columns of dense explicit features; sparse features have no limit.
EXPLICIT = 4096


@dataclass(frozen=True)
class BlockLayout:
    """Rows of each block: `index[b]` holds the pooled rows of block b, with blocks of X first."""

    index: Ints  # (blocks, g)
    m: int
    n: int

    @property
    def size(self) -> int:
        """Rows per block."""
        return int(self.index.shape[1])


def block_counts(m: int, n: int) -> tuple[int, int, int]:
    """Return the rows of a block, and the numbers of blocks of both samples."""
    size = max(1, min(m, n) // BLOCKS)
    return size, min(m // size, MOST_BLOCKS), min(n // size, MOST_BLOCKS)


def lay_out(m: int, n: int, rng: np.random.Generator) -> BlockLayout:
    """Shuffle both samples and cut them into blocks of one size."""
    size, first, second = block_counts(m, n)
    left = rng.permutation(m)[: first * size].reshape(first, size)
    right = m + rng.permutation(n)[: second * size].reshape(second, size)
    return BlockLayout(np.concatenate([left, right]), first, second)


def over_blocks(layout: BlockLayout, work: Callable[[slice], None]) -> None:
    """Call work(blocks) on all cores, for groups of blocks with about CACHED_ROWS rows."""
    step = max(1, CACHED_ROWS // layout.size)
    starts = range(0, len(layout.index), step)
    parts = [slice(start, min(start + step, len(layout.index))) for start in starts]
    run(parts, lambda part, _: work(part), min(cpu_count(), len(parts)))


def fourier_grams(X: Any, scales: Scales, layout: BlockLayout, count: int, rng: np.random.Generator) -> list[Array]:
    """Return Gram matrices of block means for Gaussian and Laplacian kernels, by random Fourier features.

    Frequencies are drawn once per family for its largest length scale; halving the scale doubles them.
    """
    center = X.mean(axis=0, dtype=np.float64)
    families = draw_frequencies(X.shape[1], scales, count, rng)
    sums = [_family(X, center, frequencies, levels, layout) for frequencies, levels in families]
    return [gram for family in sums for gram in grams_of_sums(family, layout, count)]


def draw_frequencies(width: int, scales: Scales, count: int, rng: np.random.Generator) -> tuple[tuple[Floats, int], ...]:
    """Draw the (d, count) frequencies of each family for its largest length scale, with the number of doublings."""
    draws = rng.standard_normal((width, count)), rng.standard_cauchy((width, count))
    units = scales.divisors(width)[:, None]
    families = scales.gaussian, scales.laplacian
    return tuple((drawn / units / family[-1], len(family)) for drawn, family in zip(draws, families, strict=True))


def grams_of_sums(sums: Floats, layout: BlockLayout, count: int) -> list[Array]:  # (blocks, L, 2 count)
    """Return Gram matrices of block means from sums of cosines and sines, with ascending length scales."""
    means = sums / (layout.size * np.sqrt(count))
    return [means[:, level] @ means[:, level].T for level in range(means.shape[1])][::-1]


def cosines_and_sines(angles: Floats) -> tuple[NDArray[np.float32], NDArray[np.float32]]:  # -> cosines, sines
    """Return cosines and sines as float32; the angles are overwritten.

    Angles are reduced to [-pi, pi] in float64, because NumPy's fast float32 sine is accurate for small angles only.
    """
    angles -= 2.0 * np.pi * np.rint(angles / (2.0 * np.pi))
    near = angles.astype(np.float32)
    return np.cos(near), np.sin(near)


def add_octaves_of(cosines: Array, sines: Array, out: Floats) -> None:  # (r, D), (r, D), (L, 2D)
    """Add the cosines and sines of rows, and of their doubled angles, to the sums of a block."""
    from mercer.twosample._compiled_sums import add_octaves

    add_octaves(cosines, sines, out)


def _family(
    X: Any, center: Floats, frequencies: Floats, levels: int, layout: BlockLayout
) -> Floats:  # -> (blocks, levels, 2 D)
    count = frequencies.shape[1]
    sums = np.zeros((len(layout.index), levels, 2 * count))

    def work(blocks: slice) -> None:
        index = layout.index[blocks]
        for part in row_blocks(layout.size, CACHED_ROWS):
            rows = index[:, part]  # whole blocks, or a part of one large block
            found = cosines_and_sines((X[rows.ravel()] - center) @ frequencies)
            cosines, sines = (values.reshape(*rows.shape, count) for values in found)
            for i in range(len(rows)):
                add_octaves_of(cosines[i], sines[i], sums[blocks.start + i])

    over_blocks(layout, work)
    return sums


def octaves(scales: Scales) -> Scales:
    """Return ascending length scales in steps of two that cover the given ones."""

    def steps(family: tuple[float, ...]) -> tuple[float, ...]:
        count = 1 + int(np.ceil(np.log2(family[-1] / family[0]) - 1e-9)) if len(family) > 1 else 1
        return tuple(family[-1] / 2.0**level for level in range(min(count, 10)))[::-1]

    return Scales(steps(scales.gaussian), steps(scales.laplacian), scales.units)


def gram_of_kernel(kernel: Kernel, rows: Rows, layout: BlockLayout, count: int, rng: np.random.Generator) -> Array:
    """Return the Gram matrix of block means by explicit features of the kernel, or by `count` landmarks (Nystroem)."""
    if kernel.features is not None:
        few = kernel.feature_map(rows.take(np.arange(2)))
        if sp.issparse(few):
            return _sparse(kernel, rows, layout)
        if few.shape[1] <= EXPLICIT:
            return _by_portions(rows, layout, few.shape[1], lambda part: dense(kernel.feature_map(part)))
    width, features = _nystroem(kernel, rows, count, rng)
    return _by_portions(rows, layout, width, features)


def landmark_features(kernel: Kernel, rows: Rows, count: int, rng: np.random.Generator) -> Array:
    """Return Nystroem features of all rows; their inner products approximate k."""
    width, features = _nystroem(kernel, rows, count, rng)
    out = np.empty((len(rows), width))
    parts = [slice(start, min(start + CACHED_ROWS, len(rows))) for start in range(0, len(rows), CACHED_ROWS)]

    def work(part: slice, _: int) -> None:
        out[part] = features(rows.take(part))

    run(parts, work, cpu_count(), len(parts))
    return out


def _nystroem(kernel: Kernel, rows: Rows, count: int, rng: np.random.Generator) -> tuple[int, Callable[[Rows], Array]]:
    """Return the width of Nystroem features and the function that maps rows to them."""
    landmarks = rows.take(np.sort(rng.choice(len(rows), min(count, len(rows)), replace=False)))
    whitening = whitened(kernel, landmarks)
    return whitening.shape[1], lambda part: np.asarray(landmark_values(kernel, part, landmarks) @ whitening)


def whitened(kernel: Kernel, landmarks: Rows) -> Floats:  # -> (landmarks, r)
    """Return the inverse root of k(landmarks), with as many columns as its rank."""
    values, vectors = np.linalg.eigh(kernel(landmarks).astype(np.float64))
    dtype = kernel.diag(landmarks).dtype
    kept = values > len(values) * max(np.finfo(np.float64).eps, np.finfo(dtype).eps) * max(values[-1], 0.0)
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))


def landmark_values(kernel: Kernel, part: Rows, landmarks: Rows) -> Array:  # -> (r, landmarks)
    """Return k(x, landmarks) for a few rows, on the calling thread."""
    pair = Evaluation(kernel, part, landmarks)
    return pair.block(slice(0, pair.shape[0]), slice(0, pair.shape[1]))


def _sparse(kernel: Kernel, rows: Rows, layout: BlockLayout) -> Array:
    features = sp.csr_array(kernel.feature_map(rows))
    blocks = len(layout.index)
    where = layout.index.ravel(), np.repeat(np.arange(blocks), layout.size)
    average = sp.csr_array((np.full(layout.index.size, 1.0 / layout.size), where[::-1]), shape=(blocks, len(rows)))
    means = average @ features
    return np.asarray((means @ means.T).toarray())


def _by_portions(rows: Rows, layout: BlockLayout, width: int, features: Callable[[Rows], Array]) -> Array:
    means = np.zeros((len(layout.index), width))

    def work(blocks: slice) -> None:
        index = layout.index[blocks]
        for portion in row_blocks(layout.size, CACHED_ROWS):
            part = index[:, portion]
            values = features(rows.take(part.ravel())).reshape(*part.shape, width)
            means[blocks] += values.sum(axis=1, dtype=np.float64)

    over_blocks(layout, work)
    means /= layout.size
    return means @ means.T
