"""The ordered map and the ordered sum over chunks, rows by their numbers, and the operator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mercer
from mercer.errors import InputError
from mercer.grams.chunks.operator import ChunkOperator
from mercer.grams.chunks.rows import ChunkedRows
from mercer.grams.chunks.tasks import GROUP, WAVE, RunningSums, total_of
from mercer.inputs.chunks import Chunk, Chunks

RNG = np.random.default_rng(0)


def opened(source: Chunks) -> ChunkedRows:
    return ChunkedRows.opened(source, "vectors", None, "test")


def sums(chunk: Chunk, factor: float) -> Any:
    return (factor * chunk.X.sum(axis=0), np.array([float(len(chunk))]))


@pytest.mark.parametrize("count", [1, 7, 8, 9, 63, 64, 65, 200])
def test_groups_and_waves_give_one_order_whoever_makes_them(count: int) -> None:
    parts = [(RNG.normal(size=3) * 10.0 ** RNG.integers(-8, 8),) for _ in range(count)]
    alone = RunningSums()
    for part in parts:
        alone.add(0, 1, (part[0].copy(),))
    groups = [parts[i : i + GROUP] for i in range(0, count, GROUP)]
    by_group = RunningSums()
    for group in groups:
        by_group.add(1, len(group), total_of(group))
    by_wave = RunningSums()
    for start in range(0, len(groups), WAVE // GROUP):
        wave = groups[start : start + WAVE // GROUP]
        by_wave.add(2, sum(map(len, wave)), total_of([total_of(group) for group in wave]))
    found = [ledger.close() for ledger in (alone, by_group, by_wave)]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
    np.testing.assert_allclose(found[0][0], np.sum([p[0] for p in parts], axis=0), rtol=1e-9)
    assert alone.done == by_group.done == by_wave.done == count


def test_sums_maps_and_columns() -> None:
    X = RNG.normal(size=(101, 3))
    rows = opened(mercer.chunks(X, rows=10))
    assert rows.shape == (101, 3) and rows.passes == 0
    total, n = rows.sum(sums, 2.0)
    np.testing.assert_allclose(total, 2.0 * X.sum(axis=0))
    assert n == 101.0
    np.testing.assert_array_equal(rows.column(lambda chunk: chunk.X[:, 0]), X[:, 0])
    each = rows.split(np.arange(101.0))
    np.testing.assert_array_equal(rows.column(lambda chunk, own: chunk.X[:, 0] + own, each=each), X[:, 0] + np.arange(101.0))
    np.testing.assert_array_equal(rows.gathered().X, X)
    assert rows.passes == 4


def test_rows_by_their_numbers_touch_only_their_chunks() -> None:
    X = RNG.normal(size=(101, 3))
    loaded = []

    class Watched:
        def __init__(self, part: Any) -> None:
            self.part = part

        def __call__(self) -> Any:
            loaded.append(self.part.where)
            return self.part.load()

    source = mercer.chunks(X, np.arange(101.0), rows=10)
    parts = [type(p)(p.where, Watched(p)) for p in source.parts]
    rows = ChunkedRows.opened(Chunks(parts, source.lengths), "vectors", lambda y, n, name: np.asarray(y), "test")
    loaded.clear()
    found = rows.take(np.array([0, 5, 9, 47, 100]))
    np.testing.assert_array_equal(found.X, X[[0, 5, 9, 47, 100]])
    np.testing.assert_array_equal(found.y, [0, 5, 9, 47, 100])
    assert len(loaded) == 3


def test_chunks_of_unknown_lengths_are_counted_and_empty_ones_skipped() -> None:
    parts = [np.ones((4, 2)), np.ones((0, 2)), 2 * np.ones((3, 2))]
    rows = opened(mercer.chunks(lambda: iter(parts)))
    assert rows.lengths == (4, 0, 3) and rows.passes == 1
    np.testing.assert_array_equal(rows.take(np.array([3, 4])).X, [[1, 1], [2, 2]])
    np.testing.assert_array_equal(rows.sum(sums, 1.0)[0], [10, 10])


@pytest.mark.parametrize("kernel", [mercer.Gaussian(1.0), mercer.Polynomial(2), mercer.Laplacian(2.0)])
def test_the_operator_is_the_matrix(kernel: Any) -> None:
    X = RNG.normal(size=(57, 3))
    K = ChunkOperator(kernel, opened(mercer.chunks(X, rows=20)))
    whole, V = kernel(X), RNG.normal(size=(57, 2))
    assert K.shape == (57, 57)
    np.testing.assert_allclose(K @ V, whole @ V, atol=1e-10)
    np.testing.assert_allclose(K @ V[:, 0], whole @ V[:, 0], atol=1e-10)
    np.testing.assert_allclose(K.diag(), np.diag(whole), atol=1e-12)
    with pytest.raises(InputError, match="NaN or infinite"):
        K @ np.full(57, np.nan)
    with pytest.raises(InputError, match="an iterator can be read only once"):
        ChunkOperator(kernel, opened(mercer.chunks(iter([X]))))
