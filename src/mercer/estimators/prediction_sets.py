"""Sets of classes that hold the true one with a requested probability: conformal prediction from class probabilities.

The score of class c at x is 1 - p_c(x). A set holds the classes whose score is at most a conformal quantile of the
scores 1 - p_y(x) of rows whose class y is known: of all rows (marginal), of the rows of each class, or near x
(local). With calibration rows that the model has not seen, the coverage holds for any data with exchangeable rows.
Scores of rows that were held out of a fit in turn are used otherwise; then the guarantee is weaker, because the final
model has seen these rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from mercer.arrays import Array, Floats
from mercer.errors import InputError, check_choice
from mercer.estimators.intervals import conformal_radius
from mercer.estimators.local_intervals import calibrate, check_rows
from mercer.inputs import Rows, count
from mercer.inputs.labels import read_labels
from mercer.registry import record
from mercer.selection.folds import class_folds

METHODS = ("marginal", "class", "local")

#: Folds of held-out probabilities, and the seed that deals the rows out to them.
FOLDS, SEED = 5, 0


@record()
@dataclass(frozen=True)
class HeldOutClasses:
    """Probabilities of classes at rows that the model has not seen, and the classes of these rows."""

    _stored: ClassVar[dict[str, str]] = {
        "probabilities": "float (n, C)",
        "codes": "int (n,) < C",
        "X": "None | absent | rows n",
    }

    probabilities: Floats  # (n, C)
    codes: Array  # (n,)
    X: Any = None  # (n rows); None if they are not kept

    def scores(self) -> Floats:  # -> (n,)
        """1 - p of the known class."""
        return np.asarray(1.0 - self.probabilities[np.arange(len(self.codes)), self.codes])


class SetMixin:
    """Gives `predict_set` to a classifier that has `predict_proba` and `classes_`."""

    def predict_set(
        self: Any, X: Any, coverage: float = 0.9, *, method: str = "marginal", shift: Any = None, calibration: Any = None
    ) -> NDArray[np.bool_]:
        """Return which classes are in the set of each row, (n, classes) booleans in the order of `classes_`.

        Parameters
        ----------
        coverage : float
            The share of rows whose class is in their set.
        method : "marginal", "class" or "local"
            Over all rows; among the rows of every class; near every point, for shifts of the kernel `shift`.
        shift : Kernel or str, optional
            For "local"; by default the kernel of the model.
        calibration : (X, y), optional
            Rows that the model has not seen, with their classes; the coverage is then exact. Otherwise held-out
            probabilities of the training rows are used, and it is approximate.

        A set can be empty, where no class is probable enough, or hold all classes.
        """
        name = type(self).__name__
        check_choice(name, "method", method, METHODS)
        if shift is not None and method != "local":
            raise InputError(f'{name}: shift= is for method="local"; got method={method!r}.')
        P = self._set_probabilities(X, calibration is not None)
        known = self._held_out_classes() if calibration is None else calibration_of(self, calibration)
        limits = thresholds(self, known, X, coverage, method, shift)
        return np.asarray(limits + 1e-12 >= 1.0 - P)  # a probability of the calibration may return with other rounding

    def _set_probabilities(self: Any, X: Any, calibrated: bool) -> Floats:  # -> (n, C)
        """Probabilities for sets; if other rows calibrate the sets, they need not be calibrated themselves."""
        return np.asarray(self.predict_proba(X), dtype=np.float64)

    def _held_out_classes(self: Any) -> HeldOutClasses:
        """Probabilities of training rows by models that have not seen them; families that keep none ask for rows."""
        raise InputError(
            f"{type(self).__name__} keeps no held-out probabilities; give rows that it has not seen: "
            "predict_set(X, calibration=(X, y))."
        )


def marginal_sets(model: SetMixin, P: Floats, coverage: float) -> NDArray[np.bool_]:  # (n, C) -> (n, C)
    """Return the sets of rows with probabilities P, calibrated on held-out probabilities of the training rows."""
    limit = thresholds(model, model._held_out_classes(), None, coverage, "marginal", None)
    return np.asarray(limit + 1e-12 >= 1.0 - P)


def calibration_of(model: Any, calibration: Any) -> HeldOutClasses:
    """Return the probabilities of calibration rows (X, y)."""
    name = type(model).__name__
    if not (isinstance(calibration, (tuple, list)) and len(calibration) == 2):
        raise InputError(f"{name}: calibration must be a pair (X, y) of rows and their classes.")
    X, y = calibration
    labels = read_labels(name, y, count(X))
    place = np.clip(np.searchsorted(model.classes_, labels), 0, len(model.classes_) - 1)
    unseen = model.classes_[place] != labels
    if unseen.any():
        row = int(np.argmax(unseen))
        raise InputError(
            f"{name}: the calibration label {labels[[row]].tolist()[0]!r} (row {row}) is none of the classes that the model "
            f"was fitted to, {model.classes_.tolist()}; leave such rows out."
        )
    return HeldOutClasses(model._set_probabilities(X, True), place, X)


def thresholds(model: Any, known: HeldOutClasses, X: Any, coverage: float, method: str, shift: Any) -> Any:
    """Return the largest score of a class in the set: a number, (1, C) or (n, 1)."""
    name, scores = type(model).__name__, known.scores()
    if method == "marginal":
        check_rows(f"{name}.predict_set", len(scores), coverage)
        return conformal_radius(scores, coverage)
    if method == "class":
        found = []
        for code, label in enumerate(model.classes_.tolist()):
            own = scores[known.codes == code]
            check_rows(f"{name}.predict_set, class {label!r}", len(own), coverage)
            found.append(conformal_radius(own, coverage))
        return np.array(found)[None, :]
    if known.X is None:
        raise InputError(
            f'{name}: method="local" needs calibration=(X, y); the model does not keep the rows it was fitted to.'
        )
    kernel = model.kernel_ if shift is None else shift
    found_local = calibrate(kernel, known.X, scores, "auto", coverage, outside=True)
    return found_local.thresholds(X, coverage)[:, None]


def by_refits(model: Any, X: Any, codes: Array, classes: Array) -> HeldOutClasses:  # (n rows), (n,)
    """Return probabilities of every row by copies of the model that were fitted without its fold."""
    smallest = int(np.bincount(codes[codes >= 0]).min())
    if smallest < 2:
        raise InputError(
            f"{type(model).__name__}: a class has a single row, which cannot be held out; give calibration=(X, y)."
        )
    folds = class_folds(codes, min(FOLDS, smallest), SEED)
    rows, P = Rows(X), np.zeros((len(codes), len(classes)))
    for fold in range(int(folds.max()) + 1):
        train, test = np.flatnonzero((folds != fold) & (codes >= 0)), np.flatnonzero(folds == fold)
        part = clone(model).fit(rows.take(train).data, classes[codes[train]])
        P[test] = part.predict_proba(rows.take(test).data)
    kept = np.flatnonzero(codes >= 0)
    return HeldOutClasses(P[kept], codes[kept], rows.take(kept).data)
