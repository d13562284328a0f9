"""Bounds on the error of random Fourier features with independent draws, each with what it covers."""

from __future__ import annotations

import numpy as np

#: What every statement may be wrong with: 0.1 %.
RISK = 1e-3


def pairs_bound(n_rows: int, m: int, mass: float, *, phases: bool, risk: float = RISK) -> float:
    """eps with P(|z(x)'z(z) - k(x, z)| > eps for some pair of n rows) <= risk, by Hoeffding and a union over the pairs.

    Each of m independent terms lies in an interval of length 2 mass (cos and sin), or 4 mass (cos with a phase).
    """
    length = (4.0 if phases else 2.0) * mass
    return float(length * np.sqrt(np.log(2.0 * _pairs(n_rows, phases) / risk) / (2.0 * m)))


def _pairs(n_rows: int, phases: bool) -> float:
    """Pairs with an error: with a phase the diagonal has one too."""
    return max(1.0, n_rows * (n_rows + 1 if phases else n_rows - 1) / 2.0)


def frequencies_for(eps: float, n_rows: int, mass: float, *, phases: bool, risk: float = RISK) -> int:
    """The least m with pairs_bound <= eps."""
    length = (4.0 if phases else 2.0) * mass
    return max(1, int(np.ceil(length**2 * np.log(2.0 * _pairs(n_rows, phases) / risk) / (2.0 * eps**2))))


def uniform_probability(eps: float, d: int, m: int, second_moment: float, diameter: float) -> float:
    """P(sup |error| > eps) over all pairs in a set of a given diameter, at most; for cos and sin pairs and k(x, x) = 1.

    Rahimi and Recht's covering argument with the constants of Sutherland and Schneider (2015): the differences lie in a
    ball of radius `diameter`, covered by (4 diameter / r)^d balls of radius r; Hoeffding at the centers, Markov for the
    slope, and the best r.
    """
    power = 2.0 * d / (d + 2.0)
    beta = ((d / 2.0) ** (-d / (d + 2.0)) + (d / 2.0) ** (2.0 / (d + 2.0))) * 2.0 ** ((6.0 * d + 2.0) / (d + 2.0))
    log = np.log(beta) + power * np.log(np.sqrt(second_moment) * diameter / eps) - m * eps**2 / (4.0 * (d + 2.0))
    return float(np.exp(min(log, 0.0)))


def uniform_bound(d: int, m: int, mass: float, second_moment: float, diameter: float, risk: float = RISK) -> float | None:
    """eps with P(sup |error| > eps) <= risk over a set of a given diameter; None where no eps below 2 k(x, x) is proven.

    Needs E ||w||^2 < inf: the slope of the features has no bound otherwise.
    """
    if diameter == 0 or second_moment == 0:
        return 0.0
    if not np.isfinite(second_moment):
        return None
    low, high = 0.0, 2.0
    # the covering needs r <= 2 diameter, which holds where eps <= sqrt(second_moment) diameter
    if uniform_probability(high, d, m, second_moment, max(diameter, high / np.sqrt(second_moment))) > risk:
        return None
    for _ in range(60):
        middle = 0.5 * (low + high)
        wide = max(diameter, middle / np.sqrt(second_moment))
        if uniform_probability(middle, d, m, second_moment, wide) <= risk:
            high = middle
        else:
            low = middle
    return mass * high


def share_above_the_worst(n_pairs: int, risk: float = RISK) -> float:
    """The share of all pairs that may exceed the largest error among n random ones, with confidence 1 - risk."""
    return float(1.0 - risk ** (1.0 / n_pairs))
