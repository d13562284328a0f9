"""A column of a table as a few bounded features whose means tell distributions apart.

Numbers: cosines and sines at eight frequencies, the quadrature of a Gaussian kernel, for two length scales: one standard
deviation, which sees shapes, and 2.5 of them, which sees means more sharply. Everything else: one indicator per value.
Missing cells: an indicator of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.twosample.samples import Pooled

#: Frequencies: the middles of eight equally likely parts of |N(0, 1)|, for a length scale of one standard deviation.
FREQUENCIES = np.array([0.0784, 0.2372, 0.4023, 0.5791, 0.7764, 1.0100, 1.3180, 1.8627])

#: Length scales in standard deviations.
SCALES = (1.0, 2.5)

#: Values of a column of words that get an indicator each; rarer ones share the last.
CATEGORIES = 32


@dataclass(frozen=True)
class ColumnFeatures:
    """One (N, r) array of features per length scale; the column in standard units, for a difference people can read."""

    views: tuple[NDArray[np.float64], ...]
    standard: NDArray[np.float64]


def column_features(pooled: Pooled, j: int) -> ColumnFeatures:
    """The features of column j."""
    if pooled.kind == "numbers":
        return _numeric(np.asarray(pooled.rows.data[:, j], dtype=np.float64))
    column = pooled.rows.data[pooled.rows.data.columns[j]]
    values = np.asarray(column.to_numpy())
    if values.dtype.kind in "fiub":
        return _numeric(values.astype(np.float64))
    return _words(values)


def _numeric(values: NDArray[np.float64]) -> ColumnFeatures:
    seen = np.isfinite(values)
    known = values[seen]
    varied = len(known) > 0 and float(np.ptp(known)) > 0  # the deviation of a constant may come out as rounding
    unit = float(np.abs(known).max(initial=0.0)) or 1.0  # the squares of 1e-200 would be 0
    known = known / unit
    center, spread = (float(known.mean()), float(known.std())) if varied else (known[0] if len(known) else 0.0, 1.0)
    standard = np.where(seen, values / unit - center, 0.0) / (spread or 1.0)
    missing = [] if seen.all() else [~seen[:, None] * 1.0]
    views = []
    for scale in SCALES:
        angles = np.multiply.outer(standard, FREQUENCIES / scale)
        waves = [np.cos(angles) * seen[:, None], np.sin(angles) * seen[:, None], *missing]
        views.append(np.concatenate(waves, axis=1) / np.sqrt(len(FREQUENCIES)))
    return ColumnFeatures(tuple(views), standard)


def _words(values: NDArray[Any]) -> ColumnFeatures:
    labels, codes, counts = np.unique(np.array([str(v) for v in values]), return_inverse=True, return_counts=True)
    rank = np.empty(len(labels), np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(labels))
    place = np.minimum(rank[codes], CATEGORIES - 1)
    features = np.zeros((len(values), min(len(labels), CATEGORIES)))
    features[np.arange(len(values)), place] = 1.0
    return ColumnFeatures((features,), (place == 0).astype(np.float64))
