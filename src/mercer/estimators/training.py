"""What a fit has read: rows in memory, or rows that come in chunks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_outlier_detector, is_regressor

from mercer.arrays import Array, Floats
from mercer.errors import CapabilityError, InputError
from mercer.grams.chunks.rows import ChunkedRows, resolved
from mercer.inputs import Rows, columns_of, count, take
from mercer.inputs.chunks import Chunk, Chunks
from mercer.inputs.labels import classes_of
from mercer.kernels.base import Kernel
from mercer.planning import Shape


@dataclass(frozen=True)
class TrainingSet:
    """What a fit has read: rows in the form the kernel takes, targets, weights, and the kernel with its numbers.

    Rows in chunks stand in X; their targets and weights come with them, and y has the shape of the targets without rows.
    """

    X: Any
    y: Any  # what the family's _read_y returned
    weights: Floats | None  # (n,)
    kernel: Kernel
    rows: Any  # Rows of X with what kernels have made of it: shared by all that evaluate kernels on it, gone with the fit
    more: Mapping[str, Any] = field(default_factory=dict)  # further arguments of fit, such as groups
    source: ChunkedRows | None = None  # the chunks, where the rows are in memory too because the model keeps them

    @property
    def n(self) -> int:
        """The number of rows."""
        return count(self.X)

    @property
    def chunked(self) -> bool:
        """Whether the rows come in chunks."""
        return isinstance(self.X, ChunkedRows)

    @property
    def factors(self) -> Any:
        """The rows for products with the kernel matrix: by chunks where they came so."""
        return self.X if self.source is None else self.source

    @property
    def counted(self) -> Floats:  # (n,)
        """The weights; ones where none were given."""
        return np.ones(self.n) if self.weights is None else self.weights


def open_chunks(model: Any, chunks: Chunks) -> ChunkedRows:
    """The chunks as this estimator reads them, after a look at the first and a count."""
    if not model._takes_chunks:
        raise refuse_chunks(model)
    kind = kind_of_rows(model)
    return ChunkedRows.opened(chunks, kind, model._chunk_targets(), f"{type(model).__name__} {model.get_params()!r}")


def kind_of_rows(model: Any) -> str:
    """What the rows of chunks are for the kernel of this estimator."""
    kernel: Kernel = model._given_kernel()
    if kernel.given:
        raise CapabilityError(f"{type(model).__name__}: Precomputed kernel values do not come in chunks; give the rows.")
    views = kernel._views()
    return next((kind for kind in ("table", "strings", "graphs") if kind in views), "vectors")


def read_chunks(model: Any, chunks: Chunks, more: Mapping[str, Any]) -> TrainingSet:
    """Open the chunks, take the names of the columns from them, and put numbers into the kernel."""
    rows = open_chunks(model, chunks)
    for name in ("n_features_in_", "feature_names_in_"):
        model.__dict__.pop(name, None)
    if len(rows.shape) == 2:
        model.n_features_in_ = rows.shape[1]
        if rows.names is not None:
            model.feature_names_in_ = np.array(rows.names, dtype=object)
    y = None if rows.head.y is None else rows.head.y[:0]
    return TrainingSet(rows, y, None, resolved(model._given_kernel(), rows), rows, more)


def with_rows(data: TrainingSet) -> TrainingSet:
    """The same data with all rows in memory, for models that are expansions on them; products still go by chunks."""
    chunks: ChunkedRows = data.X
    if chunks.once:
        raise InputError("this fit goes through the rows several times, and an iterator is read once; give a function.")
    whole = chunks.gathered()
    return replace(data, X=whole.X, y=whole.y, weights=whole.weights, rows=Rows(whole.X), source=chunks)


def classes_of_chunks(what: str, rows: ChunkedRows) -> Array:
    """The classes that occur in the chunks, sorted; a class whose rows all weigh nothing is none."""
    found = [labels for labels in rows.map(_labels) if labels is not None]
    return classes_of(what, np.concatenate(found))


def _labels(chunk: Chunk) -> Array:
    return np.unique(chunk.y if chunk.weights is None else chunk.y[chunk.weights > 0])


def shape_of_chunks(kernel: Kernel, rows: ChunkedRows) -> Shape:
    """What the routes need to know of chunks."""
    finite = None if kernel.unresolved else kernel.features
    shared = finite is not None and finite.shared
    features = kernel.n_features(take(rows.head.X, slice(0, 1))) if shared else None
    y = rows.head.y
    targets = y.shape[1] if y is not None and y.ndim == 2 else 1
    return Shape(rows.n, targets, 8, features, columns_of(rows.head.X) or 1)


def passes_before(kernel: Kernel, rows: ChunkedRows) -> int:
    """Passes over the chunks before a solver begins: to count the rows, and to draw those that fix a "median"."""
    return int(not rows.counted and not rows.once) + int(kernel.unresolved and not rows.once)


def refuse_chunks(model: Any) -> CapabilityError:
    """Say that this estimator needs its rows in memory, and which do not."""
    if is_classifier(model):
        instead = "KernelRidgeClassifier or NearestMean"
    elif is_outlier_detector(model):
        instead = "NoveltyBall"
    elif is_regressor(model):
        instead = "KernelRidge, KernelRidgeCV or GaussianProcessRegressor"
    else:
        instead = "Nystroem or RandomFourierFeatures"
    return CapabilityError(
        f"{type(model).__name__} cannot be fitted by chunks: its solver needs all rows at hand. Use {instead}, fit on some "
        "of the rows, or compute() the collection where it fits into memory."
    )
