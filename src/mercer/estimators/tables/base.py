"""The door of the table estimators: what X and y may be, and what the fitted model says about itself."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.arrays import Floats
from mercer.errors import InputError
from mercer.estimators.tables.encoding import Encoding, Numbered
from mercer.estimators.tables.given_kernel import NOT_NAMED, named, read_kernel
from mercer.estimators.tables.members import Fitting, Member, Outcome
from mercer.estimators.tables.result import Attempt, ColumnNote, TableResult
from mercer.estimators.tables.search import Loss
from mercer.estimators.tables.targets import NONE
from mercer.inputs.frames import Column, like, noted, read_columns
from mercer.inputs.tables import Table
from mercer.registry import record

record()(Column)  # what a new table is compared with

#: Importances are measured for at most this many columns, on at most this many rows, with this many kernel values: each
#: column costs a prediction of the rows.
MEASURED_COLUMNS, MEASURED, VALUES = 200, 300, 10**8

#: Fewer rows cannot be divided into folds with something to learn from in each.
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
        "_n_rows": "absent | int",
        "_judged_inputs": "absent | a dict",
    }

    kernel: Any
    time: float | None
    memory: Any
    random_state: Any
    verbose: bool | None
    members_: tuple[Member, ...]
    result_: TableResult

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
        return hasattr(self, "members_")

    # -- the door ----------------------------------------------------------------------------------------------------

    def _training_columns(self, X: Any) -> list[Column]:
        if sp.issparse(X):
            raise InputError(f"{type(self).__name__} takes data frames and dense arrays; X is sparse. Use X.toarray().")
        columns = noted(read_columns(X))
        n = len(columns[0].holes)
        if n < FEWEST:
            raise InputError(f"{type(self).__name__} needs at least {FEWEST} rows; X has n_samples={n} ({n} sample(s)).")
        validate_data(self, X, reset=True, skip_check_array=True)
        return columns

    def _new_inputs(self, X: Any) -> dict[str, Any]:
        check_is_fitted(self)
        if sp.issparse(X):
            raise InputError(f"{type(self).__name__} takes data frames and dense arrays; X is sparse. Use X.toarray().")
        columns = read_columns(X)
        if not self._by_name(X, columns):
            validate_data(self, X, reset=False, skip_check_array=True)  # warns where one of the two has no names
            known = self.result_.columns
            columns = [replace(column, name=old.name) for column, old in zip(columns, known, strict=True)]
        return self._inputs_of(columns)

    def _by_name(self, X: Any, columns: list[Column]) -> bool:
        """Whether columns are looked up by name, in any order: in tables of ours, and where such a table was fitted.

        Between data frames scikit-learn asks for the same names in the same order; an array goes by place.
        """
        if isinstance(X, Table):
            return True
        known = {column.name for column in self._used}
        return (
            not hasattr(self, "feature_names_in_")  # scikit-learn keeps the names of data frames only
            and hasattr(X, "columns")
            and any(column.name in known for column in columns)
        )

    def _inputs_of(self, columns: list[Column]) -> dict[str, Any]:
        """New columns in every scaling that a member or the intervals need."""
        table = {column.name: column for column in like(columns, self._used)}
        needed = {member.scaling for member in self.members_} | {self._spread_scaling()}
        return {rule: encoder(table) for rule, encoder in self._encoders.items() if rule in needed}

    def _spread_scaling(self) -> str:
        return "quantile" if "quantile" in self._encoders else next(iter(self._encoders))

    def _seconds(self) -> float | None:
        if self.time is None:
            return None
        if isinstance(self.time, bool) or not isinstance(self.time, (int, float)) or not self.time > 0:
            raise InputError(f"time must be a number of seconds > 0, or None; got {self.time!r}.")
        return float(self.time)

    # -- fit ---------------------------------------------------------------------------------------------------------

    def _fitting(
        self, columns: list[Column], Y: Floats, loss: Loss, labels: Any = None, transforms: tuple[str, ...] = (NONE,)
    ) -> Fitting:
        """The fit that is to be run: its columns, kernel, limits and seed."""
        used = [column for column in columns if not column.note]
        if not used:
            said = "; ".join(f"{column.name!r} is {column.note}" for column in columns[:6])
            used = [column for column in columns if column.note == "constant"][:1]
            if not used:
                raise InputError(f"{type(self).__name__}: no column says anything: {said}.")
        kernel = read_kernel(self.kernel)
        if kernel is not None:
            kernel, names = named(kernel, columns)
            # what the kernel names is used, whatever the column looks like
            used = [column for column in columns if column.name in names] if names else used
        seed = int(check_random_state(self.random_state).randint(2**31 - 1)) if self.random_state is not None else 0
        return Fitting(
            used, Y, loss, labels=labels, transforms=transforms, seconds=self._seconds(), memory=self.memory, seed=seed,
            verbose=self.verbose, kernel=kernel,
        )  # fmt: skip

    def _fit(self, fitting: Fitting) -> Outcome:
        outcome = fitting.run()
        self._keep(fitting, outcome.members)
        if not outcome.by_folds:
            self._judged_inputs = {rule: table[outcome.judged] for rule, table in fitting.inputs.items()}
        return outcome

    def _keep(self, fitting: Fitting, members: tuple[Member, ...]) -> None:
        """The cells of the training table are not kept, only what a new table is compared with."""
        self._used = [_bare(column) for column in fitting.columns]
        self._encoders = fitting.encoders
        self.members_ = members

    def _predictions(self, inputs: dict[str, Any]) -> Floats:  # -> (n, t)
        return np.asarray(sum(member.weight * member.predict(inputs) for member in self.members_))

    def _result(
        self, columns: list[Column], outcome: Outcome, task: str, measure: str, root: bool, started: float
    ) -> TableResult:
        search = outcome.search
        attempts = []
        places = {id(trial): place for place, trial in enumerate(search.complete())}
        for trial in sorted(search.trials.values(), key=search.error):
            known = trial.known()
            losses = search.loss(trial.predictions[known], search.tables.targets[known])
            mean, error = float(losses.mean()), float(losses.std() / max(1, len(losses)) ** 0.5)
            value = mean**0.5 if root else mean
            slope = error / (2.0 * value) if root and value > 0 else error
            weight = outcome.weights.get(places.get(id(trial), -1), 0.0)
            candidate = trial.candidate
            attempts.append(
                Attempt(trial.label, candidate.scaling, candidate.transform, value, slope, bool(known.all()), weight)
            )
        targets = search.tables.targets
        constant = float(np.mean(search.loss(np.broadcast_to(targets.mean(axis=0), targets.shape), targets)))
        mine = float(np.mean(search.loss(outcome.held_out, self._Y_judged(outcome))))
        return TableResult(
            task, measure, self._n_rows, len(outcome.rows), search.tables.n_folds, self._noted(columns), tuple(attempts),
            mine**0.5 if root else mine, constant**0.5 if root else constant, outcome.route,
            time.perf_counter() - started, tuple(search.effort.notes()),
        )  # fmt: skip

    def _noted(self, columns: list[Column]) -> tuple[ColumnNote, ...]:
        """The columns of the table, with the reason where one has no part in the model."""
        used = {column.name for column in self._used}
        notes = ("" if column.name in used else column.note or NOT_NAMED for column in columns)
        return tuple(ColumnNote(c.name, c.kind, int(c.holes.sum()), note) for c, note in zip(columns, notes, strict=True))

    def _Y_judged(self, outcome: Outcome) -> Floats:  # noqa: N802 - the target's name in the formulas
        return outcome.search.tables.targets if outcome.by_folds else self._targets[outcome.judged]

    @property
    def feature_importances_(self) -> Floats:
        """How much each column of the training table moves the prediction, as shares that sum to 1; up to 200 columns."""
        check_is_fitted(self)
        if len(self._importances) == 0:
            raise AttributeError(f"importances are measured column by column, for at most {MEASURED_COLUMNS} columns.")
        return self._importances

    def _importance(self, names: list[str], inputs: dict[str, Any]) -> Floats:
        """Mean squared change of the prediction when one matrix column is replaced by another row's, per table column."""
        if len(names) > MEASURED_COLUMNS:
            return np.empty(0)
        values = len(names) * sum(len(member.model.dual) for member in self.members_)  # of one row
        count = min(MEASURED, max(20, VALUES // values))
        rows = {rule: table[:count] for rule, table in inputs.items()}
        base = self._predictions(rows)
        found = np.zeros(len(names))
        for place, name in enumerate(names):
            moved = {rule: _shifted(table, self._places(rule, name)) for rule, table in rows.items()}
            found[place] = float(np.mean((self._predictions(moved) - base) ** 2))
        total = found.sum()
        return found / total if total > 0 else found

    def _output(self, scores: Floats, target: Any) -> tuple[int, str]:  # (t,) -> place, words
        """For explanations: which of the numbers that the members predict is meant, and what it is."""
        if target is not None:
            raise InputError(f"explain: {type(self).__name__} predicts one number; leave target out.")
        return 0, "the prediction"

    def _explain_columns(self, X: Any, target: Any, background: Any) -> list[Any]:
        """For `mercer.explain`: the prediction of every row of X as a sum over columns."""
        from mercer.estimators.tables.explanation import explain_table

        if isinstance(background, str):
            raise InputError(
                f"explain: for {type(self).__name__} background is a table of rows, or None; got {background!r}."
            )
        rest = None if background is None else self._new_inputs(background)
        return explain_table(self, self._new_inputs(X), target, rest)

    def _places(self, rule: str, name: str) -> list[int]:
        encoder = self._encoders[rule]
        return [i for i, origin in enumerate(encoder.origins) if origin == name]


def _shifted(table: Any, places: list[int]) -> Any:
    moved = table.copy()
    moved[:, places] = np.roll(table[:, places], len(table) // 2, axis=0)
    return moved


def _bare(column: Column) -> Column:
    return Column(column.name, column.kind, [], column.holes[:0], column.levels, column.note)
