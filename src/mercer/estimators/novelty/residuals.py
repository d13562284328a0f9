"""The part of phi(x) that some rows do not explain, with and without each of them, and exact conformal p-values.

With G = K + noise I the residual of a row is r(x) = k(x, x) - k_x' G^-1 k_x, the variance of a Gaussian process at x
and, for little noise, the squared distance of phi(x) from the span of the rows. Without row i the residual of row i is
1 / (G^-1)_ii - noise. With a further row x, (G^-1)_ii grows by u_i^2 / s for u = G^-1 k_x and s = r(x) + noise; so the
residuals of all n + 1 rows, each without itself, come from one solution of the equations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.linalg as la

from mercer.arrays import Floats, Indices
from mercer.grams import gram
from mercer.inputs import Rows
from mercer.kernels.base import Kernel
from mercer.registry import record

#: Kernel values of new rows held at a time.
VALUES = 2**22

#: Residuals that differ by less than this share are ties.
TIES = 1e-9


@record()
@dataclass(frozen=True)
class Residuals:
    """Residuals of rows after projection on the training rows X; `noise` is added to the diagonal of their Gram matrix."""

    _stored: ClassVar[dict[str, str]] = {"kernel": "kernel", "X": "rows n", "noise": "float > 0"}

    kernel: Kernel
    X: Any
    noise: float

    @cached_property
    def rows(self) -> Rows:
        """The training rows with their encodings."""
        return Rows(self.X, "X_fit_")

    @cached_property
    def triangle(self) -> Floats:  # (n, n)
        """The lower Cholesky factor of G; made at first use, and not part of a model file."""
        G = np.asarray(gram(self.kernel, self.rows), dtype=np.float64)
        G[np.diag_indices_from(G)] += self.noise
        return np.asarray(la.cholesky(G, lower=True, overwrite_a=True, check_finite=False))

    @cached_property
    def inverse_diagonal(self) -> Floats:  # (n,)
        """The diagonal of G^-1."""
        inverse, _ = la.lapack.dtrtri(self.triangle, lower=1)
        return np.asarray(np.einsum("ij,ij->j", np.tril(inverse), np.tril(inverse)))

    def left_out(self) -> Floats:  # -> (n,)
        """Return the residual of every training row, after projection on the others."""
        return np.asarray(np.maximum(1.0 / self.inverse_diagonal - self.noise, 0.0))

    def __call__(self, X: Any) -> tuple[Floats, Floats]:  # -> (m,), (m,)
        """Return k(x, x) of rows, and what the training rows explain of it."""
        own, explained = [], []
        for diagonal, half in self._halves(X):
            own.append(diagonal)
            explained.append(np.einsum("ij,ij->j", half, half))
        return np.concatenate(own), np.concatenate(explained)

    def coefficients(self, X: Any) -> Floats:  # -> (n, m)
        """Return u = G^-1 k_x of every row: phi(x) is projected on sum_i u_i phi(x_i)."""
        return np.hstack([self._back(half) for _, half in self._halves(X)])

    def pvalues(self, X: Any, counted: Indices) -> Floats:  # -> (m,)
        """Return p = (1 + #{i : r_i >= r}) / (c + 1) over c of the rows; residuals after projection on all others and x."""
        found = []
        for own, half in self._halves(X):
            s = np.maximum(own - np.einsum("ij,ij->j", half, half), 0.0) + self.noise
            others = 1.0 / (self.inverse_diagonal[counted, None] + self._back(half)[counted] ** 2 / s)
            found.append((1.0 + (others >= s * (1.0 - TIES)).sum(axis=0)) / (len(counted) + 1.0))
        return np.concatenate(found)

    def _back(self, half: Floats) -> Floats:
        return np.asarray(la.solve_triangular(self.triangle, half, lower=True, trans="T", check_finite=False))

    def _halves(self, X: Any) -> Iterator[tuple[Floats, Floats]]:  # (b,), (n, b)
        """Yield k(x, x) and L^-1 k_x of blocks of rows."""
        new = Rows(X)
        step = max(1, VALUES // len(self.rows))
        for start in range(0, len(new), step):
            part = new.take(slice(start, min(start + step, len(new))))
            K = np.asarray(gram(self.kernel, self.rows, part), dtype=np.float64)
            half = la.solve_triangular(self.triangle, K, lower=True, overwrite_b=True, check_finite=False)
            yield np.asarray(self.kernel.diag(part), dtype=np.float64), np.asarray(half)
