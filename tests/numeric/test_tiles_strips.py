"""Strips and wide tiles see every entry once, in order."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.numeric.tiles import fill_wide, walk


@pytest.mark.parametrize("width", [None, 100, 1920])
@pytest.mark.parametrize("shape", [(1, 1), (5, 1000), (700, 3), (481, 723)])
def test_a_walk_goes_left_to_right_over_everything(shape, width, rng):
    A, seen, ends = rng.normal(size=shape), np.zeros(shape), np.zeros(shape[0], int)

    def visit(rows, cols, values):
        assert np.array_equal(values, A[rows, cols]) and (ends[rows] == cols.start).all()
        seen[rows, cols] += 1
        ends[rows] = cols.stop

    walk(lambda r, c: A[r, c], shape, visit, width=width)
    assert (seen == 1).all()


@pytest.mark.parametrize("shape", [(1, 1), (3, 100_000), (700, 3), (481, 723)])
def test_wide_tiles_fill_everything(shape, rng):
    A = rng.normal(size=shape)
    assert np.array_equal(fill_wide(lambda r, c: A[r, c], np.empty(shape)), A)
