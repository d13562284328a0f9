"""Novelty detection by a ball around the mean in feature space."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from sklearn.base import OutlierMixin

from mercer.arrays import Array, Floats, Ints
from mercer.errors import InputError, describe
from mercer.estimators.base import DEFAULT_KERNEL, DualModel, TrainingSet, check_is_fitted
from mercer.estimators.definiteness import known_psd
from mercer.estimators.intervals import conformal_rank
from mercer.estimators.means.ball import Ball, conformal_scores, guaranteed_radius, without_each
from mercer.estimators.progress import Meter
from mercer.estimators.summary import Summary
from mercer.grams import GramOperator
from mercer.grams.chunks.operator import diagonal
from mercer.grams.chunks.rows import ChunkedRows
from mercer.grams.differences import warn_of_cancellation
from mercer.grams.products import chunk_product_routes, from_features, product, product_routes, to_features
from mercer.numeric.memory import format_bytes
from mercer.planning import Route, Shape
from mercer.registry import estimator


@estimator
class NoveltyBall(OutlierMixin, DualModel):
    """Call x novel if ||phi(x) - phi_S|| > max_i ||phi(x_i) - phi_S||, or a quantile of leave-one-out distances.

    By kernel values ||phi(x) - phi_S||^2 = k(x, x) - (2/m) sum_i k(x, x_i) + (1/m^2) sum_ij k(x_i, x_j).

    The ball that just holds the sample was fitted to it, so a new point of the same source leaves it more often than
    1/(m+1). Two answers come with a guarantee, whatever the source: the p-values, and `guaranteed_radius_`.

    Parameters
    ----------
    kernel : Kernel or str, default Gaussian(length_scale="median")
    quantile : float in (0, 1], optional
        None is the lectures' ball, radius max_i ||phi(x_i) - phi_S||. A number takes that quantile of the leave-one-out
        distances, the ceil(quantile (m+1))-th smallest.
    memory : bytes or text such as "4 GB", optional
    verbose : bool or None

    Attributes
    ----------
    radius_, center_norm_ (||phi_S||), distances_ and loo_distances_ (of the training rows), offset_ (score at the
    boundary), guaranteed_radius_ and false_alarm_bound_ (a new point of the same source leaves the ball of that radius
    with at most that probability), false_alarm_rate_ (measured: the share of training rows that are outside the ball
    fitted without them; computed at first use), dual_coef_, X_fit_, kernel_, route_.

    >>> import numpy as np
    >>> from mercer import Linear, NoveltyBall
    >>> ball = NoveltyBall(Linear()).fit([[-1.0, 0.0], [1.0, 0.0], [0.0, 0.5], [0.0, -0.5]])
    >>> ball.radius_, ball.predict([[0.9, 0.0], [0.0, 1.1]]).tolist()
    (1.0, [1, -1])
    """

    _stored: ClassVar[dict[str, str]] = {
        "dual_coef_": "float (n,)",
        "intercept_": "float",
        "_ball": "a Ball",
        "_ball.means": "float (n,)",
        "radius_": "real",
        "offset_": "real",
        "center_norm_": "real",
        "coef_": "absent | None | float (_,)",
        "distances_": "absent | real (n,)",
        "loo_distances_": "absent | real (n,)",
        "false_alarm_bound_": "absent | real",
        "guaranteed_radius_": "absent | real",
        "_measured": "absent | each _: real",
    }

    coef_: Any

    def __init__(
        self,
        kernel: Any = DEFAULT_KERNEL,
        *,
        quantile: float | None = None,
        memory: int | float | str | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.kernel = kernel
        self.quantile = quantile
        self.memory = memory
        self.verbose = verbose

    _takes_chunks = _gathers_chunks = True

    def fit(self, X: Any, y: Any = None) -> NoveltyBall:
        """Put the ball around the mean of X; y is ignored."""
        return self._fit(X)

    def _check_parameters(self) -> None:
        _check_quantile(self.quantile)

    def _solve(self, data: TrainingSet, route: Route, meter: Meter) -> Ball:
        mean = np.full(data.n, 1.0 / data.n)
        means = product(data.kernel, data.factors, data.factors, mean, route.solver == "primal", meter)
        own = diagonal(data.kernel, data.factors)
        rounding = 64.0 * float(np.finfo(own.dtype).eps) * float(np.abs(own).max())
        return Ball(means, np.asarray(own, dtype=np.float64), rounding)

    def _store(self, data: TrainingSet, solution: Ball) -> None:
        self._ball, m = solution, data.n
        squared, scale = solution.squared_distances(), 2.0 * np.abs(solution.diagonal)
        eps = solution.rounding / 64.0 / max(float(np.abs(solution.diagonal).max()), np.finfo(np.float64).tiny)
        warn_of_cancellation(type(self).__name__, squared, scale, eps, data.kernel, data.X)
        self.dual_coef_, self.intercept_ = np.full(m, 1.0 / m), 0.0
        self.coef_ = to_features(data.kernel, data.X, self.dual_coef_) if self._explicit else None
        trusted = known_psd(data.kernel, data.X, type(self).__name__)
        if float(solution.means.mean()) < -solution.rounding:
            raise InputError(
                f"NoveltyBall: the squared norm of the mean is {float(solution.means.mean()):.3g} < 0: {data.kernel} is not "
                "a kernel, so lengths do not exist. k.repaired(X) is a kernel near it."
            )
        self.center_norm_ = math.sqrt(solution.center_squared)
        self.distances_, self.loo_distances_ = np.sqrt(squared), solution.leave_one_out()
        k = m if self.quantile is None or self.quantile == 1 else min(conformal_rank(m, self.quantile), m)
        inside = self.distances_ if self.quantile is None or m == 1 else self.loo_distances_
        self.radius_ = float(np.partition(inside, k - 1)[k - 1])
        # the guarantee is the triangle inequality in feature space
        self.guaranteed_radius_ = guaranteed_radius(self.distances_, k) if trusted else math.nan
        self.false_alarm_bound_ = (m + 1 - k) / (m + 1) if trusted else math.nan
        # a point on the sphere is inside, whatever its last digit
        self.offset_ = -math.sqrt(self.radius_**2 + solution.rounding)
        self._measured: list[float] = []

    def score_samples(self, X: Any) -> Floats:
        """Return -||phi(x) - phi_S||: the lower, the more novel."""
        return -np.sqrt(self._ball_coordinates(X)[1])

    def decision_function(self, X: Any) -> Floats:
        """Return radius - distance, negative outside the ball."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> Ints:
        """Return -1 for novel points and +1 for the others."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def p_values(self, X: Any) -> Floats:
        """Return conformal p-values, (n,): for a new point of the same source, P(p <= a) <= a for every a.

        p = (1 + #{i : s_i >= s}) / (m + 1) with s_i, s the distances to the mean of S and x together, in which the new
        point counts like the others; that of the training sample alone would favor the points it was made from.
        """
        new, squared, means = self._ball_coordinates(X)
        ball, counts = self._ball, np.ones(len(squared))
        least = squared * (ball.m / (ball.m + 1)) ** 2 - ball.rounding  # ties within rounding count as >=

        def visit(rows: slice, cols: slice, values: Array) -> None:
            scores = conformal_scores(values, ball, cols, squared[rows], means[rows])
            counts[rows] += (scores >= least[rows, None]).sum(axis=1)

        K = GramOperator(self.kernel_, new, self.X_fit_)
        K.visit(visit)
        return counts / (ball.m + 1)

    @property
    def false_alarm_rate_(self) -> float:
        """The share of training rows outside the ball fitted without them, by the same rule; one more pass, once."""
        check_is_fitted(self)
        if not self._measured:
            self._measured.append(_measure(self._ball, GramOperator(self.kernel_, self.X_fit_), self.quantile))
        return self._measured[0]

    @property
    def _explicit(self) -> bool:
        return bool(self.route_.solver == "primal")

    def _ball_coordinates(self, X: Any) -> tuple[Any, Floats, Floats]:
        """The rows as read, ||phi(x) - phi_S||^2 and <phi(x), phi_S>."""
        check_is_fitted(self)
        new = self._read(X, reset=False)
        if self._explicit:
            means = from_features(self.kernel_, new, self.coef_)
        else:
            means = np.asarray(GramOperator(self.kernel_, new, self.X_fit_) @ self.dual_coef_)
        return new, self._ball.squared(np.asarray(self.kernel_.diag(new), dtype=np.float64), means), means

    def _routes(self, shape: Shape) -> tuple[Route, ...]:
        return product_routes(shape)

    def _chunk_routes(self, shape: Shape, rows: ChunkedRows) -> tuple[Route, ...]:
        return chunk_product_routes(shape, rows.passes_before(self._given_kernel()))

    def _summary(self) -> Summary:
        rule = "the largest distance" if self.quantile is None else f"quantile {self.quantile:g} of leave-one-out distances"
        measured = f"{self._measured[0]:.4g}" if self._measured else "ask for false_alarm_rate_"
        lines = (
            ("kernel", str(self.kernel_)),
            ("rows", str(self._ball.m)),
            ("radius", f"{self.radius_:.6g} ({rule})"),
            ("norm of the mean", f"{self.center_norm_:.6g}"),
            ("false alarms, measured", f"{measured} (leave-one-out)"),
            ("false alarms, guaranteed", f"<= {self.false_alarm_bound_:.4g} outside radius {self.guaranteed_radius_:.6g}"),
            ("route", f"{self.route_.solver}: {self.route_.reason}"),
            ("memory of the fit", format_bytes(self.route_.bytes)),
        )
        return Summary(repr(self), lines, {"radius": self.radius_, "bound": self.false_alarm_bound_})


def _measure(ball: Ball, K: GramOperator, quantile: float | None) -> float:
    """Fit the ball without each row in turn, from one pass over K, and count the rows that it calls novel."""
    m = ball.m
    if m < 3:
        return math.nan
    own = ball.leave_one_out() ** 2
    k = m - 1 if quantile is None or quantile == 1 else min(conformal_rank(m - 1, quantile), m - 1)
    # the rule without x_i asks whether at least m - 1 - k + 1 of the others lie as far out as x_i, so it is a count
    stretch = 1.0 if quantile is None else ((m - 1) / (m - 2)) ** 2
    beyond = np.zeros(m, dtype=np.int64)

    def visit(rows: slice, cols: slice, values: Array) -> None:
        far = stretch * without_each(values, ball, rows, cols) >= own[rows, None] - ball.rounding
        i, j = np.arange(rows.start, rows.stop)[:, None], np.arange(cols.start, cols.stop)[None, :]
        beyond[rows] += (far & (i != j)).sum(axis=1)

    K.visit(visit)
    return float((beyond < m - k).mean())


def _check_quantile(quantile: Any) -> None:
    if quantile is not None and not (isinstance(quantile, (int, float)) and 0.0 < quantile <= 1.0):
        raise InputError(
            f"NoveltyBall: quantile must be None (the largest distance) or a number in (0, 1]; got {describe(quantile)}."
        )
