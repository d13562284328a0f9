"""The nearest class mean in feature space, from sums of kernel values alone.

With weights w_i, W_c the weight of class c and S_ic = sum_{j in c} w_j k(x_i, x_j), the mean m_c of class c has

    <m_c, phi(x_i)> = S_ic / W_c,      ||m_c||^2 = sum_{i in c} w_i S_ic / W_c^2,

and x is nearest to the mean with the largest score <m_c, phi(x)> - ||m_c||^2 / 2, which is half of
k(x, x) - ||phi(x) - m_c||^2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import brentq
from scipy.special import softmax

from mercer.arrays import Array
from mercer.registry import record

#: Scores are compared while they are below this: their differences, and means of those, are finite.
LARGEST = 1e300


@record()
@dataclass(frozen=True)
class ClassMeans:
    """Means of C classes: the sums of kernel values at the training rows, and what follows from them."""

    _stored: ClassVar[dict[str, str]] = {
        "sums": "float (n, C)",
        "memberships": "float (n, C) >= 0",
        "diagonal": "float (n,)",
    }

    sums: Array  # (n, C) S
    memberships: Array  # (n, C) w_i where i is in c, else 0
    diagonal: Array  # (n,) k(x_i, x_i)

    @property
    def weights(self) -> Array:
        """W_c, (C,)."""
        return np.asarray(self.memberships.sum(axis=0))

    @property
    def squared_norms(self) -> Array:
        """||m_c||^2, (C,); infinite for a class without rows, so that it is nearest to nothing."""
        W = self.weights
        totals = np.einsum("ic,ic->c", self.memberships, self.sums)
        return np.divide(np.maximum(totals, 0.0), W * W, out=np.full(len(W), np.inf), where=W > 0)

    @property
    def coefficients(self) -> Array:
        """The means as combinations of the rows, (n, C)."""
        W = self.weights
        return np.asarray(self.memberships / np.where(W > 0, W, 1.0))

    def scores(self) -> Array:
        """<m_c, phi(x_i)> - ||m_c||^2 / 2 at the training rows, (n, C)."""
        W = self.weights
        return np.asarray(self.sums / np.where(W > 0, W, 1.0) - 0.5 * self.squared_norms)

    def own_distances(self) -> tuple[Array, Array]:
        """||phi(x_i) - m_c||^2 to the mean of its own class and k(x_i, x_i) + ||m_c||^2, for rows that count."""
        rows = np.flatnonzero(self.memberships.any(axis=1))
        own = self.memberships[rows].argmax(axis=1)
        several = self.weights[own] > self.memberships[rows, own]  # the only row of a class is its mean
        rows, own = rows[several], own[several]
        sizes = self.diagonal[rows] + self.squared_norms[own]
        return sizes - 2.0 * self.sums[rows, own] / self.weights[own], np.abs(sizes)

    def overflow(self, loo: Array) -> bool:  # (n, C)
        """Whether scores of a class that has rows are beyond what can be compared."""
        scores = np.concatenate([self.scores(), np.where(np.isnan(loo), 0.0, loo)])[:, self.weights > 0]
        return not bool((np.abs(scores) < LARGEST).all())

    def leave_one_out(self) -> Array:
        """The scores of each row against means that do not contain it, (n, C); nan where its class is then empty.

        A weight counts copies of a row, and one copy is left out (all of it where the weight is below 1): with u that
        weight, the mean of the rest is (W m - u phi(x)) / (W - u).
        """
        scores = self.scores()
        rows = np.flatnonzero(self.memberships.any(axis=1))
        own = self.memberships[rows].argmax(axis=1)
        w, W = self.memberships[rows, own], self.weights[own]
        u, k, S = np.minimum(w, 1.0), self.diagonal[rows], self.sums[rows, own]
        rest = W - u
        rest[rest <= 1e-12 * W] = np.nan
        norms = (self.squared_norms[own] * W * W - 2.0 * u * S + u * u * k) / rest**2
        scores[rows, own] = (S - u * k) / rest - 0.5 * norms
        return scores


def temperature(scores: Array, memberships: Array) -> float:  # (n, C), (n, C) -> t
    """The t > 0 for which softmax(t scores) is most likely, with Platt's targets; nan if no row can be scored.

    A row of a class of weight W gets the target (W + 1) / (W + C) for its class and 1 / (W + C) for each other, so that
    separated data do not ask for probabilities of 0 and 1. The likelihood is concave in t: its slope has one root.
    """
    w = memberships.max(axis=1)
    usable = (w > 0) & ~np.isnan(scores).any(axis=1)
    present = memberships.any(axis=0)
    if not usable.any():
        return float("nan")
    G, M, w = scores[usable][:, present], memberships[usable][:, present], w[usable]
    C, W = G.shape[1], memberships.sum(axis=0)[present]
    own = M > 0
    smoothed = W[own.argmax(axis=1)] + C
    targets = np.where(own, 1.0 - ((C - 1) / smoothed)[:, None], 1.0 / smoothed[:, None])
    G = G - G.max(axis=1, keepdims=True)
    spread = float(np.abs(G).mean()) or 1.0
    G, w = G / spread, w / w.max()  # so that no sum below overflows

    def slope(log_t: float) -> float:  # t in units of 1 / spread
        p = softmax(np.exp(log_t) * G, axis=1)
        return float(w @ ((p - targets) * G).sum(axis=1))

    low, high = np.log(1e-6), np.log(1e6)
    if slope(low) >= 0.0 or slope(high) <= 0.0:  # the scores say nothing, or everything
        return float(np.exp(low if slope(low) >= 0.0 else high) / spread)
    return float(np.exp(brentq(slope, low, high, xtol=1e-10)) / spread)
