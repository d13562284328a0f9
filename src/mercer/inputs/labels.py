"""Class labels: validation, and conversion to the numbers 0 … C - 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from mercer.arrays import Array, Floats, Indices
from mercer.errors import InputError
from mercer.inputs.tables import missing_cells


def read_labels(what: str, y: Any, n: int) -> Array:
    """Return class labels, one number or string per row; raise for fractions and missing labels."""
    if y is None:
        raise InputError(f"{what} requires y to be passed, but the target y is None; give one class label per row.")
    if type(y) is np.ndarray and y.shape == (n,) and y.dtype.kind in "iubU" and n > 0:
        return y  # integers and strings need no further checks
    labels = column_or_1d(y, warn=True)
    if len(labels) != n:
        raise InputError(f"{what}: y has {len(labels)} labels for {n} rows of X; give one class label per row.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        word = "NaN" if np.isnan(labels).any() else "infinity"
        raise InputError(f"{what}: Input y contains {word}; drop such rows first.")
    if labels.dtype.kind == "O" and (holes := missing_cells(labels)).any():
        row = int(np.argmax(holes))
        raise InputError(f"{what}: Input y contains NaN: row {row} has the label {labels[row]!r}; drop such rows first.")
    check_classification_targets(labels)
    return np.asarray(labels)


def read_chunk_labels(what: str, y: Any, n: int, name: str) -> Array:
    """Return the labels of one chunk, checked by `read_labels`; messages begin with the chunk."""
    try:
        return read_labels(what, np.asarray(y) if y is not None else None, n)
    except ValueError as error:
        raise InputError(f"{name}: {error}") from None


def classes_of(what: str, labels: Array, weights: Array | None = None) -> Array:
    """Return the sorted classes; a class whose rows all have weight 0 is left out."""
    classes = np.unique(labels if weights is None else labels[weights > 0])
    if len(classes) < 2:
        raise InputError(
            f"{what} needs at least two classes, and y holds one class only: {classes.tolist()[0]!r}. "
            "To tell new from known with one class, use NoveltyBall."
        )
    return classes


def encode(what: str, labels: Array, classes: Array) -> Indices:  # (n,), (C,) -> (n,)
    """Return the class number of each label; raise if a label is not among the classes."""
    place = np.clip(np.searchsorted(classes, labels), 0, len(classes) - 1)
    unknown = classes[place] != labels
    if unknown.any():
        label = labels[unknown].tolist()[0]
        raise InputError(
            f"{what}: the label {label!r} is none of the classes {classes.tolist()}; name all classes in the first call: "
            "partial_fit(X, y, classes=…)."
        )
    return place


def class_weights(what: str, given: Any, classes: Array, codes: Indices, weights: Floats) -> Floats:  # -> (C,)
    """Return the weight of every class; "balanced" counts rows by their weights, so weight 2 equals two copies.

    `codes` are the class numbers of the rows; rows of code -1 or weight 0 are not counted. A class without counted rows has
    weight 0 if "balanced" is given: a training part may lack it.
    """
    if given is None:
        return np.ones(len(classes))
    if isinstance(given, str) and given == "balanced":
        counted = codes >= 0
        totals = np.bincount(codes[counted], weights[counted], minlength=len(classes))
        present = totals > 0
        return np.divide(totals.sum(), present.sum() * totals, out=np.zeros(len(classes)), where=present)
    if not isinstance(given, Mapping):
        raise InputError(f'{what}: class_weight must be None, "balanced" or a dict of class: weight; got {given!r}.')
    names = classes.tolist()
    unknown = [name for name in given if name not in names]
    if unknown:
        raise InputError(f"{what}: class_weight names {unknown[0]!r}; the classes are {names}.")
    try:
        found = np.array([float(given.get(name, 1.0)) for name in names])
    except (TypeError, ValueError, OverflowError):
        found = np.array([np.nan])
    if not (np.isfinite(found).all() and (found > 0).all()):
        raise InputError(f"{what}: class_weight must hold finite numbers > 0; got {given!r}.")
    return found


def stream_classes(what: str, given: Any, labels: Array) -> Array:
    """Return the classes of a stream: those given in its first call, or those of its first batch."""
    if given is None:
        return classes_of(what, labels)
    classes = np.unique(np.asarray(given))
    if len(classes) < 2:
        raise InputError(f"{what}: classes= must name at least two classes; got {classes.tolist()}.")
    return classes
