"""The test in linear time on rows in chunks: sums of features over blocks of rows, in one pass.

Which row belongs to which block is drawn as in memory; every chunk adds up the features of its rows, block by block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.arrays import Array, Floats, Indices
from mercer.inputs import Rows, take
from mercer.inputs.chunks import Chunk
from mercer.kernels.base import Kernel
from mercer.numeric.encodings import dense
from mercer.numeric.threads import cpu_count, run
from mercer.twosample import block_means as waves
from mercer.twosample.blocks import Grams, compare_blocks
from mercer.twosample.chunk_samples import ChunkedSamples
from mercer.twosample.procedure import Settings
from mercer.twosample.result import MMDTestResult

Portion = Callable[[Indices, list[tuple[int, int, int]]], None]  # rows, (first, last, block) in them


def by_chunk_blocks(
    samples: ChunkedSamples, kernels: tuple[Kernel, ...] | None, chosen: Settings, rng: np.random.Generator, seed: int
) -> MMDTestResult:
    """The test on means of features of blocks of rows; no kernels means the default collection."""
    layout = waves.lay_out(samples.m, samples.n, rng)
    blocks = np.full(samples.rows.n, -1)
    blocks[layout.index.ravel()] = np.repeat(np.arange(len(layout.index)), layout.size)
    if kernels is None and samples.kind == "numbers":
        scales = waves.octaves(samples.scales(rng))
        kernels = scales.kernels()
        arrays = _waves(samples, scales, layout, blocks, chosen.n_features, rng)
        how = f"{chosen.n_features} random frequencies per family"
    else:
        kernels = samples.default_kernels(rng) if kernels is None else kernels
        arrays = [_of_kernel(k, samples, layout, blocks, chosen.n_features, rng) for k in kernels]
        how = f"explicit features or {chosen.n_features} landmarks"
    head = Rows(samples.rows.head.X, "the pooled sample")
    found = compare_blocks(samples, head, Grams(kernels, arrays), layout, chosen, rng, seed, how)
    return replace(found, method=f"{found.method}, {samples.words}")


def _waves(
    samples: ChunkedSamples, scales: Any, layout: waves.Layout, blocks: Indices, width: int,
    rng: np.random.Generator,
) -> list[Array]:  # fmt: skip
    rows = samples.rows
    total, number = rows.sum(column_sums)
    families = waves.draw_waves(rows.shape[1], scales, width, rng)
    frequencies, levels = tuple(f for f, _ in families), tuple(n for _, n in families)
    found = rows.sum(wave_sums, frequencies, levels, total / number, len(layout.index), each=rows.split(blocks))
    return [gram for sums in found for gram in waves.grams_of_sums(sums, layout, width)]


def column_sums(chunk: Chunk) -> tuple[Floats, Floats]:
    """The sums of the columns, and the number of rows."""
    return chunk.X.sum(axis=0, dtype=np.float64), np.array(float(len(chunk)))


def wave_sums(
    chunk: Chunk,
    blocks: Indices,
    frequencies: tuple[Floats, ...],
    levels: tuple[int, ...],
    center: Floats,
    count: int,
) -> tuple[Floats, ...]:
    """Sums of cosines and sines over the rows of every block, (blocks, levels, 2 D) for each family."""
    found = []
    for matrix, octaves in zip(frequencies, levels, strict=True):
        sums = np.zeros((count, octaves, 2 * matrix.shape[1]))

        def work(rows: Indices, runs: list[tuple[int, int, int]], matrix: Any = matrix, sums: Any = sums) -> None:
            cosines, sines = waves.near_zero((chunk.X[rows] - center) @ matrix)
            for first, last, block in runs:
                waves.add_waves(cosines[first:last], sines[first:last], sums[block])

        over_runs(blocks, work)
        found.append(sums)
    return tuple(found)


def _of_kernel(
    kernel: Kernel, samples: ChunkedSamples, layout: waves.Layout, blocks: Indices, most: int,
    rng: np.random.Generator,
) -> Array:  # fmt: skip
    """The Gram matrix of block means: by features that all chunks share, or else by landmarks."""
    rows, finite = samples.rows, kernel.features
    whitening = landmarks = None
    width = kernel.n_features(take(rows.head.X, slice(0, 1))) if finite is not None and finite.shared else None
    if width is None or width > waves.EXPLICIT:
        drawn = np.sort(rng.choice(rows.n, min(most, rows.n), replace=False))
        landmarks = rows.take(drawn).X
        whitening = waves.whitened(kernel, Rows(landmarks))
        width = whitening.shape[1]
    (sums,) = rows.sum(feature_sums, kernel, landmarks, whitening, width, len(layout.index), each=rows.split(blocks))
    means = sums / layout.size
    return np.asarray(means @ means.T)


def feature_sums(
    chunk: Chunk, blocks: Indices, kernel: Kernel, landmarks: Any, whitening: Any, width: int, count: int
) -> tuple[Floats]:
    """Sums of features over the rows of every block, (blocks, D)."""
    sums = np.zeros((count, width))
    near = None if landmarks is None else Rows(landmarks)
    data = Rows(chunk.X, chunk.where)

    def work(rows: Indices, runs: list[tuple[int, int, int]]) -> None:
        part = data.take(rows)
        values = dense(kernel.feature_map(part)) if near is None else waves.landmark_values(kernel, part, near) @ whitening
        for first, last, block in runs:
            sums[block] += values[first:last].sum(axis=0, dtype=np.float64)

    over_runs(blocks, work)
    return (sums,)


def over_runs(blocks: Indices, work: Portion) -> None:
    """Call work for portions of the rows in the order of their blocks, on all cores; a block belongs to one thread."""
    order = np.argsort(blocks, kind="stable")
    order = order[np.searchsorted(blocks[order], 0) :]  # -1: rows that are left over
    own = blocks[order]
    starts = np.flatnonzero(np.diff(own, prepend=-1))
    cuts = starts[np.flatnonzero(np.diff(starts // waves.CACHED_ROWS, prepend=-1))].tolist()
    parts = list(zip(cuts, [*cuts[1:], len(own)], strict=True))

    def one(part: tuple[int, int], _: int) -> None:
        for low in range(*part, waves.CACHED_ROWS):
            high = min(low + waves.CACHED_ROWS, part[1])
            edges = np.flatnonzero(np.diff(own[low:high], prepend=-1)).tolist()
            runs = [(a, b, int(own[low + a])) for a, b in zip(edges, [*edges[1:], high - low], strict=True)]
            work(order[low:high], runs)

    run(parts, one, min(cpu_count(), max(1, len(parts))))
