"""L-BFGS with a preconditioner, for functions whose derivative along d is <q, J d> with a fixed linear J, on arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer.arrays import Floats

#: Steps whose changes of slope are kept.
MEMORY = 10

#: A step is halved at most this often.
HALVINGS = 30

Evaluate = Callable[[Floats, Floats], tuple[float, Floats]]  # x, J x -> value, q
Precondition = Callable[[Floats], tuple[Floats, Floats]]  # q -> d, J d


@dataclass(frozen=True)
class Ascended:
    """Where a climb ended."""

    x: Floats
    Jx: Floats
    value: float
    converged: bool
    n_iter: int
    message: str


def ascend_preconditioned(
    evaluate: Evaluate, precondition: Precondition, x: Floats, Jx: Floats, *, tol: float, max_iter: int
) -> Ascended:
    """Maximize a function of x, given its value and q at x and J x; `precondition` stands for the inverse curvature.

    In a space of functions f = K a the coefficients are x = a, J = K, and q = g - a is the slope: no product of q with K and
    no inverse of K is needed. It ends when a step promises to gain at most ``tol`` (1 + |value|).

    >>> top = ascend_preconditioned(lambda x, _: (-float(x @ x), -2 * x), lambda q: (q, q), np.ones(2), np.ones(2),
    ...                             tol=1e-12, max_iter=50)
    >>> bool(np.allclose(top.x, 0.0, atol=1e-5)), top.converged
    (True, True)
    """
    pairs: list[tuple[Floats, Floats, Floats, float]] = []  # s, J s, y, 1 / <y, J s>
    value, q = evaluate(x, Jx)
    size = 1.0  # of the preconditioner, learned from the last step
    for n_iter in range(max_iter):
        d, Jd = _direction(q, precondition, pairs, size)
        slope = float(np.sum(q * Jd))
        if slope <= 0.0 and pairs:  # rounding: forget the curvature learned so far
            pairs.clear()
            d, Jd = _direction(q, precondition, pairs, size)
            slope = float(np.sum(q * Jd))
        if slope <= 2.0 * tol * (1.0 + abs(value)):
            return Ascended(x, Jx, value, True, n_iter, f"a step promised to gain less than {tol:g}")
        share = 1.0
        for _ in range(HALVINGS):
            to, Jto = x + share * d, Jx + share * Jd
            reached, slopes = evaluate(to, Jto)
            if reached >= value + 1e-4 * share * slope:
                break
            share *= 0.5
        else:
            return Ascended(x, Jx, value, False, n_iter, "no shorter step gains anything")
        y = q - slopes
        bend = share * float(np.sum(y * Jd))
        if bend > 1e-12 * share * slope:
            pairs.append((share * d, share * Jd, y, 1.0 / bend))
            del pairs[:-MEMORY]
            size = bend / float(np.sum(y * precondition(y)[1]))
        x, Jx, value, q = to, Jto, reached, slopes
    return Ascended(x, Jx, value, False, max_iter, f"stopped after {max_iter} steps")


def _direction(
    q: Floats, precondition: Precondition, pairs: list[tuple[Floats, Floats, Floats, float]], size: float
) -> tuple[Floats, Floats]:
    """Return the step d and J d by the two loops of L-BFGS."""
    shares = []
    for _, Js, y, inverse in reversed(pairs):
        shares.append(inverse * float(np.sum(Js * q)))
        q = q - shares[-1] * y
    d, Jd = (size * part for part in precondition(q))
    for (s, Js, y, inverse), share in zip(pairs, reversed(shares), strict=True):
        left = share - inverse * float(np.sum(y * Jd))
        d, Jd = d + left * s, Jd + left * Js
    return d, Jd
