"""The terms of a fitted sum: f = f_1 + f_2 + … + mean, each with its posterior mean and standard deviation.

If k = k_1 + … + k_p, the terms are independent processes before the data are seen, and the posterior of term j is normal:

    E f_j(x) = k_j(x)' G^-1 e,     var f_j(x) = k_j(x, x) - k_j(x)' G^-1 k_j(x) + r_j' C r_j,   r_j = H'G^-1 k_j(x),

with the covariance G of the observations, the rest e of y after the mean function, its columns H and the covariance C of
their coefficients. The means add up to the prediction; the terms are correlated given the data, so variances do not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Array, Floats
from mercer.errors import InputError
from mercer.grams import GramOperator
from mercer.kernels.algebra import added_terms
from mercer.kernels.base import Kernel

#: New rows whose kernel columns are in memory at a time.
NEW_ROWS = 512

#: The name of the part that is not a term of the kernel.
MEAN = "mean"


@dataclass(frozen=True)
class TermComponents:
    """Posterior mean and standard deviation of every term at some rows.

    `mean[:, j]` and `std[:, j]` belong to `names[j]`; the last one is the mean function. With several targets the arrays
    have a last axis for them.
    """

    names: tuple[str, ...]
    mean: Array  # (m, p, *t)
    std: Array  # (m, p, *t)

    @property
    def total(self) -> Array:  # (m, *t)
        """The sum of the means, which is the prediction."""
        return np.asarray(self.mean.sum(axis=1))

    def __len__(self) -> int:
        return len(self.names)

    def __str__(self) -> str:
        lines = [
            f"{name}: from {self.mean[:, j].min():.4g} to {self.mean[:, j].max():.4g}, standard deviation "
            f"{self.std[:, j].mean():.4g} on average"
            for j, name in enumerate(self.names)
        ]
        return "\n".join(lines)


@dataclass(frozen=True)
class Conditioned:
    """What the terms of a fitted process need: G^-1 as a function, and its products with targets and columns of the mean."""

    kernel: Kernel
    X: Any  # (n rows)
    solve: Callable[[Floats], Floats]  # (n, b) -> (n, b): G^-1 times columns
    dual: Floats  # (n, t) G^-1 e
    columns: Floats  # (n, q) G^-1 H
    covariance: Floats  # (q, q) C
    scale: Floats  # (t,) from working units to those of y

    def parts(self, X: Any, H: Floats, mean: Floats, single: bool) -> TermComponents:  # (m, q), (m, t)
        """Return the terms at new rows with mean columns H and mean function `mean`."""
        terms = added_terms(self.kernel)
        if len(terms) == 1 and not self.columns.shape[1]:
            raise InputError(f"components splits a sum of kernels; {self.kernel} is one term. Write the kernel as k1 + k2.")
        means, variances = zip(*[self._term(term, X) for term in terms], strict=True)
        flat = np.einsum("ij,jk,ik->i", H, self.covariance, H)
        center = np.stack([*[part * self.scale for part in means], mean], axis=1)  # (m, p, t)
        std = np.sqrt(np.maximum(np.stack([*variances, flat], axis=1), 0.0))[:, :, None] * np.abs(self.scale)
        names = tuple(str(term) for term in terms)
        return TermComponents((*names, MEAN), center[..., 0] if single else center, std[..., 0] if single else std)

    def _term(self, term: Kernel, X: Any) -> tuple[Floats, Floats]:  # -> (m, t), (m,)
        K = GramOperator(term, X, self.X)
        variance = np.array(term.diag(X), dtype=np.float64)
        mean = np.empty((len(variance), self.dual.shape[1]))
        for start in range(0, len(variance), NEW_ROWS):
            rows = slice(start, min(start + NEW_ROWS, len(variance)))
            k = np.asarray(K.block(rows, slice(0, K.shape[1])), dtype=np.float64)
            mean[rows] = k @ self.dual
            variance[rows] -= np.einsum("ij,ji->i", k, self.solve(np.array(k.T, order="F")))
            R = k @ self.columns
            variance[rows] += np.einsum("ij,jk,ik->i", R, self.covariance, R)
        return mean, variance
