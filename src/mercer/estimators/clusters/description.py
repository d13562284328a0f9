"""Descriptions of clusters: silhouettes in feature space, rows nearest to the centers, and names from features."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats, Indices
from mercer.errors import CapabilityError, InputError
from mercer.grams import gram
from mercer.inputs import Rows, is_frame
from mercer.inputs.frames import CATEGORY, NUMBER, ORDERED, Column, read_columns
from mercer.inputs.vectors import looks_like_vectors
from mercer.kernels.base import Kernel

#: Kernel values held at a time.
VALUES = 2**22

#: Levels of a column that may name a cluster, the most frequent ones.
LEVELS = 50

#: A feature names a cluster if its mean there differs by this many standard deviations within clusters.
LEAST_EFFECT = 0.5


def silhouettes(kernel: Kernel, X: Any, labels: Indices, k: int) -> Floats:  # (n,) -> (n,)
    """Return (b - a) / max(a, b) of every row, with distances ||phi(x) - phi(z)||.

    a is the mean distance to the other rows of the same cluster, b the smallest mean distance to the rows of another one.
    A row that is alone in its cluster has the value 0.
    """
    sizes = np.bincount(labels, minlength=k).astype(np.float64)
    if np.count_nonzero(sizes) < 2:
        raise InputError("Silhouettes compare clusters: all rows are in one cluster, and at least two are needed.")
    members = np.zeros((len(labels), k))
    members[np.arange(len(labels)), labels] = 1.0
    found = np.empty(len(labels))
    for rows, distances in _distances(kernel, Rows(X)):
        own, each = labels[rows], np.arange(len(distances))
        sums = distances @ members
        inside = sums[each, own] / np.maximum(sizes[own] - 1.0, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            means = np.where(sizes > 0, sums / sizes, np.inf)
        means[each, own] = np.inf
        other = means.min(axis=1)
        scale = np.maximum(inside, other)
        alone = (sizes[own] == 1) | (scale <= 0)
        found[rows] = np.where(alone, 0.0, (other - inside) / np.where(scale > 0, scale, 1.0))
    return found


def _distances(kernel: Kernel, rows: Rows) -> Iterator[tuple[slice, Floats]]:
    """Yield blocks of distances in feature space, (b, n); a row has the distance 0 to itself."""
    diagonal = np.asarray(kernel.diag(rows), dtype=np.float64)
    step = max(1, VALUES // len(rows))
    for start in range(0, len(rows), step):
        part = slice(start, min(start + step, len(rows)))
        K = np.asarray(gram(kernel, rows.take(part), rows), dtype=np.float64)
        squared = np.maximum(diagonal[part, None] + diagonal - 2.0 * K, 0.0)
        squared[np.arange(len(squared)), np.arange(part.start, part.stop)] = 0.0
        yield part, np.sqrt(squared)


def nearest_rows(squared: Floats, n: int) -> list[Indices]:  # (n, k)
    """Return for every cluster the rows of it that are nearest to its center, the nearest first, at most n."""
    labels = squared.argmin(axis=1)
    found = []
    for cluster in range(squared.shape[1]):
        inside = np.flatnonzero(labels == cluster)
        found.append(inside[np.argsort(squared[inside, cluster], kind="stable")[:n]])
    return found


@dataclass(frozen=True)
class Feature:
    """Values of a feature, and how a cluster is called where they are large or small."""

    values: Floats  # (n,) with NaN for missing ones
    large: str
    small: str


def cluster_names(kernel: Kernel, X: Any, labels: Indices, k: int, n: int) -> list[str]:
    """Return a name for every cluster: the n features whose means differ most from those of all other rows.

    The difference of means is measured in standard deviations within the cluster and outside of it, pooled.
    """
    features = list(_features(kernel, X))
    names = []
    for cluster in range(k):
        inside = labels == cluster
        effects = [_effect(feature.values[inside], feature.values[~inside]) for feature in features]
        order = sorted(range(len(features)), key=lambda j: (-round(abs(effects[j]), 9), effects[j] < 0))[:n]
        words = [
            features[j].large if effects[j] > 0 else features[j].small for j in order if abs(effects[j]) >= LEAST_EFFECT
        ]
        names.append(", ".join(words) or "nothing in particular")
    return names


def _effect(inside: Floats, outside: Floats) -> float:
    """Return the difference of means over the pooled standard deviation; 0 if a side has no values."""
    inside, outside = inside[~np.isnan(inside)], outside[~np.isnan(outside)]
    if len(inside) == 0 or len(outside) == 0:
        return 0.0
    gap = float(inside.mean() - outside.mean())
    scale = max(float(np.abs(inside).max()), float(np.abs(outside).max()))
    spread = float(np.sqrt((inside.var() * len(inside) + outside.var() * len(outside)) / (len(inside) + len(outside))))
    least = np.finfo(np.float64).eps * scale
    return gap / max(spread, 1e-6 * scale) if abs(gap) > 4.0 * least else 0.0


def _features(kernel: Kernel, X: Any) -> Iterator[Feature]:
    """Yield the columns of a table, or what the kernel counts."""
    if is_frame(X) or (looks_like_vectors(X) and not sp.issparse(X) and not kernel.given):
        for column in read_columns(X):
            yield from _of_column(column)
        return
    if kernel.features is None:
        raise CapabilityError(
            f"KernelKMeans.cluster_names: rows have no columns and {kernel} counts nothing, so clusters have no names. "
            "Look at nearest_rows(X)."
        )
    counts = sp.csc_array(kernel.feature_map(X))
    for place, name in enumerate(kernel.feature_names(X)):
        values = np.asarray(counts[:, [place]].todense(), dtype=np.float64).ravel()
        yield Feature(values, f"many {name}", f"few {name}")


def _of_column(column: Column) -> Iterator[Feature]:
    if column.kind == NUMBER:
        yield Feature(np.asarray(column.cells, dtype=np.float64), f"high {column.name}", f"low {column.name}")
    elif column.kind == ORDERED:
        rank = {level: float(i) for i, level in enumerate(column.levels)}
        values = np.array([np.nan if cell is None else rank[cell] for cell in column.cells])
        yield Feature(values, f"high {column.name}", f"low {column.name}")
    elif column.kind == CATEGORY:
        for level, _ in Counter(column.observed()).most_common(LEVELS):
            values = np.array(
                [np.nan if hole else float(cell == level) for cell, hole in zip(column.cells, column.holes, strict=True)]
            )
            yield Feature(values, f"{column.name} = {level}", f"{column.name} not {level}")
