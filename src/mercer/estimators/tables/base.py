"""`TableEstimator`: reading of tables, the fitted mean of members, importances, explanations and refits."""

from __future__ import annotations

import copy
import time as clock
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.arrays import Array, Floats, Indices
from mercer.errors import InputError, plural
from mercer.estimators.base import check_shared_parameters
from mercer.estimators.tables import ridge
from mercer.estimators.tables.encoding import Encoder, Encoding, Numbered, encode
from mercer.estimators.tables.fitting import OF_NUMBERS, OF_SCORES, Fitting, Member, Outcome
from mercer.estimators.tables.kernels import NOT_NAMED, named, read_kernel
from mercer.estimators.tables.layout import Layout, later_rows, latest_rows, layout_of
from mercer.estimators.tables.logistic import LogisticFeatures
from mercer.estimators.tables.many_rows import predicted
from mercer.estimators.tables.row_weights import WeightedRows, read_weights, weighted_rows
from mercer.estimators.tables.search import ColumnNote, Objective, TableResult
from mercer.inputs import Rows, is_frame
from mercer.inputs.frames import Column, as_table, like, noted, read_columns, some_rows, unseen
from mercer.inputs.tables import Table
from mercer.numeric.memory import budget_bytes
from mercer.registry import record
from mercer.selection.folds import read_groups

record()(Column)  # what a new table is compared with

#: Limits of measuring importances: columns, rows and kernel values. Each column costs a prediction of the rows.
MEASURED_COLUMNS, MEASURED, VALUES = 200, 300, 10**8

#: Smallest number of rows that can be divided into folds.
FEWEST = 4


