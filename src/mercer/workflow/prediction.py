"""Predictions of a saved model for the rows of a new table, and differences between the table and the model."""

from __future__ import annotations

import abc
import difflib
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Array, Floats
from mercer.errors import InputError
from mercer.estimators.tables.base import TableEstimator
from mercer.inputs.frames import MOLECULE
from mercer.inputs.molecules import unreadable
from mercer.inputs.reading import SHOWN, delimiter_hint
from mercer.inputs.tables import Table, missing_cells
from mercer.workflow.question import listed


class Predictor(abc.ABC):
    """Abstract: a saved model that knows its columns by name."""

    def __init__(self, model: Any, names: Sequence[str]) -> None:
        self.model, self.names = model, list(names)

    @property
    @abc.abstractmethod
    def needed(self) -> list[str]:
        """The columns that the model uses."""

    @abc.abstractmethod
    def known_in(self, name: str, values: Array) -> NDArray[np.bool_]:
        """Return which cells (n,) of a column the model has a rule for."""

    def known(self, table: Table) -> NDArray[np.bool_]:
        """Return the rows (n,) that the model can predict."""
        return np.all([self.known_in(name, table[name].to_numpy()) for name in self.needed], axis=0)

    def as_in_training(self, table: Table) -> NDArray[np.bool_]:
        """The rows (n,) without missing cells where training had none."""
        return np.ones(len(table), dtype=bool)

    def notes(self, table: Table) -> list[str]:
        """Return notes on the predictions for a table."""
        return []

    @abc.abstractmethod
    def answers(self, table: Table, coverage: float | None, probabilities: bool) -> dict[str, Array]:
        """Return the columns to write for rows that can be predicted."""

    def sets(self, table: Table, coverage: float) -> dict[str, Array]:
        """The classes of the prediction set of every row, in one column."""
        raise InputError("the model gives no sets of classes; fit it again with this version of mercer.")


def predictor(model: Any, names: Sequence[str]) -> Predictor:
    """Return the predictor of a table model, or of a pipeline that scales numbers."""
    return OfTable(model, names) if isinstance(model, TableEstimator) else OfNumbers(model, names)


class OfTable(Predictor):
    """A TableRegressor or a TableClassifier."""

    @property
    def needed(self) -> list[str]:
        return [column.name for column in self.model.result_.columns if not column.note]

    def known_in(self, name: str, values: Array) -> NDArray[np.bool_]:
        """Return which cells are finite or readable molecules; a missing cell has a rule in every column."""
        known = np.ones(len(values), dtype=bool)
        if name in self.molecules:
            cells = [None if hole else str(cell) for cell, hole in zip(values, missing_cells(values), strict=True)]
            known[unreadable(cells)] = False
        return known & ~np.isinf(values) if values.dtype.kind == "f" else known

    def as_in_training(self, table: Table) -> NDArray[np.bool_]:
        """The rows (n,) without missing cells where training had none."""
        whole = [column.name for column in self.model.result_.columns if not column.note and not column.holes]
        return ~np.any([np.zeros(len(table), dtype=bool), *[missing_cells(table[n].to_numpy()) for n in whole]], axis=0)

    @property
    def molecules(self) -> dict[str, str]:
        """Return the columns of molecules, with that kind."""
        return {column.name: MOLECULE for column in self.model.result_.columns if column.kind == MOLECULE}

    def table(self, table: Table) -> Table:
        """Return the columns of the fit, in its order; columns that the model does not use may be missing."""
        here, needed, empty = set(table.columns), set(self.needed), np.full(len(table), np.nan)
        data = {n: table[n].to_numpy() if n in here and n in needed else empty for n in self.names}
        return Table(data, table.numbers, self.molecules)

    def notes(self, table: Table) -> list[str]:
        time = {name for latest in self.model.result_.latest for name in latest.columns}
        here = {name: table[name].to_numpy() for name in time & set(table.columns) & set(self.names)}
        used = self.table(table)
        columns = {name: here.get(name, used[name].to_numpy()) for name in self.names}
        return list(self.model.notes(Table(columns, table.numbers, self.molecules)))

    def answers(self, table: Table, coverage: float | None, probabilities: bool) -> dict[str, Array]:
        """Return the prediction, bounds and probabilities; columns that the model does not use may be missing."""
        X = self.table(table)
        if not hasattr(self.model, "classes_"):
            found = {"prediction": self.model.predict(X)}
            return found if coverage is None else found | bounds(self.model.predict_interval(X, coverage))
        P = self.model.predict_proba(X)
        found = {"prediction": self.model.classes_[P.argmax(axis=1)]}
        if probabilities:
            found |= {f"probability of {label}": P[:, j] for j, label in enumerate(self.model.classes_.tolist())}
        return found

    def sets(self, table: Table, coverage: float) -> dict[str, Array]:
        """The classes of the prediction set of every row, separated by |; empty if no class is probable enough."""
        inside, labels = self.model.predict_set(self.table(table), coverage), [str(c) for c in self.model.classes_.tolist()]
        return {
            "set": np.array(["|".join(c for c, held in zip(labels, row, strict=True) if held) for row in inside], object)
        }


