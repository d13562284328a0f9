"""Predictions of lazy collections stay lazy: one block of predictions per block of rows, computed on demand."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from inspect import isfunction
from typing import Any

import numpy as np

from mercer.errors import InputError
from mercer.inputs import count
from mercer.inputs.chunks import ChunkReader, Chunks, is_dask
from mercer.numeric.threads import one_thread

#: Methods that answer row by row.
ROW_BY_ROW = (
    "predict", "predict_proba", "predict_log_proba", "decision_function", "transform", "score_samples", "predict_interval",
    "p_values",
)  # fmt: skip


def answer_lazily(cls: type) -> None:
    """Make the row-by-row methods of a class accept lazy collections."""
    for name in ROW_BY_ROW:
        method = getattr(cls, name, None)
        if isfunction(method) and not hasattr(method, "_takes_lazy"):
            setattr(cls, name, _lazily(method))


def _lazily(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def through(self: Any, X: Any, *arguments: Any, **keywords: Any) -> Any:
        if is_dask(X) or isinstance(X, Chunks):
            return _of_parts(_Question(self, method.__name__, arguments, keywords), X)
        return method(self, X, *arguments, **keywords)

    through._takes_lazy = True  # type: ignore[attr-defined]
    return through


class _Question:
    """A method of a fitted model with all but its rows."""

    def __init__(self, model: Any, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        self.model, self.name, self.arguments, self.keywords = model, name, arguments, keywords

    def __call__(self, X: Any) -> Any:
        return getattr(self.model, self.name)(X, *self.arguments, **self.keywords)

    def of_part(self, X: Any, where: str, like: Any) -> Any:
        """Return the result for one part; empty for an empty one, with the shape of `like`. Errors name the part."""
        if isinstance(X, Iterator):
            X = list(X)
        if count(X) == 0:
            return tuple(a[:0] for a in like) if isinstance(like, tuple) else like[:0]
        try:
            with one_thread():
                return self(X)
        except InputError as error:
            raise InputError(f"{where}: {error}") from None


def _of_parts(question: _Question, X: Any) -> Any:
    if isinstance(X, Chunks):
        return _of_chunks(question, X)
    if hasattr(X, "chunks"):
        X = X.rechunk({1: -1}) if X.ndim > 1 and X.numblocks[1] > 1 else X
        like = question(np.ones((1, *X.shape[1:]), dtype=X.dtype))
        return _joined(question, X.to_delayed().ravel(), X.chunks[0], like)
    if hasattr(X, "columns"):
        like = question(X._meta_nonempty.iloc[:1])
        return _joined(question, X.to_delayed(), (np.nan,) * X.npartitions, like)
    return X.map_partitions(_listed, question)  # a bag: one answer per item


def _of_chunks(question: _Question, X: Chunks) -> Iterator[Any]:
    names = getattr(question.model, "feature_names_in_", None)
    reader = ChunkReader(question.model.kind_of_rows(), None, names=None if names is None else tuple(names))
    for number, part in enumerate(X.parts):
        rows, _, _ = part.load()
        chunk = reader.read(number, part.where, (rows, None, None))
        if chunk is not None:
            with warnings.catch_warnings():  # the reader has looked at the names, and hands over plain arrays
                warnings.filterwarnings("ignore", message="X does not have valid feature names")
                yield question(chunk.X)


def _listed(part: Any, question: _Question) -> list[Any]:
    items = list(part)
    return list(question.of_part(items, "a partition", [])) if items else []


def _joined(question: _Question, blocks: Any, lengths: Any, like: Any) -> Any:
    """The answers of delayed blocks as a Dask array, or as a tuple of them where the method returns several."""
    import dask
    import dask.array as da

    several = isinstance(like, tuple)
    whole = dask.delayed(question, traverse=False)
    ask = dask.delayed(_Question.of_part)
    found = [ask(whole, block, f"partition {i}", like) for i, block in enumerate(blocks)]

    def column(answers: list[Any], sample: Any) -> Any:
        sample = np.asarray(sample)
        parts = [
            da.from_delayed(answer, shape=(n, *sample.shape[1:]), meta=sample[:0])
            for answer, n in zip(answers, lengths, strict=True)
        ]
        return da.concatenate(parts, allow_unknown_chunksizes=True)

    if not several:
        return column(found, like)
    return tuple(column([answer[i] for answer in found], sample) for i, sample in enumerate(like))
