"""The variables of a test of independence: scaled vectors with a Gaussian kernel, or any rows with a kernel of the user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.arrays import Floats, Indices
from mercer.errors import InputError
from mercer.inputs import Rows, as_vectors
from mercer.inputs.frames import CATEGORY, DATE, NUMBER, ORDERED, Column, read_columns
from mercer.inputs.tables import as_days
from mercer.kernels.base import Kernel
from mercer.kernels.parsing import as_kernel
from mercer.kernels.stationary import Gaussian
from mercer.kernels.strings.spectrum import Spectrum
from mercer.numeric.encodings import dense
from mercer.numeric.spread import column_deviation
from mercer.twosample.samples import kind_of

#: Rows whose distances set the median length scale.
MEDIAN_ROWS = 500

#: Eigenvalues of a Gram matrix of landmarks below this share of the largest are left out.
RANK_TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class Variable:
    """Rows of a variable with its kernels.

    `vectors` are the columns in units of their spread, for variables without a kernel of the user; `kernels` are the
    resolved kernels on `rows` (for a conditioning variable with several: candidates). `ignored` names constant columns.
    """

    name: str
    rows: Rows
    kernels: tuple[Kernel, ...]
    vectors: Floats | None
    ignored: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def gram(self, left: Indices, right: Indices, kernel: Kernel | None = None) -> Floats:
        """Return the kernel values between some rows and others."""
        chosen = self.kernels[0] if kernel is None else kernel
        if self.vectors is not None:
            return np.asarray(chosen(self.vectors[left], self.vectors[right]), dtype=np.float64)
        return np.asarray(chosen(self.rows.take(left), self.rows.take(right)), dtype=np.float64)

    def features(self, landmarks: Indices) -> Floats:  # -> (n, r)
        """Return centered features in order of variance, whose inner products approximate the centered kernel.

        With all rows as landmarks, the inner products are equal to the centered kernel.
        """
        whitening = inverse_root(self.gram(landmarks, landmarks))
        features = self.gram(np.arange(len(self)), landmarks) @ whitening
        features -= features.mean(axis=0)
        values, vectors = np.linalg.eigh(features.T @ features)
        kept = values > RANK_TOLERANCE * values[-1]
        return np.asarray(features @ vectors[:, kept][:, ::-1])


def inverse_root(gram: Floats) -> Floats:  # (m, m) -> (m, r)
    """Return W with W W' the pseudo-inverse of a Gram matrix."""
    values, vectors = np.linalg.eigh(gram)
    kept = values > RANK_TOLERANCE * max(values[-1], 0.0)
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))


def read_variable(data: Any, name: str, kernel: Any, owner: str) -> Variable:
    """Return a variable; without a kernel, columns are scaled by their spread and a Gaussian kernel is used."""
    if isinstance(data, np.ndarray) and data.ndim == 1 and data.dtype.kind in "fiub":
        data = data[:, None]
    if kernel is not None:
        rows = Rows(data, name)
        several = kernel if isinstance(kernel, (list, tuple)) else [kernel]
        if not several:
            raise InputError(f"{owner}: the list of kernels for {name} is empty. Give at least one kernel, or None.")
        return Variable(name, rows, tuple(as_kernel(one).resolve(rows) for one in several), None)
    rows = Rows(_framed(data), name)
    kind = kind_of(rows.data, tokens=False)
    if kind == "objects":
        if not all(isinstance(item, str) for item in rows.data):
            raise InputError(
                f"{owner}: there is no default kernel for {name}, a collection of {type(rows.data[0]).__name__}. "
                f"Give kernel_{name.lower()}, for example VertexHistogram() for graphs."
            )
        return Variable(name, rows, (Spectrum(2).normalized(),), None)
    names, columns, indicators = _columns(rows, kind, owner)
    spread = column_deviation(columns)
    spread = np.where(indicators & (spread > 0), 1.0, spread)  # two categories differ by one unit
    used = spread > 0
    ignored = tuple(one for one, use in zip(names, used, strict=True) if not use)
    vectors = columns[:, used] / spread[used]
    if vectors.shape[1] == 0:
        return Variable(name, rows, (), np.zeros((len(rows), 0)), ignored)
    return Variable(name, rows, (Gaussian(median_distance(vectors)),), vectors, ignored)


def median_distance(vectors: Floats) -> float:  # (n, d)
    """Return the median distance between different rows, of at most MEDIAN_ROWS rows spread evenly."""
    from scipy.spatial.distance import pdist

    rows = (
        np.unique(np.linspace(0, len(vectors) - 1, MEDIAN_ROWS).astype(int)) if len(vectors) > MEDIAN_ROWS else slice(None)
    )
    distances = pdist(vectors[rows])
    distances = distances[distances > 0]
    return float(np.median(distances)) if len(distances) else 1.0


def _framed(data: Any) -> Any:
    """Return a data frame for a series of pandas or polars, and other data unchanged."""
    if hasattr(data, "to_frame") and not hasattr(data, "columns"):
        return data.to_frame()
    return data


def _columns(rows: Rows, kind: str, owner: str) -> tuple[list[str], Floats, NDArray[np.bool_]]:
    """Return names and numbers of columns, and which are indicators.

    Categories become indicators; a missing number becomes the median, with an indicator beside it.
    """
    if kind != "frame":
        X = as_vectors(rows.data, rows.name)
        values = np.asarray(dense(X) if sp.issparse(X) else X, dtype=np.float64)
        width = values.shape[1]
        return [f"column {j} of {rows.name}" for j in range(width)], values, np.zeros(width, bool)
    names: list[str] = []
    parts: list[Floats] = []
    indicators: list[bool] = []
    for column in read_columns(rows.data, rows.name):
        encoded = _encoded(column, rows.name, owner)
        width = encoded.shape[1]
        names += [f"column {column.name!r} of {rows.name}"] * width
        indicators += [column.kind in (CATEGORY, ORDERED) or j > 0 for j in range(width)]
        parts.append(encoded)
    return names, np.concatenate(parts, axis=1), np.array(indicators)


def _encoded(column: Column, table: str, owner: str) -> Floats:  # -> (n, width)
    holes = column.holes
    if column.kind in (NUMBER, DATE):
        known = column.observed() if column.kind == NUMBER else as_days(column.observed(), column.name)[:, 0]
        cells = np.full(len(holes), np.median(known) if len(known) else 0.0)
        cells[~holes] = known
        return np.stack([cells, holes.astype(np.float64)] if holes.any() else [cells], axis=1)
    if column.kind in (CATEGORY, ORDERED):
        texts = ["" if hole else repr(cell) for cell, hole in zip(column.cells, holes, strict=True)]
        levels, codes = np.unique(texts, return_inverse=True)
        return np.asarray(np.eye(len(levels))[codes])
    raise InputError(
        f"{owner}: column {column.name!r} of {table} holds {column.kind}, which has no default kernel. "
        f"Give kernel_{table.lower()}, for example mercer.frame_kernel({table})."
    )
