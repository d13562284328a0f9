"""Dask collections as parts: one per partition, in order. Dask itself is imported only when a collection is there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer.errors import InputError, MissingExtraError, describe
from mercer.inputs.rows import count, take

Named = tuple[str, Callable[[], tuple[Any, Any, Any]]]  # where, load


def is_dask(X: Any) -> bool:
    """Whether it is a Dask collection; Dask is not loaded for the question."""
    return hasattr(X, "__dask_graph__") and not isinstance(X, type)


class DaskPart:
    """The delayed X, y and weights of one partition; called, it computes them here, by whatever scheduler Dask has."""

    def __init__(self, X: Any, y: Any, weights: Any) -> None:
        self.delayed = (X, y, weights)

    def __call__(self) -> tuple[Any, Any, Any]:
        import dask

        X, y, w = dask.compute(*self.delayed)
        return X, y, w


def dask_parts(
    X: Any,
    y: Any,
    sample_weight: Any,
    target: str | Sequence[str] | None,
    weight: str | None,
    columns: Sequence[str] | None,
) -> tuple[list[Named], tuple[int, ...] | None, Any]:
    """The partitions of X with their targets and weights, their lengths where Dask knows them, and the client."""
    try:
        import dask.delayed  # noqa: F401
    except ImportError:
        raise MissingExtraError('Dask collections need dask: pip install "mercer[dask]"') from None
    if hasattr(X, "columns") and hasattr(X, "map_partitions"):
        X, y, sample_weight = _from_frame(X, y, sample_weight, target, weight, columns)
    elif target is not None or weight is not None or columns is not None:
        raise InputError("chunks: target=, weight= and columns= name columns of a data frame; X is none.")
    delayed, lengths = _split(X, "X", None)
    found = [delayed]
    for name, values in (("y", y), ("sample_weight", sample_weight)):
        if values is None:
            found.append([None] * len(delayed))
            continue
        parts, other = _split(values, name, lengths)
        if len(parts) != len(delayed):
            raise InputError(
                f"{name} has {len(parts)} partitions and X has {len(delayed)}; give them the same partitions, such as "
                "y.rechunk(X.chunks[0])."
            )
        for i, (mine, its) in enumerate(zip(lengths or (), other or (), strict=False)):
            if mine != its:
                raise InputError(f"partition {i}: X has {mine} rows and {name} has {its}; give them the same partitions.")
        found.append(parts)
    parts = [(f"partition {i}", DaskPart(*triple)) for i, triple in enumerate(zip(*found, strict=True))]
    return parts, lengths, _client()


def _client() -> Any:
    """The client that the person has made, if there is one."""
    try:
        from distributed.client import default_client

        return default_client()
    except (ImportError, ValueError):
        return None


def _from_frame(
    frame: Any, y: Any, w: Any, target: str | Sequence[str] | None, weight: str | None, columns: Sequence[str] | None
) -> tuple[Any, Any, Any]:
    named = [] if target is None else [target] if isinstance(target, str) else list(target)
    unknown = [c for c in (*named, *([weight] if weight else ()), *(columns or ())) if c not in frame.columns]
    if unknown:
        raise InputError(f"X has no column {unknown[0]!r}; it has {', '.join(map(repr, list(frame.columns)[:12]))}.")
    if target is not None:
        y = frame[target] if isinstance(target, str) else frame[list(target)]
    if weight is not None:
        w = frame[weight]
    rest = [c for c in frame.columns if c not in {*named, weight}] if columns is None else list(columns)
    return frame[rest] if rest != list(frame.columns) else frame, y, w


def _split(values: Any, name: str, lengths: tuple[int, ...] | None) -> tuple[list[Any], tuple[int, ...] | None]:
    """The delayed partitions of a collection, and their lengths if known; `lengths` are those that X has."""
    if not is_dask(values):
        if lengths is None:
            raise InputError(
                f"{name} is {describe(values)}, and the partitions of X have unknown sizes; give {name} as a Dask "
                "collection of the same partitions, or call X.compute_chunk_sizes()."
            )
        if count(values) != sum(lengths):
            raise InputError(f"{name} has {count(values)} rows, X has {sum(lengths)}.")
        ends = np.cumsum(lengths)
        values = values if hasattr(values, "shape") else np.asarray(values)
        return [take(values, slice(int(e - k), int(e))) for e, k in zip(ends, lengths, strict=True)], lengths
    if hasattr(values, "chunks"):  # an array
        if values.ndim > 1 and values.numblocks[1] > 1:
            values = values.rechunk({1: -1})
        known = not any(np.isnan(n) for n in values.chunks[0])
        if known and lengths is not None and tuple(values.chunks[0]) != lengths and sum(values.chunks[0]) == sum(lengths):
            values = values.rechunk({0: lengths})
        own = tuple(int(n) for n in values.chunks[0]) if known else None
        return list(values.to_delayed().ravel()), own
    if hasattr(values, "to_delayed"):  # a data frame, a series or a bag
        return list(values.to_delayed()), None
    return [values], None  # a single delayed object
