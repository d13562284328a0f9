"""Which experiment to make next: the candidates that a Gaussian process expects most from."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import erfcx, log_ndtr

from mercer.arrays import Floats, Indices
from mercer.errors import InputError, describe
from mercer.estimators.gp.gaussian_process import GaussianProcessRegressor
from mercer.inputs import as_rows, count, take

GOALS = ("max", "min", "explore")
METHODS = ("improvement", "bound", "thompson", "mean")

#: Candidates whose joint covariance is computed at once; more are taken in only if the choice could depend on them.
SHORTLIST = 1024

#: Thompson draws need the joint covariance of all candidates.
MOST_JOINT = 20_000


def suggest(
    model: GaussianProcessRegressor,
    candidates: Any,
    n: int = 1,
    goal: str = "max",
    *,
    method: str = "improvement",
    width: float = 2.0,
    random_state: Any = 0,
) -> Indices:
    """Return the places of the n candidates to measure next.

    Candidates that equal a training row are never suggested, and no candidate twice. The second and further suggestions take
    into account that the first ones will be measured: the process is conditioned on them with its own mean as the outcome,
    so that a batch spreads out.

    Parameters
    ----------
    model : fitted GaussianProcessRegressor with one target
    candidates : collection of rows of the kind that the model was fitted to
    n : int >= 1, default 1
    goal : "max", "min" or "explore"
        Find a large or a small target, or learn most about the function: the largest standard deviation.
    method : "improvement", "bound", "thompson" or "mean"
        Expected improvement over the best mean at the measured rows; mean plus `width` standard deviations; the best
        candidate of a function drawn from the joint posterior, one draw per suggestion; or the mean alone. Not used for
        goal="explore".
    width : float >= 0, default 2.0
        Standard deviations of method="bound".
    random_state : int or Generator, default 0
        Seed of method="thompson".

    >>> import mercer, numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0], [4.0]])
    >>> model = mercer.GaussianProcessRegressor(mercer.Gaussian(1.0), noise=1e-4, optimizer=None)
    >>> model = model.fit(X, [0.0, 1.0, 1.5, 0.0])
    >>> mercer.suggest(model, np.linspace(0.0, 4.0, 9)[:, None], n=2).tolist()
    [5, 3]
    """
    if not isinstance(model, GaussianProcessRegressor):
        raise InputError(
            f"suggest takes a fitted GaussianProcessRegressor, whose joint posterior it needs; got {describe(model)}."
        )
    for value, name, allowed in ((goal, "goal", GOALS), (method, "method", METHODS)):
        if value not in allowed:
            raise InputError(f"suggest: {name} must be one of {', '.join(map(repr, allowed))}; got {describe(value)}.")
    if not (isinstance(width, (int, float)) and 0.0 <= width < math.inf):
        raise InputError(f"suggest: width must be a finite number >= 0; got {describe(width)}.")
    known = model.X_train_
    rows = as_rows(candidates, "candidates")
    free = _not_measured(rows.data, known)
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
        raise InputError(f"suggest: n must be a whole number >= 1; got {describe(n)}.")
    if n > len(free):
        raise InputError(
            f"suggest: {n} suggestions were asked for, but only {len(free)} of {len(rows)} candidates differ from the "
            "training rows and from each other; give more candidates or a smaller n."
        )
    sign = -1.0 if goal == "min" else 1.0
    best = sign * float(np.max(sign * _single(model.predict(known))))
    pool = _Candidates(model, rows.data, free, sign)
    if goal != "explore" and method == "thompson":
        return pool.drawn(int(n), random_state)
    return pool.greedy(int(n), "explore" if goal == "explore" else method, sign * best, float(width))


class _Candidates:
    """The candidates that may be suggested, with their posterior; large means are good, whatever the goal."""

    def __init__(self, model: GaussianProcessRegressor, rows: Any, free: Indices, sign: float) -> None:
        self.model, self.rows, self.free, self.sign = model, rows, free, sign
        mean, self.std = model.predict(take(rows, free), return_std=True)
        self.mean = sign * _single(mean)  # (m,)

    def greedy(self, n: int, method: str, best: float, width: float) -> Indices:
        """Choose one after the other, each time conditioned on those before.

        Conditioning on the mean lowers standard deviations and changes no mean, so that scores only fall. Therefore the
        joint covariance is needed only for candidates whose first score exceeds the best of the conditioned ones.
        """
        first = _scores(method, self.mean, self.std, best, width)
        order = np.argsort(-first, kind="stable")
        size = min(len(order), max(SHORTLIST, 4 * n))
        while True:
            listed = order[:size]
            chosen = self._among(listed, n, method, best, width, first[order[size]] if size < len(order) else -np.inf)
            if chosen is not None:
                return np.asarray(self.free[chosen])
            size = min(len(order), 2 * size)

    def _among(self, listed: Indices, n: int, method: str, best: float, width: float, beyond: float) -> Indices | None:
        """Choose among some candidates; None if one of the others, scored `beyond` at most, could be better."""
        rows = take(self.rows, self.free[listed])
        if n == 1:
            return listed[:1]
        _, C = self.model.predict(rows, return_cov=True)
        noise = self._noise(rows)
        mean, chosen = self.mean[listed], np.zeros(len(listed), dtype=bool)
        found: list[int] = []
        for _ in range(n):
            variance = np.maximum(np.diagonal(C), 0.0)
            scores = np.where(chosen, -np.inf, _scores(method, mean, np.sqrt(variance), best, width))
            place = int(np.argmax(scores))
            if scores[place] < beyond:
                return None
            found.append(place)
            chosen[place] = True
            best = max(best, float(mean[place]))
            column = C[:, place].copy()
            C = C - np.outer(column, column) / max(column[place] + noise[place], np.finfo(np.float64).tiny)
        return listed[found]

    def _noise(self, rows: Any) -> Floats:  # -> (m,)
        plain = self.model.predict(rows, return_std=True)[1]
        return np.asarray(self.model.predict(rows, return_std=True, include_noise=True)[1] ** 2 - plain**2)

    def drawn(self, n: int, random_state: Any) -> Indices:
        """Choose the best candidate of n functions drawn from the joint posterior, each time among those left."""
        if len(self.free) > MOST_JOINT:
            raise InputError(
                f"suggest: method='thompson' draws {len(self.free)} candidates jointly; at most {MOST_JOINT} are drawn. "
                "Give fewer candidates, or take method='improvement'."
            )
        draws = self.sign * self.model.sample_y(take(self.rows, self.free), n, random_state)  # (m, n)
        left = np.ones(len(self.free), dtype=bool)
        found = []
        for column in draws.T:
            place = int(np.argmax(np.where(left, column, -np.inf)))
            left[place] = False
            found.append(place)
        return np.asarray(self.free[found])


def _scores(method: str, mean: Floats, std: Floats, best: float, width: float) -> Floats:  # (m,), (m,) -> (m,)
    """What is expected of each candidate; comparable within one method."""
    if method == "explore":
        return std
    if method == "mean":
        return mean
    if method == "bound":
        return mean + width * std
    return log_improvement(mean, std, best)


def log_improvement(mean: Floats, std: Floats, best: float) -> Floats:  # (m,), (m,) -> (m,)
    """Logarithm of E max(f - best, 0) for f normal; exact where the expectation itself underflows.

    E max(f - best, 0) = s (phi(z) + z Phi(z)) with z = (mean - best) / s. For z far below 0 the bracket is
    phi(z) (1 - |z| R(z)) with the Mills ratio R = Phi(z) / phi(z), and phi(z) / z^2 in the limit.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(std > 0, (mean - best) / np.where(std > 0, std, 1.0), np.sign(mean - best) * np.inf)
        log_phi = -0.5 * z**2 - 0.5 * math.log(2.0 * math.pi)
        near = np.log(np.exp(log_phi) + z * np.exp(log_ndtr(z)))
        ratio = math.sqrt(math.pi / 2.0) * erfcx(-z / math.sqrt(2.0))
        far = log_phi + np.log1p(z * ratio)
        farther = log_phi - 2.0 * np.log(np.abs(z))
        score = np.log(std) + np.where(z > -1.0, near, np.where(z > -1e4, far, farther))
        return np.where(std > 0, score, np.where(mean > best, np.log(np.maximum(mean - best, 0.0)), -np.inf))


