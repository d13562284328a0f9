"""Fits of kernel logistic regression: exact on all rows, or on landmarks, with the duality gap; held-out probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from mercer.arrays import Array, Floats, Indices
from mercer.errors import InputError, warn
from mercer.estimators.base import TrainingSet
from mercer.grams import gram
from mercer.grams.dual_function import DualFunction
from mercer.inputs import Rows
from mercer.inputs.labels import class_weights, classes_of, encode
from mercer.kernels.base import Kernel
from mercer.linalg.likelihoods import Logit, log_softmax
from mercer.linalg.logistic import both_columns, objectives, one_hot
from mercer.linalg.newton import Mode, find_mode, held_out_latent
from mercer.linalg.softmax import SoftmaxMode, find_softmax_mode, held_out_softmax
from mercer.selection.surface import PenaltyAxis, Splits, Surface, statistics

#: Newton's tolerance while settings are compared; their scores are then accurate to about five digits.
ROUGH = 1e-7


@dataclass(frozen=True)
class ClassRows:
    """Class numbers of the rows and their weights, those of the classes included."""

    classes: Array  # (C,) sorted; a class whose rows all have weight 0 is left out
    codes: Indices  # (n,), -1 for rows of weight 0
    weights: Floats  # (n,)

    @classmethod
    def of(cls, what: str, data: TrainingSet, class_weight: Any) -> ClassRows:
        """Return the labels that a fit has read."""
        labels, weights = data.y, data.counted
        classes, kept = classes_of(what, labels, data.weights), weights > 0
        codes = np.full(len(labels), -1)
        codes[kept] = encode(what, labels[kept], classes)
        return cls(classes, codes, weights * class_weights(what, class_weight, classes, codes, weights)[codes])

    @property
    def used(self) -> Indices:
        """The rows of positive weight."""
        return np.flatnonzero((self.codes >= 0) & (self.weights > 0))


@dataclass(frozen=True)
class LogisticFit:
    """A fitted function per class, or one for two classes, with its objective and how the solver ended."""

    function: DualFunction  # a column per class, or one
    classes: Array  # (C,)
    primal: float
    dual_objective: float
    converged: bool
    n_iter: int
    message: str


def fit_exact(
    kernel: Kernel, X: Any, labels: ClassRows, C: float, *, intercept: bool, tol: float, max_iter: int
) -> LogisticFit:
    """Fit on all rows of positive weight; rows of weight 0 keep a coefficient of 0."""
    rows, n = labels.used, len(labels.codes)
    K = np.asarray(gram(kernel, X if len(rows) == n else Rows(X).take(rows), memory=float("inf")), dtype=np.float64)
    K = K if K.shape == (len(rows), len(rows)) else K[:, rows]  # given values have all columns
    Y, w = one_hot(labels.codes[rows], len(labels.classes)), labels.weights[rows]
    mode = solve_dual(C * (centered(K) if intercept else K), Y, w, intercept=intercept, tol=tol, max_iter=max_iter)
    A, F = _table(mode)
    KA = C * (K @ A)
    b, penalty = (F - KA).mean(axis=0) * intercept, 0.5 * float(np.sum(A * KA))
    primal, below = objectives(F, Y, w, penalty, lambda G: C * float(np.sum(G * (K @ G))), intercept)
    dual = np.zeros((n, A.shape[1]))
    dual[rows] = C * A
    function = DualFunction(kernel, X, dual, b)
    return LogisticFit(function, labels.classes, primal, below, mode.converged, mode.n_iter, mode.message)


def centered(K: Floats) -> Floats:  # (n, n) -> (n, n)
    """Return K centered in feature space: with a free intercept the coefficients are the same, and digits are kept."""
    means = K.mean(axis=0)
    return K - means[:, None] - means + means.mean()


def _table(mode: Mode | SoftmaxMode) -> tuple[Floats, Floats]:  # -> (n, t), (n, t)
    return (mode.dual[:, None], mode.f[:, None]) if isinstance(mode, Mode) else (mode.dual, mode.F)


def solve_dual(
    K: Floats, Y: Floats, weights: Floats, *, intercept: bool, tol: float, max_iter: int, start: Any = None
) -> Mode | SoftmaxMode:
    """Return the mode for C K: one function for two classes, else one per class."""
    if Y.shape[1] == 2:
        return find_mode(K, Logit(), Y[:, 1], weights=weights, intercept=intercept, start=start, tol=tol, max_iter=max_iter)
    return find_softmax_mode(K, Y, weights=weights, intercept=intercept, start=start, tol=tol, max_iter=max_iter)


def probabilities(F: Floats) -> Floats:  # (n,) or (n, t) -> (n, C)
    """Return class probabilities from decision values."""
    return np.exp(log_softmax(both_columns(F.reshape(len(F), -1))))


@dataclass(frozen=True)
class LogisticData:
    """What a surface is computed on."""

    rows: Rows  # encoded once for all kernel settings
    codes: Indices  # (n,) class numbers; -1 for rows of weight 0
    weights: Floats  # (n,)
    n_classes: int
    splits: Splits | None  # (train, test) rows; None is approximate leave-one-out

    @property
    def counted(self) -> NDArray[np.bool_]:  # (n,)
        """False for rows of weight 0."""
        return np.asarray((self.codes >= 0) & (self.weights > 0))

    def take(self, rows: Indices) -> LogisticData:
        """Return some of the rows, with the same splits restricted to them."""
        place = np.full(len(self.codes), -1)
        place[rows] = np.arange(len(rows))
        splits = None
        if self.splits is not None:
            splits = tuple((place[a][place[a] >= 0], place[b][place[b] >= 0]) for a, b in self.splits)
        return LogisticData(self.rows.take(rows), self.codes[rows], self.weights[rows], self.n_classes, splits)


Score = Callable[[Floats, Indices, Floats], Floats]  # (n, C) probabilities, codes (n,), weights (n,) -> (n,) per row


def log_loss_rows(P: Floats, codes: Indices, weights: Floats) -> Floats:
    """Return log p of the class of every row."""
    return np.log(np.maximum(P[np.arange(len(codes)), codes], 1e-300))


def accuracy_rows(P: Floats, codes: Indices, weights: Floats) -> Floats:
    """Return 1 for rows whose most probable class is theirs, else 0."""
    return (P.argmax(axis=1) == codes).astype(np.float64)


def logistic_surface(
    params: list[dict[str, Any]], kernels: list[Kernel], data: LogisticData, axis: PenaltyAxis, name: str, score: Score,
    *, intercept: bool, max_iter: int, step: Callable[[int, int], Any],
) -> Surface:  # fmt: skip
    """Score every kernel at every C, by approximate leave-one-out or by refits on splits; along C each fit is a start."""
    order = np.argsort(axis.values, kind="stable")
    used = np.flatnonzero(data.counted)
    shape = (len(kernels), len(axis.values))
    means, errors, deviations = np.empty(shape), np.empty(shape), np.empty(shape)
    folds = None if data.splits is None else np.empty((*shape, len(data.splits)))
    for i, kernel in enumerate(kernels):
        K = np.asarray(gram(kernel, data.rows.branch(), memory=float("inf")), dtype=np.float64)
        if folds is None:
            held = _held_out_path(K[np.ix_(used, used)], data, used, axis.values[order], intercept, max_iter)
            w = data.weights[used]
            for column, P in zip(order, held, strict=True):
                values = score(P, data.codes[used], w)
                means[i, column] = np.average(values, weights=w)
                deviations[i, column] = np.sqrt(np.average((values - means[i, column]) ** 2, weights=w))
                errors[i, column] = deviations[i, column] / max(w.sum() ** 2 / (w @ w) - 1.0, 1.0) ** 0.5
        else:
            assert data.splits is not None
            for number, (train, test) in enumerate(data.splits):
                train, test = (part[data.counted[part]] for part in (train, test))
                _check_split(number, data.codes[train], data.n_classes)
                path = _refit_path(K, data, train, test, axis.values[order], intercept, max_iter)
                for column, P in zip(order, path, strict=True):
                    values = score(P, data.codes[test], data.weights[test])
                    folds[i, column, number] = np.average(values, weights=data.weights[test])
        step(i + 1, len(kernels))
    found = {"scores": means, "standard_errors": errors, "deviations": deviations} if folds is None else statistics(folds)
    how = "approximate leave-one-out" if folds is None else ""
    return Surface(
        tuple(params), tuple(kernels), axis, found["scores"], found["standard_errors"], "gram", name, found["deviations"],
        split_scores=folds, how=how,
    )  # fmt: skip


def _check_split(number: int, codes: Indices, n_classes: int) -> None:
    if len(np.unique(codes)) < n_classes:
        raise InputError(
            f"split {number} of the cross-validation trains without one of the {n_classes} classes; give fewer folds, or a "
            "splitter that keeps the classes together, such as StratifiedKFold."
        )


def _path(K: Floats, Y: Floats, w: Floats, Cs: Floats, intercept: bool, max_iter: int) -> Any:
    """Yield (C, mode) for ascending C; the next search starts at the function of the last one."""
    start = None
    for C in Cs:
        mode = solve_dual(C * K, Y, w, intercept=intercept, tol=ROUGH, max_iter=max_iter, start=start)
        if not mode.converged:
            warn(
                f"KernelLogisticRegressionCV: the score at C = {C:.4g} is approximate, because its fit ended early: "
                f"{mode.message}. Raise max_iter, or leave out large C.",
                ConvergenceWarning,
            )
        start = mode.f if isinstance(mode, Mode) else mode.F
        yield C, mode


def _held_out_path(K: Floats, data: LogisticData, used: Indices, Cs: Floats, intercept: bool, max_iter: int) -> list[Floats]:
    Y = one_hot(data.codes[used], data.n_classes)
    K, w = centered(K) if intercept else K, data.weights[used]
    found = []
    for C, mode in _path(K, Y, w, Cs, intercept, max_iter):
        if isinstance(mode, Mode):
            F = held_out_latent(mode, lambda f: w[:, None] * (Y[:, 1:] - expit(f)))
        else:
            F = held_out_softmax(mode, C * K, intercept)
        found.append(probabilities(F))
    return found


def _refit_path(
    K: Floats, data: LogisticData, train: Indices, test: Indices, Cs: Floats, intercept: bool, max_iter: int
) -> list[Floats]:
    Y = one_hot(data.codes[train], data.n_classes)
    cross, own = K[np.ix_(test, train)], K[np.ix_(train, train)]
    found = []
    for C, mode in _path(centered(own) if intercept else own, Y, data.weights[train], Cs, intercept, max_iter):
        A, F = _table(mode)
        found.append(probabilities(C * (cross @ A) + (F - C * (own @ A)).mean(axis=0) * intercept))
    return found
