"""Which columns carry MMD^2: exact Shapley values, for kernels that are sums of products over columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.errors import CapabilityError
from mercer.inputs import Rows
from mercer.kernels.base import Kernel
from mercer.kernels.column_terms import ColumnTerm, column_terms
from mercer.numeric.shapley import product_shapley
from mercer.twosample.samples import Pooled

#: Rows of each sample that are looked at, at most; all pairs of them are.
MOST_ROWS = 1000

#: Rows whose factors with all others are held at a time.
ROWS_AT_A_TIME = 64


@dataclass(frozen=True, eq=False)
class ColumnShares:
    """MMD^2 as a sum over columns: shares.sum() == mmd2, on the rows that were looked at."""

    names: tuple[str, ...]
    shares: Floats  # (d,)
    mmd2: float
    rows: tuple[int, int]

    def __str__(self) -> str:
        order = np.argsort(-np.abs(self.shares), kind="stable")[:10]
        width = max(len(self.names[j]) for j in order)
        head = f"MMD^2 {self.mmd2:.3g} of {self.rows[0]} and {self.rows[1]} rows, by columns (Shapley values):"
        return "\n".join([head, *(f"  {self.names[j]:<{width}} {self.shares[j]:+.3g}" for j in order)])


def column_shares(pooled: Pooled, kernel: Kernel, rng: np.random.Generator) -> ColumnShares:
    """The unbiased MMD^2 with v(S) that of the product over the columns in S, where absent columns count 1."""
    names = pooled.column_names()
    if names is None:
        raise CapabilityError("columns: the samples are no tables; explain() says what else carries the difference.")
    sides = [np.arange(pooled.m), pooled.m + np.arange(pooled.n)]
    X, Y = (pooled.rows.take(_some(side, rng)) for side in sides)
    shares = np.zeros(len(names))
    m, n = len(X), len(Y)
    for term in column_terms(kernel, names):
        if term.factors:
            total = _pairs(term, X, X, True) / (m * (m - 1)) + _pairs(term, Y, Y, True) / (n * (n - 1))
            total -= 2.0 * _pairs(term, X, Y, False) / (m * n)
            for column, share in zip(term.factors, total.tolist(), strict=True):
                shares[names.index(column)] += share
    return ColumnShares(tuple(str(name) for name in names), shares, float(shares.sum()), (m, n))


def _pairs(term: ColumnTerm, left: Rows, right: Rows, same: bool) -> Floats:  # -> (columns of the term,)
    """The sum of Shapley values over pairs of rows, without those of a row with itself for one collection."""
    kernels, found = list(term.factors.values()), np.zeros(len(term.factors))
    for low in range(0, len(left), ROWS_AT_A_TIME):
        part = left.take(np.arange(low, min(len(left), low + ROWS_AT_A_TIME)))
        factors = np.stack([np.asarray(k(part, right), dtype=np.float64) for k in kernels])  # (m, r, n)
        # the values of a game change their sign when present and absent change places
        found -= product_shapley(np.ones((len(part), len(kernels))), factors, np.full(len(part), term.weight))
    if same:
        diagonal = np.stack([np.asarray(k.diag(left), dtype=np.float64) for k in kernels])[:, :, None]  # (m, n, 1)
        found += product_shapley(np.ones((len(left), len(kernels))), diagonal, np.full(len(left), term.weight))
    return found


def _some(rows: Indices, rng: np.random.Generator) -> Indices:
    return rows if len(rows) <= MOST_ROWS else np.sort(rng.choice(rows, MOST_ROWS, replace=False))
