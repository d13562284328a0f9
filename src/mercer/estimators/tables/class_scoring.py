"""What classifiers on tables are compared by: log-loss, area under the ROC curve, or costs of decisions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mercer.arrays import Array, Floats
from mercer.errors import InputError, check_number
from mercer.estimators.tables.search import Objective
from mercer.estimators.tables.targets import CODES, calibrated, probabilities


def log_loss(F: Floats, Y: Floats, weights: Floats | None = None) -> Floats:  # (n, c), (n, c), (n,) -> (n,)
    """Return -log of the probability of the true class, after the calibration of these scores."""
    return np.asarray(-np.log(np.sum(probabilities(F, *calibrated(F, Y, weights)) * Y, axis=1)))


def auc_loss(F: Floats, Y: Floats, weights: Floats | None = None) -> Floats:  # (n, c), (n, c), (n,) -> (n,)
    """Return losses with the mean 1 - AUC: the share of rows of the other class on the wrong side of each row.

    With more than two classes, the mean over classes of each one against the rest.

    >>> F, Y = np.array([[0.9, 0.1], [0.4, 0.6], [0.6, 0.4]]), np.eye(2)[[0, 0, 1]]
    >>> float(auc_loss(F, Y).mean())  # one of two pairs is in the wrong order
    0.5
    """
    w = np.ones(len(F)) if weights is None else weights
    P = F if F.shape[1] > 2 else F[:, 1:] - F[:, :1]
    indicators = Y if F.shape[1] > 2 else Y[:, 1:]
    parts = [_misplaced(p, y > 0.5, w) for p, y in zip(P.T, indicators.T, strict=True)]
    return np.mean(parts, axis=0)


def _misplaced(p: Floats, positive: Array, w: Floats) -> Floats:  # (n,), (n,), (n,) -> (n,)
    """Return the weighted share of rows of the other side beyond each row, halved for ties, with the mean 1 - AUC."""
    out, total = np.zeros(len(p)), float(w.sum())
    for own, sign in ((positive, 1.0), (~positive, -1.0)):
        of_own, of_other = float(w[own].sum()), total - float(w[own].sum())
        if not of_own or not of_other:
            return np.full(len(p), 0.5)  # one class only: no order to judge
        order = np.argsort(sign * p[~own], kind="stable")
        others, sums = (sign * p[~own])[order], np.append(0.0, np.cumsum(w[~own][order]))
        low = np.searchsorted(others, sign * p[own], "left")
        high = np.searchsorted(others, sign * p[own], "right")
        beyond = of_other - 0.5 * (sums[low] + sums[high])
        out[own] = 0.5 * beyond / of_other * total / of_own
    return out


def decide(P: Floats, costs: Floats | None) -> Array:  # (n, c), (c, c) -> (n,)
    """Return the class of the smallest expected cost, or of the largest probability."""
    return np.asarray(P.argmax(axis=1) if costs is None else (P @ costs).argmin(axis=1))


def objective_of(scoring: Any, classes: Array) -> tuple[Objective, Floats | None]:
    """Return what candidates are compared by, and the costs (true, predicted) of decisions if they are given."""
    if isinstance(scoring, str):
        known = {
            "log-loss": Objective("classification", "log-loss", log_loss, transforms=(CODES,)),
            "auc": Objective("classification", "1 - AUC", auc_loss, transforms=(CODES,)),
        }
        if scoring in known:
            return known[scoring], None
        raise InputError(
            f'TableClassifier: scoring must be "log-loss", "auc" or a matrix of costs (true, predicted); got {scoring!r}.'
        )
    if scoring is None:
        raise InputError('TableClassifier: scoring is None; give "log-loss", "auc" or a matrix of costs (true, predicted).')
    costs = read_costs(scoring, classes)

    def cost_loss(F: Floats, Y: Floats, weights: Floats | None = None) -> Floats:
        P = probabilities(F, *calibrated(F, Y, weights))
        return np.asarray((Y @ costs)[np.arange(len(F)), decide(P, costs)])

    return Objective("classification", "cost", cost_loss, transforms=(CODES,)), costs


def read_costs(given: Any, classes: Array) -> Floats:  # -> (c, c)
    """Return costs (true class, predicted class): from a matrix in the order of the classes, or {(true, predicted): cost}.

    >>> read_costs({("ill", "well"): 20.0, ("well", "ill"): 1.0}, np.array(["ill", "well"])).tolist()
    [[0.0, 20.0], [1.0, 0.0]]
    """
    c, names = len(classes), classes.tolist()
    if isinstance(given, Mapping):
        costs = np.zeros((c, c))
        for pair, cost in given.items():
            check_number("TableClassifier", "a cost in scoring", cost, "a finite number", lambda _: True)
            if not (isinstance(pair, tuple) and len(pair) == 2 and pair[0] in names and pair[1] in names):
                raise InputError(
                    f"TableClassifier: scoring has costs of {pair!r}; give pairs (true class, predicted class) of {names}."
                )
            costs[names.index(pair[0]), names.index(pair[1])] = cost
    else:
        try:
            costs = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(f"TableClassifier: scoring must be a word or a matrix of costs; got {given!r:.60}.") from None
    if costs.shape != (c, c):
        raise InputError(
            f"TableClassifier: the costs in scoring have shape {costs.shape} for {c} classes; give one row per true "
            "class and one column per predicted class."
        )
    if not np.isfinite(costs).all():
        raise InputError("TableClassifier: the costs in scoring must be finite numbers.")
    wrong = np.flatnonzero((costs <= np.diag(costs)[:, None]).sum(axis=1) == c)
    if len(wrong):
        raise InputError(
            f"TableClassifier: for the true class {names[wrong[0]]!r} no wrong decision costs more than the right one; "
            "costs are given as (true, predicted)."
        )
    return costs
