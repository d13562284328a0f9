"""A table model that has been judged, fitted once more with the same choices to all rows: those that judged it too."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.arrays import Array, Floats, Indices
from mercer.estimators.tables import ridge
from mercer.estimators.tables.base import TableEstimator
from mercer.estimators.tables.members import Member
from mercer.numeric.memory import budget_bytes


def refitted(model: TableEstimator, X: Any, y: Array) -> Any:
    """The model with its kernels, penalties, scalings and weights, fitted to more rows; None where memory forbids it.

    Intervals keep the width that was found before: with more rows they hold a little more than asked for.
    """
    n = len(y)
    exact = [len(member.model.dual) == model.result_.rows for member in model.members_]
    if any(exact) and 16 * n * n > budget_bytes(model.memory):
        return None
    inputs = model._new_inputs(X)
    labels = getattr(model, "classes_", None)
    Y = np.asarray(y, dtype=np.float64)[:, None] if labels is None else np.eye(len(labels))[np.searchsorted(labels, y)]
    again = copy.copy(model)
    again.members_ = tuple(
        _member(member, inputs, Y, None if whole else len(member.model.dual))
        for member, whole in zip(model.members_, exact, strict=True)
    )
    return again


def renumbered(model: Any, numbers: Indices) -> Any:  # numbers: (n,) of the rows of the fit
    """The model with its rows called by other numbers, such as those of a file of which some rows were not fitted."""
    again = copy.copy(model)
    again.members_ = tuple(
        replace(member, model=replace(member.model, rows=numbers[member.model.numbers()])) for member in model.members_
    )
    return again


def _member(member: Member, inputs: dict[str, Any], Y: Floats, landmarks: int | None) -> Member:
    targets = member.transform.forward(Y)
    old = member.model
    return replace(member, model=ridge.fit(old.kernel, inputs[member.scaling], targets, old.alpha, landmarks))
