"""The ledger of a support vector classifier: the margin reached, and what two theorems promise from it.

Leave-one-out: a row that is no support vector can be taken out without changing anything, and it lies on its own side.
So at most the share of support vectors is misclassified in leave-one-out (Vapnik, 1998), with kernel, C and class weights
held; for NuSVC it is the leave-one-out error of the SVC that it is equal to, since nu n changes with n.

Margin: the theorem of `estimators/margin_theorem`, with a union over margins and biases.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.estimators.margin_theorem import EXPONENTS, least_bounds, losses_at
from mercer.estimators.summary import at_most
from mercer.linalg.box_qp.problems import SupportFunction
from mercer.registry import record


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
        losses[:, p] = losses_at(ordered, function.norm)
        wrong = np.searchsorted(ordered, 0.0, side="right")
        support, bounded = (
            np.count_nonzero(size),
            np.count_nonzero(size * function.scale >= upper[function.rows] * (1 - 1e-12)),
        )
        facts.append((len(ordered), support, bounded, wrong, own.max(), own.sum(), function.norm, function.intercept))
    m, vectors, ends, errors, top, trace, norm, bias = np.array(facts, dtype=np.float64).T
    bounds, distances, near = least_bounds(losses, m, norm, bias, trace, delta)
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