class OfNumbers(Predictor):
    """A pipeline of a scaler and a ridge on columns of numbers, as version 0.1.0 wrote them."""

    @property
    def needed(self) -> list[str]:
        return self.names

    def known_in(self, name: str, values: Array) -> NDArray[np.bool_]:
        """Return which cells are finite numbers."""
        if values.dtype.kind != "f":
            raise InputError(f"the column {name!r} does not hold numbers, on which the model was fitted; correct its cells.")
        return np.isfinite(values)

    def _matrix(self, table: Table) -> Floats:  # -> (n, d)
        return np.column_stack([table[name].to_numpy() for name in self.names])

    def answers(self, table: Table, coverage: float | None, probabilities: bool) -> dict[str, Array]:
        """Return the prediction and bounds."""
        if probabilities:
            raise InputError("the model gives no probabilities; fit it again with this version of mercer.")
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")  # matched by name
            scaled = self.model[:-1].transform(self._matrix(table))
        found = {"prediction": self.model[-1].predict(scaled)}
        return found if coverage is None else found | bounds(self.model[-1].predict_interval(scaled, coverage))


def bounds(intervals: Floats) -> dict[str, Array]:  # (n, 2)
    """Return intervals as two columns."""
    return {"lower": intervals[:, 0], "upper": intervals[:, 1]}


def refuse_lacking(name: str, needed: Sequence[str], here: Sequence[str]) -> None:
    """Raise if a table lacks columns of the model; the message suggests similar names."""
    known = set(here)
    lacking = [column for column in needed if column not in known]
    if not lacking:
        return
    spare = {other.strip().casefold(): other for other in here if other not in set(needed)}
    near = {column: difflib.get_close_matches(column.casefold(), spare, 1) for column in lacking[:SHOWN]}
    guess = next((f" Is {spare[found[0]]!r} meant by {column!r}? Rename it." for column, found in near.items() if found), "")
    raise InputError(
        f"{name}: the model needs {len(lacking)} column{'s' if len(lacking) != 1 else ''} that the table does not have: "
        f"{listed(lacking)}.{guess}{delimiter_hint(here)}"
    )


def refuse_holes(name: str, asked: Predictor, table: Table, known: NDArray[np.bool_], remedy: str = "fill them in") -> None:
    """Raise if cells are missing for which the model has no rule, with their row and column."""
    if known.all():
        return
    row = int(np.argmin(known))
    one = table[[row]]
    where = [column for column in asked.needed if not asked.known_in(column, one[column].to_numpy())[0]]
    raise InputError(
        f"{name}: {int((~known).sum())} of {len(known)} rows have missing, infinite or unreadable values where training had "
        f"none, the first is row {int(table.numbers[row]) + 1} ({listed(where)}); {remedy}."
    )