class TableEstimator(BaseEstimator):
    """Abstract: an estimator on data frames or arrays with `kernel`, `time`, `memory`, `random_state`, `verbose`."""

    _stored: ClassVar[dict[str, str]] = {
        "n_features_in_": "size d",
        "feature_names_in_": "absent | labels (d,)",
        "members_": "each _: a Member",
        "_used": "each _: a Column",
        "_encoders": "a dict",
        "_importances": "float (_,)",
        "result_": "a TableResult",
        "_n_rows": "absent | int",  # of older files, as the next
        "_judged_inputs": "absent | a dict",
    }

    kernel: Any
    time: float | None
    memory: Any
    random_state: Any
    verbose: bool | None
    order: Any
    members_: tuple[Member, ...]
    result_: TableResult
    _used: list[Column]
    _encoders: dict[str, Encoder]
    _importances: Floats

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = False
        return tags

    def _check_loaded(self) -> None:
        names = {column.name for column in self._used}
        for rule, encoder in self._encoders.items():
            if not isinstance(encoder, (Encoding, Numbered)) or not names.issuperset(encoder.origins):
                raise InputError(f"scaling {rule!r} does not fit the columns; the file is damaged or was changed.")
        targets = {len(member.transform.center) for member in self.members_}
        if len(targets) != 1 or not {member.scaling for member in self.members_} <= set(self._encoders):
            raise InputError("the members of the mean do not fit each other; the file is damaged or was changed.")

    def __sklearn_is_fitted__(self) -> bool:
        return "members_" in vars(self)

    # -- fit ---------------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Raise if a parameter is one that no fit takes, before anything is read."""
        check_shared_parameters(self)
        read_kernel(self.kernel)
        self._seconds()

    def _training_columns(self, X: Any) -> list[Column]:
        self._check_parameters()
        X = _dense(type(self).__name__, X)
        columns = noted(read_columns(X))
        n = len(columns[0].holes)
        if n < FEWEST:
            raise InputError(f"{type(self).__name__} needs at least {FEWEST} rows; X has n_samples={n} ({n} sample(s)).")
        validate_data(self, X, reset=True, skip_check_array=True)
        return columns

    def _weighted(
        self, columns: list[Column], target: Array, weights: Floats, groups: Any
    ) -> tuple[WeightedRows, list[Column], Layout | None]:
        """Return the rows of the fit with their weights, their columns, and their layout."""
        numbers = None if groups is None else read_groups(groups, len(target))
        rows = weighted_rows(columns, target, weights, numbers, FEWEST, merge=self.order is not True)
        if len(rows.kept) < FEWEST:
            raise InputError(
                f"{type(self).__name__} needs at least {FEWEST} rows of positive sample_weight; {len(rows.kept)} are left."
            )
        if len(rows.kept) < len(target):
            columns = noted(some_rows(columns, rows.kept))
            groups = None if numbers is None else numbers[rows.kept]
        layout = layout_of(columns, self.order, groups, self._targets_for_order(target[rows.kept]))
        if rows.weights is not None and (layout is None or layout.places is None):
            order = np.argsort(rows.rank, kind="stable")  # by content: copies may stand anywhere in the table
            rows, columns = rows.take(order), some_rows(columns, order)
            layout = None if layout is None else layout.take(order)
        return rows, columns, layout

    def _targets_for_order(self, target: Array) -> Floats:  # (n,) -> (n, t)
        """Return targets as the search for an order sees them."""
        return np.asarray(target, dtype=np.float64)[:, None]

    def _fitting(
        self, columns: list[Column], Y: Floats, objective: Objective, labels: Any = None, layout: Layout | None = None,
        weights: Floats | None = None,
    ) -> Fitting:  # fmt: skip
        """Return the fit to run: its columns, kernel, limits, seed, layout and weights of the rows."""
        used = [column for column in columns if not column.note]
        if not used:
            used = [column for column in columns if column.note == "constant"][:1]
            if not used:
                raise InputError(f"{type(self).__name__}: {no_usable_columns({c.name: c.note for c in columns})}")
        kernel = read_kernel(self.kernel)
        if kernel is not None:
            kernel, names = named(kernel, columns)
            # columns that the kernel names are used even if they have a note
            used = [column for column in columns if column.name in names] if names else used
        seed = int(check_random_state(self.random_state).randint(2**31 - 1)) if self.random_state is not None else 0
        kept = {column.name for column in used}
        notes = ("" if column.name in kept else column.note or NOT_NAMED for column in columns)
        return Fitting(
            used, Y, objective, labels=labels, seconds=self._seconds(), memory=self.memory, seed=seed, verbose=self.verbose,
            kernel=kernel, layout=layout, weights=weights,
            notes=tuple(
                ColumnNote(c.name, c.kind, int(c.holes.sum()), note) for c, note in zip(columns, notes, strict=True)
            ),
        )  # fmt: skip

    def _seconds(self) -> float | None:
        if self.time is None:
            return None
        if isinstance(self.time, bool) or not isinstance(self.time, (int, float)) or not self.time > 0:
            raise InputError(f"time must be a number of seconds > 0, or None; got {self.time!r}.")
        return float(self.time)

    def _store_rows(self, outcome: Outcome, rows: WeightedRows, started: float) -> Self:
        """Become the model of an outcome on weighted rows: members number the rows of the whole table."""
        members = tuple(
            replace(member, model=replace(member.model, rows=rows.kept[member.model.numbers()]))
            for member in outcome.members
        )
        notes = outcome.result.notes
        if rows.copies:
            what = "1 row equals" if rows.copies == 1 else f"{rows.copies:,} rows equal"
            notes = (*notes, f"{what} another in every cell and in the target, and adds to its weight")
        result = replace(outcome.result, rows=rows.total, copies=rows.copies, notes=notes)
        return self.store(replace(outcome, members=members, result=result), started)

    def store(self, outcome: Outcome, started: float | None = None) -> Self:
        """Become the model of an outcome and return it: every fit ends here, on rows in memory or in chunks.

        Cells of the training table are not kept, only what a new table is compared with.
        """
        self._used, self._encoders, self.members_ = outcome.columns, outcome.encoders, outcome.members
        self.n_features_in_ = len(outcome.result.columns)
        self.result_ = outcome.result
        self._calibrate(outcome)
        self._importances = self._importance([column.name for column in outcome.result.columns], outcome.measured)
        seconds = outcome.result.seconds if started is None else clock.perf_counter() - started
        self.result_ = replace(outcome.result, seconds=seconds)
        return self

    def _dated(self, columns: list[Column], layout: Layout | None) -> Self:
        """Return the model with the latest training row by the columns of time, for notes on later rows."""
        order = () if layout is None else layout.order
        self.result_ = replace(self.result_, latest=latest_rows([c for c in columns if not c.holes.all()], order))
        return self

    def _calibrate(self, outcome: Outcome) -> None:
        """Set what follows from held-out predictions: widths of intervals, or probabilities of classes."""

    # -- predictions -------------------------------------------------------------------------------------------------

    def new_inputs(self, X: Any) -> dict[str, Rows]:
        """Return a new table in every scaling that the model uses."""
        return self.encode(self.new_columns(X))

    def new_columns(self, X: Any) -> list[Column]:
        """Return the columns of a new table with the names of the training table."""
        check_is_fitted(self)
        X = _dense(type(self).__name__, X)
        columns = read_columns(X)
        if not self._by_name(X, columns):
            validate_data(self, X, reset=False, skip_check_array=True)  # warns if one of the two has no names
            known = self.result_.columns
            columns = [replace(column, name=old.name) for column, old in zip(columns, known, strict=True)]
        return columns

    def notes(self, X: Any) -> list[str]:
        """Return notes on predictions for a table: missing cells and categories that are new, and later rows."""
        check_is_fitted(self)
        X = _dense(type(self).__name__, X)
        columns = read_columns(X)
        if not self._by_name(X, columns):
            columns = [replace(column, name=old.name) for column, old in zip(columns, self.result_.columns, strict=True)]
        known = {column.name: column for column in like(columns, self._used)}
        found = []
        for old in self.result_.columns:
            if old.name in known and not old.holes and known[old.name].holes.any():
                count = int(known[old.name].holes.sum())
                cells = f"{count:,} missing cell{'s' if count != 1 else ''}"
                found.append(f"{old.name!r} has {cells}, and had none in training: filled with a typical value")
        for column in self._used:
            new = unseen(known[column.name], column)
            if new:
                some = ", ".join(repr(level) for level in list(dict.fromkeys(new))[:3])
                cells = plural(len(new), "cell")
                found.append(f"{column.name!r} has {cells} with a category that training did not have, such as {some}")
        for latest in self.result_.latest:
            later = later_rows([known.get(column.name, column) for column in columns], latest)
            if later:
                rows = f"{later:,} row{'s are' if later != 1 else ' is'}"
                by = ", ".join(map(repr, latest.columns))
                found.append(f"{rows} later than the last training row by {by} ({latest.text}): the model extrapolates")
        return found

    def _by_name(self, X: Any, columns: list[Column]) -> bool:
        """Return whether columns are matched by name, in any order: for `Table`, and if a `Table` was fitted.

        For data frames scikit-learn requires the same names in the same order; arrays are matched by position.
        """
        if isinstance(X, Table):
            return True
        known = {column.name for column in self._used}
        return (
            "feature_names_in_" not in vars(self)  # scikit-learn keeps the names of data frames only
            and (is_frame(X) or hasattr(X, "column_names"))  # Arrow tables have names, too
            and any(column.name in known for column in columns)
        )

    def encode(self, columns: list[Column]) -> dict[str, Rows]:
        """Return new columns in every scaling that a member or the intervals use."""
        needed = {member.scaling for member in self.members_} | {self.spread_scaling}
        encoders = {rule: encoder for rule, encoder in self._encoders.items() if rule in needed}
        return encode(encoders, like(columns, self._used))

    @property
    def used_columns(self) -> list[Column]:
        """The columns that the model looks at, without cells."""
        return self._used

    @property
    def encoders(self) -> dict[str, Encoder]:
        """The encoder of each scaling."""
        return self._encoders

    @property
    def spread_scaling(self) -> str:
        """The scaling in which widths of intervals are learned."""
        return "quantile" if "quantile" in self._encoders else next(iter(self._encoders))

    def scores(self, inputs: dict[str, Rows]) -> Floats:  # -> (n, t)
        """Return the weighted mean of the members at encoded rows.

        For more than 10,000 rows in single precision, unless that changes predictions by more than 1 % of the held-out
        error, or scores of classes by more than 0.001.
        """
        return np.asarray(sum(member.weight * member.predict(inputs, self._allowed) for member in self.members_))

    @property
    def _allowed(self) -> float:
        """Largest error of single precision."""
        return OF_SCORES if self.result_.task == "classification" else OF_NUMBERS * self.result_.error

    # -- what a fitted model reports -----------------------------------------------------------------------------------

    @property
    def feature_importances_(self) -> Floats:
        """Share of each column of the training table in the changes of the prediction; for at most 200 columns."""
        check_is_fitted(self)
        if len(self._importances) == 0:
            raise AttributeError(f"importances are measured column by column, for at most {MEASURED_COLUMNS} columns.")
        return self._importances

    def _importance(self, names: list[str], inputs: dict[str, Rows]) -> Floats:
        """Return the mean squared change of the prediction if a column is taken from another row, by table column."""
        if len(names) > MEASURED_COLUMNS:
            return np.empty(0)
        if len(self._used) == 1:
            return np.array([float(name == self._used[0].name) for name in names])
        values = len(names) * sum(len(member.model.dual) for member in self.members_)  # of one row
        count = min(MEASURED, max(20, VALUES // values))
        rows = {rule: table.take(slice(0, count)) for rule, table in inputs.items()}
        base = self.scores(rows)
        found = np.zeros(len(names))
        for place, name in enumerate(names):
            moved = {rule: _shifted(table, self.places(rule, name)) for rule, table in rows.items()}
            found[place] = float(np.mean((self.scores(moved) - base) ** 2))
        total = found.sum()
        return found / total if total > 0 else found

    def places(self, rule: str, name: str) -> list[int]:
        """Return the matrix columns of a table column in a scaling."""
        return [i for i, origin in enumerate(self._encoders[rule].origins) if origin == name]

    def output(self, scores: Floats, target: Any) -> tuple[int, str]:  # (t,) -> place, label
        """Return which of the predicted numbers an explanation is of, and its name."""
        if target is not None:
            raise InputError(f"explain: {type(self).__name__} predicts one number; leave target out.")
        return 0, "the prediction"

    def explain_columns(self, X: Any, target: Any, background: Any) -> list[Any]:
        """Return the prediction of every row of X as a sum over columns, for `mercer.explain`."""
        from mercer.estimators.tables.explanation import explain_rows
        from mercer.estimators.tables.object_explanation import by_objects

        if isinstance(background, str):
            raise InputError(
                f"explain: for {type(self).__name__} background is a table of rows, or None; got {background!r}."
            )
        inputs = self.new_inputs(X)
        found = by_objects(self, inputs, target) if background is None else None
        if found is not None:
            return list(found)
        rest = None if background is None else self.new_inputs(background)
        return explain_rows(self, [column.name for column in self._used], inputs, target, rest)

    def explain_model(self, target: Any) -> Any:
        """Return the features of a model with a single column of text, graphs or molecules, for `mercer.explain`."""
        from mercer.estimators.tables.object_explanation import of_model

        return of_model(self, target)

    # -- the same choices on other rows ----------------------------------------------------------------------------------

    def refitted(self, columns: list[Column], y: Array, sample_weight: Any = None) -> Self | None:
        """Return the model with its kernels, penalties, scalings and weights fitted to other rows; None if memory forbids.

        Intervals keep their widths; with more rows they cover slightly more than requested.
        """
        weights = read_weights(type(self).__name__, sample_weight, len(y))
        rows = weighted_rows(columns, y, weights, None, FEWEST, merge=self.order is not True)
        n = len(rows.kept)
        exact = [len(member.model.dual) == self.result_.distinct for member in self.members_]
        if any(exact) and 16 * n * n > budget_bytes(self.memory):
            return None
        inputs, Y = self.encode(some_rows(columns, rows.kept)), self._targets(y[rows.kept])
        again = []
        for member, whole in zip(self.members_, exact, strict=True):
            kernel, alpha, count = member.model.kernel, member.model.alpha, min(n, len(member.model.dual))
            Z, targets = inputs[member.scaling], member.transform.forward(Y)
            if member.transform.link:
                features = LogisticFeatures(kernel, Z, count, 0)
                model = features.fit(targets, 1.0 / alpha, np.empty(0, dtype=np.intp), rows.weights)[0]
            else:
                model = ridge.fit(kernel, Z, targets, alpha, None if whole else count, weights=rows.weights)
            local = member.local
            if local is not None:
                missed = Y - predicted(model, Z, member.transform.backward, self._allowed)
                local = local.refitted(Z, missed / member.transform.spread, rows.weights)
            again.append(replace(member, model=replace(model, rows=rows.kept[model.numbers()]), local=local))
        return self.with_members(again)._redated(columns)

    def _redated(self, columns: list[Column]) -> Self:
        order = next((latest.columns for latest in self.result_.latest), ())
        self.result_ = replace(self.result_, latest=latest_rows([c for c in columns if not c.holes.all()], order))
        return self

    def _targets(self, y: Array) -> Floats:  # (n,) -> (n, t)
        return np.asarray(y, dtype=np.float64)[:, None]

    def renumbered(self, numbers: Indices) -> Self:  # (n,), by the rows of the fit
        """Return the model with other row numbers, such as those of a file of which only some rows were fitted."""
        models = [replace(member.model, rows=numbers[member.model.numbers()]) for member in self.members_]
        return self.with_members([replace(m, model=model) for m, model in zip(self.members_, models, strict=True)])

    def with_members(self, members: list[Member]) -> Self:
        """Return the model with other members."""
        again = copy.copy(self)
        again.members_ = tuple(members)
        return again


def no_usable_columns(notes: dict[str, str]) -> str:
    """Return the message for a table in which every column has a note."""
    shown = "; ".join(f"{name!r} is {note}" for name, note in list(notes.items())[:6])
    return f"no usable columns: every column is constant, an identifier, a duplicate or empty ({shown})."


def _dense(name: str, X: Any) -> Any:
    if sp.issparse(X):
        raise InputError(f"{name} takes data frames and dense arrays; X is sparse. Use X.toarray().")
    return as_table(X)


def _shifted(table: Rows, places: list[int]) -> Rows:
    moved = table.data.copy()
    moved[:, places] = np.roll(table.data[:, places], len(moved) // 2, axis=0)
    return Rows(moved)
