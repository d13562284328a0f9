"""The ledger of a support vector classifier: the margin reached, and what two theorems promise from it.

Leave-one-out: a row that is no support vector can be taken out without changing anything, and it lies on its own side.
So at most the share of support vectors is misclassified in leave-one-out (Vapnik, 1998), with kernel, C and class weights
held; for NuSVC it is the leave-one-out error of the SVC that it is equal to, since nu n changes with n.

Margin: for the class {f = <w, phi> + b : ||w|| <= A, |b| <= B} the empirical Rademacher complexity on m rows is at most
A sqrt(tr K) / m + B / sqrt(m). For a fixed class, with probability at least 1 - delta over the rows, every f in it has

    P(y f(x) <= 0) <= share of rows with y f(x) < 1 + 2 (A sqrt(tr K) / m + B / sqrt(m)) + 3 sqrt(ln(2 / delta) / (2 m))

(Koltchinskii and Panchenko, 2002; Bartlett and Mendelson, 2002). Here A = 2^i and B = 2^j over all whole i and j, each
pair with its part delta p_i p_j, p_i = 2 / (3 (|i| + 1) (|i| + 2)), which add up to delta: so the bound holds for the
f, the margin and the bias that were found. f may be divided by any number, which moves the margin; the best is taken.
Its distance from the hyperplane is 2^-i. The rows must be drawn independently, and kernel and data must not have been
chosen by looking at the same rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.estimators.summary import at_most
from mercer.estimators.svm.problems import SupportFunction
from mercer.registry import record

Array = NDArray[Any]

#: Exponents i of 2^-i, the margins over which the bound is minimized; beyond them it is vacuous for any real data.
EXPONENTS = np.arange(-30.0, 31.0)
NORMS = 2.0**EXPONENTS


@record()
@dataclass(frozen=True)
class MarginLedger:
    """One function of two classes: its margin 1/||w||, the radius of the data, support vectors and the two bounds."""

    label: Any  # the class it was fitted for, or the pair of classes
    n_rows: int
    n_support: int
    n_at_bound: int  # support vectors at the upper end of their box: inside the margin or on the wrong side
    margin: float  # 1 / ||w||
    radius: float  # R = max ||phi(x_i)||
    training_error: float
    dual_objective: float
    duality_gap: float
    loo_bound: float  # support vectors / rows
    margin_bound: float  # P(error) with probability 1 - delta, at most 1
    margin_of_bound: float  # the distance from the hyperplane at which the bound is smallest
    margin_loss: float  # share of rows nearer to it than that, or on the wrong side
    delta: float

    def __str__(self) -> str:
        return (
            f"margin {self.margin:.4g}, radius {self.radius:.4g}, {self.n_support} support vectors of {self.n_rows} "
            f"({self.n_at_bound} at the bound); leave-one-out error {at_most(self.loo_bound)}; error "
            f"{'<= ' + format(self.margin_bound, '.4g') if self.margin_bound < 1 else 'not bounded'} by the margin bound "
            f"(probability {1 - self.delta:g})"
        )


def without_bounds(ledger: MarginLedger) -> MarginLedger:
    """The ledger of a function that is no kernel: what rests on lengths in feature space is not available."""
    nan = math.nan
    return replace(
        ledger, margin=nan, duality_gap=nan, loo_bound=nan, margin_bound=nan, margin_of_bound=nan, margin_loss=nan
    )


def margin_bound(
    margins: Array, norm: float, bias: float, trace: float, delta: float = 0.05
) -> tuple[float, float, float]:  # (m,)
    """(bound, distance, share of rows nearer than that) for margins y_i f(x_i), ||w||, b and tr K.

    >>> bound, distance, loss = margin_bound(np.ones(10_000), norm=1.0, bias=0.0, trace=10_000.0)
    >>> loss, bool(0.05 < bound < 0.2)
    (0.0, True)
    """
    m, w, b, t = (np.array([value], dtype=np.float64) for value in (len(margins), norm, bias, trace))
    bound, distance, loss = _bounds(_losses(np.sort(margins), norm)[:, None], m, w, b, t, delta)
    return float(bound[0]), float(distance[0]), float(loss[0])


def _losses(ordered: Array, norm: float) -> Array:  # (m,) -> (e,)
    """The share of rows with y f < rho = norm / 2^i, for every exponent: f / rho has ||w|| = 2^i."""
    if not (norm > 0 and math.isfinite(norm)):
        return np.ones(len(EXPONENTS))
    return np.searchsorted(ordered, norm / NORMS) / len(ordered)


def _bounds(losses: Array, m: Array, norm: Array, bias: Array, trace: Array, delta: float) -> tuple[Array, Array, Array]:
    # (e, P), four of (P,) -> three of (P,)
    """The smallest bound of every function, its distance, and its loss; 1, 0 and 1 where none is below 1."""
    A = NORMS[:, None]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # w = 0: no bound below 1; fmin and fmax take the number where the other is none
        B = np.fmax(np.fmin(np.abs(bias) * A / norm, 2.0**500), NORMS[0])
    j = np.ceil(np.log2(B))
    complexity = A * np.sqrt(trace) / m + 2.0**j / np.sqrt(m)
    part = delta * _PARTS[:, None] * _part(j)
    bounds = losses + 2.0 * complexity + 3.0 * np.sqrt(np.log(2.0 / part) / (2.0 * m))
    best = np.argmin(bounds, axis=0), np.arange(bounds.shape[1])
    said = bounds[best] < 1.0
    return np.where(said, bounds[best], 1.0), np.where(said, 1.0 / A[best[0], 0], 0.0), np.where(said, losses[best], 1.0)


def _part(i: Array) -> Array:
    """p_i = 2 / (3 (|i| + 1) (|i| + 2)), which add up to 1 over all whole numbers."""
    return 2.0 / (3.0 * (np.abs(i) + 1.0) * (np.abs(i) + 2.0))


_PARTS = _part(EXPONENTS)


def margin_ledgers(
    labels: Sequence[Any],
    found: Sequence[SupportFunction],
    positive: Sequence[Array],
    upper: Array,
    diagonal: Array,
    delta: float,
) -> list[MarginLedger]:  # positive: (v,) bool per function; upper, diagonal: (n,) by training row
    """The ledgers of all functions; hundreds of pairs of classes are made together."""
    facts, losses = [], np.empty((len(EXPONENTS), len(found)))
    for p, (function, first) in enumerate(zip(found, positive, strict=True)):
        own, size = diagonal[function.rows], np.abs(function.coef)
        ordered = np.sort(np.where(first, function.outputs, -function.outputs))
        losses[:, p] = _losses(ordered, function.norm)
        wrong = np.searchsorted(ordered, 0.0, side="right")
        support, bounded = (
            np.count_nonzero(size),
            np.count_nonzero(size * function.scale >= upper[function.rows] * (1 - 1e-12)),
        )
        facts.append((len(ordered), support, bounded, wrong, own.max(), own.sum(), function.norm, function.intercept))
    m, vectors, ends, errors, top, trace, norm, bias = np.array(facts, dtype=np.float64).T
    bounds, distances, near = _bounds(losses, m, norm, bias, trace, delta)
    return [
        MarginLedger(
            label=label,
            n_rows=int(m[p]),
            n_support=int(vectors[p]),
            n_at_bound=int(ends[p]),
            margin=1.0 / function.norm if function.norm > 0 else math.inf,
            radius=math.sqrt(max(top[p], 0.0)),
            training_error=float(errors[p] / m[p]),
            dual_objective=function.dual,
            duality_gap=function.gap,
            loo_bound=float(vectors[p] / m[p]),
            margin_bound=float(bounds[p]),
            margin_of_bound=float(distances[p]),
            margin_loss=float(near[p]),
            delta=delta,
        )
        for p, (label, function) in enumerate(zip(labels, found, strict=True))
    ]
