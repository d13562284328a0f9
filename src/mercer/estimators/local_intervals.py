"""Thresholds of conformity scores that hold near every point: conditional conformal prediction with a kernel.

Gibbs, Cherian and Candès (2023): the threshold at x is the value at x of a quantile regression of the scores. It is a
constant plus a function of the space of a kernel, `shift`, fitted to the calibration rows and to x with the largest score
that the fit does not exceed. The constant is not penalized, so that the coverage over all rows is at least the requested
one, whatever the data. If rows are drawn in proportion to weights w(x) = <w, phi(x)> >= 0 from the space of `shift`, the
coverage differs from it by a term of the penalty, which `gap` estimates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from mercer.arrays import Floats
from mercer.errors import InputError
from mercer.estimators.intervals import conformal_rank
from mercer.inputs import Rows, count
from mercer.kernels.base import Kernel
from mercer.kernels.parsing import as_kernel
from mercer.linalg.box_qp.quantile_path import QuantilePath
from mercer.numeric.threads import one_blas_thread
from mercer.registry import record
from mercer.selection.folds import random_folds

#: Penalties that are compared, in units in which 1 keeps thresholds within about 20 % of the median score.
PENALTIES = (3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003)

#: The penalty if there are too few rows to choose one, and the number of rows from which it is chosen.
FEW_PENALTY, CHOSEN_FROM = 0.1, 100

#: Share of the calibration rows on which the penalty is chosen, and the most of them; folds of the choice.
SHARE, MOST_CHOOSING, FOLDS = 0.25, 250, 5

#: Calibration rows beyond this number are left out, chosen at random: the path holds their Gram matrix.
MOST_ROWS = 2000

#: New rows whose kernel values are held at a time.
NEW_ROWS = 256


def check_rows(what: str, n: int, coverage: float) -> None:
    """Raise if n calibration rows are too few for the coverage: the bound would be infinite."""
    if conformal_rank(n, coverage) > n:
        least = next(m for m in range(n, 10**9) if conformal_rank(m, coverage) <= m)
        raise InputError(
            f"{what}: coverage {coverage:g} needs at least {least} calibration rows; got {n}. Give more rows, or ask for a "
            "lower coverage."
        )


@record()
@dataclass(frozen=True)
class LocalCalibration:
    """Scores of calibration rows, the kernel of the guarded shifts, and the penalty."""

    _stored: ClassVar[dict[str, str]] = {
        "kernel": "kernel",
        "X": "rows n",
        "scores": "float (n,) >= 0",
        "penalty": "float > 0",
        "chosen_on": "int",
    }

    kernel: Kernel
    X: Any  # (n rows)
    scores: Floats  # (n,)
    penalty: float
    chosen_on: int = 0  # rows on which the penalty was chosen; 0 if it was given

    def thresholds(self, X: Any, coverage: float, cuts: Floats | None = None) -> Floats:  # (m rows), (m,) -> (m,)
        """Return the largest score at each new row; `cuts` in (coverage - 1, coverage) randomize it, for equality."""
        check_rows("local intervals", len(self.scores), coverage)
        if not self.scores.any():
            return np.zeros(count(X))
        path, new, factor = self._path(coverage), Rows(X), self._factor
        corners = factor * np.asarray(self.kernel.diag(new), dtype=np.float64)
        targets = np.full(count(X), coverage) if cuts is None else cuts
        out = np.empty(count(X))
        for start in range(0, len(out), NEW_ROWS):
            rows = np.arange(start, min(start + NEW_ROWS, len(out)))
            columns = factor * np.asarray(self.kernel(new.take(rows), self.X), dtype=np.float64)
            with one_blas_thread():  # the systems are small
                out[rows] = [
                    path.cutoff(c, float(corners[i]), float(targets[i])) for i, c in zip(rows, columns, strict=True)
                ]
        return np.maximum(out, 0.0)

    def gap(self, X: Any, coverage: float) -> Floats:  # (m rows) -> (m,)
        """Return how much the coverage near each new row exceeds `coverage` because of the penalty, as estimated.

        Rows are weighted by k(x, .), which must not be negative. Stationarity of the fit is
        sum_i (coverage - [row i covered]) k(x, x_i) = f(x) / factor, up to the interpolated rows.
        """
        path = self._path(coverage)
        K = np.asarray(self.kernel(X, self.X), dtype=np.float64)
        weight = K.sum(axis=1)
        return np.asarray(-(K @ path.eta) / np.where(weight > 0, weight, np.inf))

    @cached_property
    def _factor(self) -> float:
        """What kernel values are multiplied by."""
        return _factor(self.scores, np.asarray(self.kernel.diag(self.X), dtype=np.float64), self.penalty)

    def _path(self, coverage: float) -> QuantilePath:
        found: dict[float, QuantilePath] = self.__dict__.setdefault("_paths", {})
        if coverage not in found:
            G = self._factor * np.asarray(self.kernel(self.X), dtype=np.float64)
            with one_blas_thread():
                found[coverage] = QuantilePath.fit(G, self.scores, coverage)
        return found[coverage]


def _factor(scores: Floats, diagonal: Floats, penalty: float) -> float:  # (n,), (n,)
    """Return what kernel values are multiplied by: the scale of the scores over the penalty, per row."""
    scale = float(np.median(scores)) or float(np.mean(scores)) or 1.0
    return scale / (penalty * (len(scores) + 1) * max(float(diagonal.mean()), 1e-300))


def read_shift(shift: Any, X: Any) -> Kernel:
    """Return the kernel of the guarded shifts with its numbers."""
    kernel = shift if isinstance(shift, Kernel) else as_kernel(shift)
    if kernel.given:
        raise InputError("shift must be a kernel on the rows; got Precomputed(), which knows no values of new rows.")
    return kernel.resolve(X)


def calibrate(
    shift: Any, X: Any, scores: Floats, penalty: float | str, coverage: float, *, outside: bool, seed: int = 0
) -> LocalCalibration:
    """Return the calibration of scores >= 0; with `outside` the rows that choose the penalty do not calibrate."""
    rows, rng = Rows(X), np.random.default_rng(seed)
    kernel, order = read_shift(shift, X), rng.permutation(len(scores))
    chosen_on = 0
    if penalty == "auto":
        penalty = FEW_PENALTY
        if len(scores) >= CHOSEN_FROM:
            chosen_on = min(MOST_CHOOSING, int(SHARE * len(scores)))
            part = order[:chosen_on]
            order = order[chosen_on:] if outside else order
            shrunk = math.sqrt(chosen_on / min(len(order), MOST_ROWS))  # the best penalty falls with the number of rows
            penalty = shrunk * choose_penalty(kernel, rows.take(part).data, scores[part], coverage)
    kept = np.sort(order[:MOST_ROWS])
    return LocalCalibration(kernel, rows.take(kept).data, scores[kept], float(penalty), chosen_on)


def choose_penalty(kernel: Kernel, X: Any, scores: Floats, coverage: float) -> float:
    """Return the penalty of least pinball loss on held-out rows; of equal ones the largest."""
    folds = random_folds(len(scores), FOLDS, np.random.default_rng(0))
    K = np.asarray(kernel(X), dtype=np.float64)
    losses = np.zeros(len(PENALTIES))
    for fold in range(FOLDS):
        train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        for place, penalty in enumerate(PENALTIES):
            factor = _factor(scores[train], np.diagonal(K)[train], penalty)
            with one_blas_thread():
                path = QuantilePath.fit(factor * K[np.ix_(train, train)], scores[train], coverage)
            rest = scores[test] - (factor * K[np.ix_(test, train)] @ path.eta + path.offset)
            losses[place] += float(np.maximum(coverage * rest, (coverage - 1.0) * rest).sum())
    return PENALTIES[int(np.argmin(losses))]


def local_intervals(
    model: Any, X: Any, residuals: Floats, new: Any, centers: Floats, coverage: float, shift: Any
) -> Floats:  # (n rows), (n, t), (m rows), (m, t) -> (m, 2, t)
    """Return intervals from residuals of held-out training rows; `shift` None is the kernel of the model.

    The residuals have chosen the model and the penalty, so that the coverage is approximate.
    """
    out = np.empty((len(centers), 2, centers.shape[1]))
    for j in range(centers.shape[1]):
        known = np.isfinite(residuals[:, j])
        check_rows(f'{type(model).__name__}: method="local"', int(known.sum()), coverage)
        rows = X if known.all() else Rows(X).take(np.flatnonzero(known)).data
        kernel = model.kernel_ if shift is None else shift
        found = calibrate(kernel, rows, np.abs(residuals[known, j]), "auto", coverage, outside=False)
        radii = found.thresholds(new, coverage)
        out[:, 0, j], out[:, 1, j] = centers[:, j] - radii, centers[:, j] + radii
    return out
