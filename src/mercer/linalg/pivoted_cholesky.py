"""Choosing rows that stand for all: pivoted Cholesky of a Gram matrix, greedy or random, some columns at a time.

After the pivots S the residual is the diagonal of K - K_S (K_SS)^-1 K_S', the variance that the chosen rows leave
unexplained. The greedy rule takes its largest entry next (Foster et al. 2009; Burt et al. 2020 for inducing points), the
random rule draws a row with probability proportional to it (RPCholesky, Chen et al. 2022). Both look at several candidates
per round, so that most of the work is matrix products: the random rule by rejection, which leaves its law as it is (Epperly
et al. 2024), the greedy one by taking a candidate only while it is nearly the largest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg as la

from mercer.arrays import Array
from mercer.errors import InputError, check_choice
from mercer.linalg.cholesky import definite_factor
from mercer.numeric.threads import one_blas_thread

RULES = ("greedy", "random")

#: Candidates looked at together; one round is a product of the factor with this many of its rows.
ROUND = 64

#: A greedy round takes a candidate while its residual is at least this share of the largest one when the round began.
NEARLY = 0.5


@dataclass(frozen=True)
class Pivots:
    """The chosen rows in order, and what they leave of the trace."""

    index: Array  # (r,) row numbers, r <= m
    residual: Array  # (n,) diag(K - K_S K_SS^-1 K_S')
    factor: Array  # (n, r) with factor @ factor.T = K_S K_SS^-1 K_S'


def pivoted_cholesky(  # columns (b,) -> (n, b), diag (n,)
    columns: Callable[[Array], Array],
    diag: Array,
    m: int,
    *,
    rule: str = "greedy",
    rng: np.random.Generator | None = None,
    tol: float = 1e-10,
    candidates: int = ROUND,
) -> Pivots:
    """Choose at most m rows; stop early when no residual exceeds ``tol`` times the largest diagonal entry.

    With ``candidates=1`` the greedy rule is the textbook one. Memory is that of the (n, m) factor.

    >>> K = np.array([[2.0, 0.0, 1.9], [0.0, 1.0, 0.0], [1.9, 0.0, 2.0]])
    >>> pivoted_cholesky(lambda chosen: K[:, chosen], K.diagonal(), 2).index.tolist()
    [0, 1]
    """
    check_choice("pivoted_cholesky", "rule", rule, RULES)
    if m < 1:
        raise InputError(f"the number of pivots must be at least 1; got {m}.")
    rng = np.random.default_rng(0) if rng is None else rng
    d = np.maximum(np.asarray(diag, dtype=np.float64), 0.0)  # (n,) a copy
    m, floor = min(m, len(d)), tol * float(d.max(initial=0.0))
    G = np.empty((m, len(d)))  # the factor by its columns: every step reads and writes whole rows of this one
    index: list[int] = []
    while len(index) < m and d.max() > floor:
        r = len(index)
        found = _candidates(d, min(candidates, m - r), rule, rng)
        K = np.ascontiguousarray(np.asarray(columns(found), dtype=np.float64).T)  # (b, n)
        own = np.ascontiguousarray(G[:r, found].T)  # (b, r)
        among = K[:, found] - own @ own.T  # (b, b) residual kernel of the candidates
        taken = _greedy_round(among, d, floor) if rule == "greedy" else _random_round(among, d[found], floor, rng)
        if not taken:
            # these residuals are rounding errors: such rows need no further work
            d[found] = 0.0
            continue
        block = G[r : r + len(taken)]  # (t, n)
        np.matmul(own[taken], G[:r], out=block)
        np.subtract(K[taken], block, out=block)
        with one_blas_thread():  # SciPy has a BLAS of its own, whose threads would turn on beside NumPy's next product
            L = definite_factor(among[np.ix_(taken, taken)])
            # block' L'^-1 from the right, in the memory of the factor: its transpose is what Fortran calls contiguous
            la.blas.dtrsm(1.0, L, block.T, side=1, lower=1, trans_a=1, overwrite_b=1)
        d = np.maximum(d - np.einsum("ij,ij->j", block, block), 0.0)
        index += found[taken].tolist()
        d[index] = 0.0
    return Pivots(np.array(index, dtype=np.intp), d, G[: len(index)].T)


def _candidates(d: Array, count: int, rule: str, rng: np.random.Generator) -> Array:  # (n,) -> (b,) row numbers
    if rule == "random":
        return rng.choice(len(d), size=count, p=d / d.sum())
    found = np.argpartition(d, len(d) - count)[-count:]
    return found[np.argsort(-d[found], kind="stable")]


def _greedy_round(among: Array, residual: Array, floor: float) -> list[int]:  # (b, b) -> positions taken, in order
    """Pivots of the candidates' own residual kernel, largest first, while they are nearly as large as any other row."""
    H, left = among.copy(), among.diagonal().copy()
    least = max(floor, NEARLY * float(residual.max()))
    taken: list[int] = []
    while len(taken) < len(left):
        p = int(left.argmax())
        # rounding may have eaten the diagonal of the first candidate, but one has to be taken if it is above the floor
        if left[p] <= (floor if not taken else least):
            break
        taken.append(p)
        column = H[:, p] / np.sqrt(left[p])
        H -= np.multiply.outer(column, column)
        left = H.diagonal().copy()
        left[taken] = -np.inf
    return taken


def _random_round(among: Array, proposed: Array, floor: float, rng: np.random.Generator) -> list[int]:  # (b, b), (b,)
    """Accept a draw with the probability residual now / residual when drawn, which keeps the law of one draw at a time."""
    H, taken = among.copy(), []
    for p in range(len(proposed)):
        now = float(H[p, p])
        if now > floor and rng.random() * proposed[p] < now:
            taken.append(p)
            column = H[:, p] / np.sqrt(now)
            H -= np.multiply.outer(column, column)
    return taken
