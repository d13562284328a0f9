"""A fitted perceptron: stored attributes, predictions, warnings and the summary."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mercer.arrays import Array
from mercer.errors import InputError, warn
from mercer.estimators.base import DualModel, check_is_fitted
from mercer.estimators.definiteness import known_psd
from mercer.estimators.perceptron.epochs import Mistakes
from mercer.estimators.perceptron.fit import KernelValues, PerceptronFit, nearest_to_origin
from mercer.estimators.summary import Summary
from mercer.grams import GramOperator
from mercer.grams.dual_function import DualFunction
from mercer.grams.products import from_features, to_features
from mercer.inputs import take
from mercer.kernels.base import Kernel
from mercer.numeric.memory import format_bytes
from mercer.numeric.tiles import row_blocks
from mercer.registry import record


@record("Ledger")
@dataclass(frozen=True)
class PerceptronLedger:
    """One two-class problem: updates made and R^2 / gamma^2, with what they are made of.

    From ||w_t||^2 <= t R^2 and ||w_t|| >= t gamma it follows that t <= R^2 / gamma^2, for any margin gamma that some unit
    vector has on the data; the number of updates at one row, |alpha_i|, is no larger.
    """

    label: Any
    updates: int
    epochs: int
    converged: bool
    radius: float  # R
    margin: float  # gamma of the last weights
    hard_margin: float | None  # the largest possible margin, if it was requested
    largest_count: float  # max |alpha_i|
    note: str = ""

    @property
    def bound(self) -> float:
        """R^2 / gamma^2 with the largest margin known; inf where none is."""
        gamma = max([g for g in (self.margin, self.hard_margin) if g is not None and g > 0], default=0.0)
        return (self.radius / gamma) ** 2 if gamma > 0 and self.converged and not self.note else math.inf

    def __str__(self) -> str:
        word = f"{self.updates} updates in {self.epochs} epochs"
        if not self.converged or self.note:
            return f"{word}, {self.note or 'not converged'}"
        margin = f"margin {self.margin:.4g}"
        if self.hard_margin is not None:
            margin += f" (largest possible {self.hard_margin:.4g})"
        bound = f"Novikoff's R^2/gamma^2 = {self.bound:.4g}" if math.isfinite(self.bound) else self.note
        return f"{word}; R {self.radius:.4g}, {margin}; {bound}; largest |alpha_i| {self.largest_count:g}"


def survivals(mistakes: Mistakes, presented: int) -> Array:  # (T,)
    """How many presentations each weight vector was in force, the one of its making included."""
    return np.diff(np.append(mistakes.times, presented + 1)).astype(np.int64)


def vote(values: Array, mistakes: Mistakes, signs: Array, presented: int) -> Array:  # (r, S), (T,) -> (r,)
    """Votes in [-1, 1] for r new points with kernel values against the rows that mistakes.rows number."""
    from mercer.estimators.perceptron._compiled_passes import votes

    out = np.empty(len(values))
    votes(np.ascontiguousarray(values), mistakes.rows, signs, survivals(mistakes, presented), out)
    return out / max(1, presented)


#: The note of a run that ended because its averaged weights were as good as they get.
STOPPED = "stopped: the averaged weights no longer improve"

#: Rows of new points whose kernel values are held while the votes are counted.
NEW_ROWS = 256


@dataclass(frozen=True)
class Past:
    """What a stream remembers: the rows of X_fit_ that carry weight, their coefficients, and the presentations made."""

    rows: Array  # (S,) in X_fit_
    numbers: Array  # (S,) in the stream
    alpha: Array  # (S, C)
    beta: Array  # (S, C)
    presented: Array  # (C,)


class PerceptronModel(DualModel):
    """Abstract: a fitted perceptron."""

    _stored: ClassVar[dict[str, str]] = {
        "classes_": "labels (C,)",
        "dual_coef_": "float (n, *functions(C))",
        "average_coef_": "float (n, *functions(C))",
        "intercept_": "float (*functions(C))",
        "coef_": "None | float (_, problems(C))",
        "n_seen_": "int > 0",
        "radius_": "float",
        "_alpha": "float (n, problems(C))",
        "_beta": "float (n, problems(C))",
        "_presented": "int (problems(C),) > 0",
        "_numbers": "int (n,) >= 0",
        "_support": "int (s,) < n",
        "support_": "int (s,) >= 0",
        "_carriers": "int (s,) < n",
        "_rows": "rows s d",
        "_columns": "float (s, problems(C))",
        "_all": "a Mistakes",
        "_all.rows": "int (T,)",
        "_all.problems": "int (T,) < problems(C)",
        "_signs": "float (T,)",
        "_norms": "each problems(C): float (_,)",
        "ledger_": "absent | a PerceptronLedger | each problems(C): a PerceptronLedger",
        "certificate_": "absent | None | array | a list",
        "converged_": "absent | flag | bool (problems(C),)",
        "margin_": "absent | real | real (problems(C),)",
        "mistakes_": "absent | int (_,) | each problems(C): int (_,)",
        "n_iter_": "absent | int",
        "n_updates_": "absent | int | int (problems(C),)",
        "novikoff_bound_": "absent | real | real (problems(C),)",
        "weight_norms_": "absent | real (_,) | each problems(C): real (_,)",
    }

    classes_: Array
    ledger_: Any
    coef_: Any
    _all: Mistakes
    _signs: Array
    _norms: list[Array]

    def _keep(self, kernel: Kernel, X: Any, Y: Array, fitted: PerceptronFit, values: KernelValues) -> None:
        """Everything known after a fit: X_fit_ is the training set."""
        self.n_seen_, self.n_iter_ = Y.shape[1], int(fitted.run.epochs.max())
        self.radius_ = float(np.sqrt(max(fitted.diagonal.max(), 0.0)))
        self._record(fitted.run.mistakes, Y, fitted.diagonal, np.arange(Y.shape[1]), fresh=True)
        self._coefficients(kernel, X, np.arange(Y.shape[1]), fitted.support, fitted)
        proofs = [fitted.proofs[c].weights if c in fitted.proofs else None for c in range(len(Y))]
        self.certificate_, self.converged_ = self._one(proofs), self._one(fitted.run.converged.tolist())
        ledgers = [self._ledger(c, Y, fitted, values) for c in range(len(Y))]
        if not known_psd(self.kernel_, self.X_fit_, type(self).__name__):
            note = "not known to be a kernel: no margin and no bound"
            ledgers = [replace(ledger, margin=math.nan, hard_margin=None, note=note) for ledger in ledgers]
        self._close(ledgers)

    def _store_stream(self, kernel: Kernel, both: Any, Y: Array, fitted: PerceptronFit, past: Past) -> None:
        """Everything known after a batch: X_fit_ is what carries weight, and the rest of the stream is gone."""
        fresh, problems, held = "kernel_" not in vars(self), len(Y), len(past.rows)
        seen = 0 if fresh else self.n_seen_
        numbers = np.concatenate([past.numbers, seen + np.arange(Y.shape[1] - held)])
        keep = np.union1d(np.arange(held), fitted.support) if self.budget is None else fitted.support
        self.n_seen_, self.n_iter_ = seen + Y.shape[1] - held, 1
        self.radius_ = max(float(np.sqrt(max(fitted.diagonal.max(), 0.0))), 0.0 if fresh else self.radius_)
        self._record(fitted.run.mistakes, Y, fitted.diagonal, numbers, fresh)
        self._coefficients(kernel, take(both, keep), numbers[keep], np.arange(len(keep)), fitted, keep)
        self.certificate_, self.converged_ = self._one([None] * problems), self._one([False] * problems)
        updates, largest = np.bincount(self._all.problems, minlength=problems), np.abs(self._alpha).max(axis=0)
        nan, note = float("nan"), "a stream: the margin on rows that are gone is not known"
        self._close([
            PerceptronLedger(self._label(c), int(updates[c]), 1, False, self.radius_, nan, None, float(largest[c]), note)
            for c in range(problems)
        ])  # fmt: skip

    def _close(self, ledgers: list[PerceptronLedger]) -> None:
        self.margin_ = self._one([ledger.margin for ledger in ledgers])
        self.novikoff_bound_ = self._one([ledger.bound for ledger in ledgers])
        self.ledger_ = self._one(ledgers)

    def _past(self, problems: int) -> Past:
        if "kernel_" not in vars(self):
            none, no_rows = np.empty((0, problems)), np.empty(0, np.int64)
            return Past(no_rows, no_rows, none, none, np.zeros(problems, np.int64))
        rows = self._support
        return Past(rows, self._numbers[rows], self._alpha[rows], self._beta[rows], self._presented)

    def _coefficients(
        self, kernel: Kernel, X: Any, numbers: Array, support: Array, fitted: PerceptronFit, keep: Array | None = None
    ) -> None:
        """The weights by rows of X_fit_, and what prediction needs: the rows that carry weight, or explicit weights."""
        self.kernel_, self.X_fit_, self._numbers, self._support = kernel, X, numbers, support
        rows = slice(None) if keep is None else keep
        self._alpha, self._beta, self._presented = fitted.alpha[rows], fitted.beta[rows], fitted.run.presented
        average = self._alpha - self._beta / self._presented
        binary = len(self.classes_) == 2
        self.dual_coef_ = self._alpha[:, 0] if binary else self._alpha
        self.average_coef_ = average[:, 0] if binary else average
        self.support_ = numbers[support]
        columns = average if self.average is True else self._alpha
        intercept = float(self.fit_intercept) * columns.sum(axis=0)
        self.intercept_ = float(intercept[0]) if binary else intercept
        self.coef_ = to_features(kernel, X, columns) if self.route_.solver == "primal" else None
        self._carriers = support
        self._rows = X if len(support) == len(columns) else kernel.keep(X, support)
        self._columns = np.ascontiguousarray(columns[support])

    def dual_function(self) -> DualFunction:
        """Return the function that `decision_function` evaluates: averaged or last weights, according to `average`."""
        check_is_fitted(self)
        return DualFunction(self.kernel_, self._rows, self._columns, self.intercept_)

    def _record(self, mistakes: Mistakes, Y: Array, diagonal: Array, numbers: Array, fresh: bool) -> None:
        """Keep the mistakes by their numbers in the data or the stream, their labels, and the norms of the weights."""
        problems, past = len(Y), None if fresh else self._norms
        start = [0.0 if past is None or not len(past[c]) else float(np.square(past[c][-1])) for c in range(problems)]
        norms = [np.sqrt(np.maximum(mistakes.of(c).squared_norms(Y, diagonal, start[c]), 0.0)) for c in range(problems)]
        signs, named = Y[mistakes.problems, mistakes.rows], mistakes.renamed(numbers[mistakes.rows])
        if past is not None:
            signs, named = np.concatenate([self._signs, signs]), Mistakes.joined([self._all, named])
            norms = [np.concatenate(pair) for pair in zip(past, norms, strict=True)]
        self._all, self._signs, self._norms = named, signs, norms
        self.mistakes_ = self._one([named.of(c).rows for c in range(problems)])
        self.n_updates_ = self._one(np.bincount(named.problems, minlength=problems).tolist())
        self.weight_norms_ = self._one(norms)

    def _ledger(self, c: int, Y: Array, fitted: PerceptronFit, values: KernelValues) -> PerceptronLedger:
        run, norms = fitted.run, self._norms[c]
        margin, hard = float("nan"), None
        if fitted.exact and fitted.scores is not None and len(norms):
            margin = float((Y[c] * fitted.scores[c]).min() / norms[-1]) if norms[-1] > 0 else float("nan")
        if self.margin == "hard" and run.converged[c]:
            hard = nearest_to_origin(values, Y[c], 20 * Y.shape[1]).margin
        note = "" if fitted.exact else "the budget changed the algorithm: Novikoff's bound does not apply"
        if c in fitted.proofs:
            note = f"not separable: {fitted.proofs[c].message}, norm {fitted.proofs[c].norm:.2g}"
        elif run.stopped.size and run.stopped[c]:
            note = STOPPED
        updates, largest = int((run.mistakes.problems == c).sum()), float(np.abs(fitted.alpha[:, c]).max())
        return PerceptronLedger(
            self._label(c), updates, int(run.epochs[c]), bool(run.converged[c]), self.radius_, margin, hard, largest, note
        )

    def _label(self, c: int) -> Any:
        return self.classes_[1] if len(self.classes_) == 2 else self.classes_[c]

    def _one(self, values: list[Any]) -> Any:
        """Per problem, or the one value of two classes; numbers as an array."""
        if len(self.classes_) == 2:
            return values[0]
        return np.array(values) if isinstance(values[0], (bool, int, float)) else values

    # -- evaluation --------------------------------------------------------------------------------------------------

    def _weighed(self, new: Any) -> Array:  # -> (n, C)
        if self.coef_ is not None:
            return from_features(self.kernel_, new, self.coef_) + self.intercept_
        return np.asarray(GramOperator(self.kernel_, new, self._rows) @ self._columns) + self.intercept_

    def _votes(self, new: Any) -> Array:  # -> (n, C)
        K = GramOperator(self.kernel_, new, self._rows)
        out = np.empty((K.shape[0], self._alpha.shape[1]))
        known = self._numbers[self._carriers]  # the number, in the data or the stream, of every column of K
        order = np.argsort(known)
        if not np.isin(self._all.rows, known).all():  # compiled code reads by these places
            raise InputError("KernelPerceptron: a mistake was made on a row that is not kept; the model was changed.")
        for rows in row_blocks(K.shape[0], NEW_ROWS):
            values = K.block(rows, slice(None)) + float(self.fit_intercept)
            for c in range(out.shape[1]):
                own = self._all.of(c)
                columns = order[np.searchsorted(known[order], own.rows)]
                signs = self._signs[self._all.problems == c]
                out[rows, c] = vote(values, own.renamed(columns.astype(np.int64)), signs, int(self._presented[c]))
        return out

    def _summary(self) -> Summary:
        ledgers = [self.ledger_] if isinstance(self.ledger_, PerceptronLedger) else list(self.ledger_)
        word = {True: "averaged weights", False: "last weights", "voted": "a vote of all weights"}[self.average]
        lines = [("kernel", str(self.kernel_)), ("predicts with", f"{word}, {len(self.support_)} support vectors")]
        lines += [(f"class {ledger.label}", str(ledger)) for ledger in ledgers]
        lines += [
            ("route", f"{self.route_.solver}: {self.route_.reason}"), ("memory of the fit", format_bytes(self.route_.bytes)),
        ]  # fmt: skip
        return Summary(repr(self), tuple(lines), {"updates": self.n_updates_, "bound": self.novikoff_bound_})

    def _warn_if_open(self) -> None:
        """Warn about each problem that did not end with an epoch without mistakes."""
        ledgers = [self.ledger_] if isinstance(self.ledger_, PerceptronLedger) else list(self.ledger_)
        for ledger in ledgers:
            if ledger.converged or ledger.note == STOPPED:
                continue
            which = f"KernelPerceptron (class {ledger.label} against the rest)" if len(ledgers) > 1 else "KernelPerceptron"
            if ledger.note.startswith("not separable"):
                text = (
                    f"{ledger.note}. The weights certificate_ (a >= 0, sum 1) combine to sum a_i y_i phi(x_i) = 0, so no w "
                    f"separates them; stopped after {ledger.epochs} epochs."
                )
            else:
                text = f"not converged in {ledger.epochs} epochs; raise max_iter=, or use the averaged weights."
            warn(f"{which}: {text}", ConvergenceWarning)


def signs_of(codes: Array, classes: int) -> Array:  # (n,) -> (C, n) of -1, +1; one row for two classes
    """One problem per class against the rest; a single one for two classes."""
    if classes == 2:
        return np.where(codes == 1, 1.0, -1.0)[None, :]
    return np.where(codes[None, :] == np.arange(classes)[:, None], 1.0, -1.0)