def _single(mean: Floats) -> Floats:
    if mean.ndim != 1:
        raise InputError(f"suggest needs a model with one target; this one has {mean.shape[1]}. Fit one per target.")
    return mean


def _not_measured(candidates: Any, known: Any) -> Indices:
    """Places of the candidates that equal no training row and no earlier candidate."""
    seen = set(_keys(known))
    found = []
    for i, key in enumerate(_keys(candidates)):
        if key not in seen:
            seen.add(key)
            found.append(i)
    return np.array(found, dtype=np.intp)


def _keys(rows: Any) -> list[Any]:
    """Values, one per row, that are equal for equal rows."""
    if isinstance(rows, np.ndarray) and rows.dtype.kind in "fiub":
        numbers = np.ascontiguousarray(rows.reshape(len(rows), -1), dtype=np.float64) + 0.0  # -0.0 equals 0.0
        return [row.tobytes() for row in numbers]
    return [_key(rows, i) for i in range(count(rows))]


def _key(rows: Any, i: int) -> Any:
    row = take(rows, slice(i, i + 1))
    if hasattr(row, "toarray"):
        row = row.toarray()
    if hasattr(row, "to_numpy"):
        row = row.to_numpy()
    if isinstance(row, np.ndarray):
        return tuple(row.ravel().tolist())
    item = row[0]
    return tuple(np.asarray(item).ravel().tolist()) if isinstance(item, (list, tuple, np.ndarray)) else item
