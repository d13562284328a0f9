"""Walks in two graphs at once, along nodes of equal labels."""

from __future__ import annotations

import numba
import numpy as np

import mercer.numeric._compiled_notice  # noqa: F401
from mercer.arrays import Codes, Floats, Ints


@numba.njit(cache=True, nogil=True)
def common_walks(
    indptr: Ints, neighbors: Codes, labels: Codes, first: Ints, g: int, h: int, decay: float, steps: int, work: Floats
) -> float:  # work (3, at least n_g n_h)
    """sum over l = 0 … steps of decay^l times the pairs of walks of l edges in g and h with equal labels on the way."""
    base, n = first[g], first[g + 1] - first[g]
    other, m = first[h], first[h + 1] - first[h]
    same, now, half = work[0], work[1], work[2]
    total = 0.0
    for i in range(n):
        for j in range(m):
            same[i * m + j] = 1.0 if labels[base + i] == labels[other + j] else 0.0
            now[i * m + j] = same[i * m + j]
            total += same[i * m + j]
    weight, count = 1.0, total
    for _ in range(steps):
        if count == 0.0:
            break
        weight *= decay
        for i in range(n):  # one step in g …
            row = half[i * m : (i + 1) * m]
            row[:] = 0.0
            for a in range(indptr[base + i], indptr[base + i + 1]):
                at = (neighbors[a] - base) * m
                for j in range(m):
                    row[j] += now[at + j]
        count = 0.0
        for i in range(n):  # … and one in h
            for j in range(m):
                at = i * m + j
                value = 0.0
                if same[at]:
                    for b in range(indptr[other + j], indptr[other + j + 1]):
                        value += half[i * m + neighbors[b] - other]
                now[at] = value
                count += value
        total += weight * count
    return total


@numba.njit(cache=True, nogil=True)
def walk_block(
    indptr: Ints,
    neighbors: Codes,
    labels: Codes,
    first: Ints,
    left: Ints,
    right: Ints,
    decay: float,
    steps: int,
    out: Floats,
) -> None:  # (r,), (c,) graphs; writes out (r, c)
    """The values of a tile."""
    largest = np.zeros(2, np.int64)
    for g in left:
        largest[0] = max(largest[0], first[g + 1] - first[g])
    for h in right:
        largest[1] = max(largest[1], first[h + 1] - first[h])
    work = np.empty((3, largest[0] * largest[1]), np.float64)
    for r in range(left.shape[0]):
        for c in range(right.shape[0]):
            out[r, c] = common_walks(indptr, neighbors, labels, first, left[r], right[c], decay, steps, work)


@numba.njit(cache=True, nogil=True)
def walk_numbers(
    indptr: Ints, neighbors: Codes, first: Ints, low: int, high: int, out: Floats
) -> None:  # out (n, steps + 1)
    """The number of walks of 0 … steps edges in every graph, labels aside."""
    for g in range(low, high):
        base, n = first[g], first[g + 1] - first[g]
        now, then = np.ones(n), np.empty(n)
        for step in range(out.shape[1]):
            out[g, step] = now.sum()
            for v in range(n):
                total = 0.0
                for a in range(indptr[base + v], indptr[base + v + 1]):
                    total += now[neighbors[a] - base]
                then[v] = total
            now, then = then, now
