"""The Gram matrix of a table model on a sample of rows: its spectrum, its effective dimension, how alike rows are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as la

from mercer.arrays import Floats
from mercer.estimators.tables.members import Member
from mercer.linalg.ridge.held_out import centered_diagonal, leave_one_out

#: Rows of the sample whose matrix is decomposed, and of that on which the neighborhood of the chosen point is drawn.
SAMPLED, DRAWN = 600, 300

#: Multiples of the chosen length scales and of the chosen penalty.
SCALES, PENALTIES = 2.0 ** np.arange(-4.0, 5.0), 10.0 ** np.arange(-3.0, 3.5)


@dataclass(frozen=True)
class Spectrum:
    """What m of n rows say about the kernel of the heaviest member."""

    rows: int  # m
    of: int  # n
    eigenvalues: Floats  # (m,) of K / m, largest first
    penalty: float  # alpha / n, on the same scale
    similarity: float  # median of k(x, z) / sqrt(k(x, x) k(z, z)) over pairs of different rows

    @property
    def dimension(self) -> float:
        """sum_i l_i / (l_i + alpha / n): how many directions the model uses."""
        return float(np.sum(self.eigenvalues / (self.eigenvalues + self.penalty)))


@dataclass(frozen=True)
class Neighborhood:
    """Leave-one-out errors around the chosen point: (scales, penalties) of the sample, in standard deviations of y."""

    rows: int
    errors: Floats


def spectrum(member: Member, Z: Any, n: int) -> Spectrum:  # (m, d) encoded rows
    """The spectrum of a member's kernel on some of its n training rows."""
    K = np.asarray(member.model.kernel(Z), dtype=np.float64)
    m = len(K)
    values = np.maximum(la.eigvalsh(K, check_finite=False)[::-1], 0.0) / m
    root = np.sqrt(np.maximum(np.diagonal(K), 1e-300))
    alike = (K / np.multiply.outer(root, root))[np.triu_indices(m, 1)]
    return Spectrum(m, n, values, member.model.alpha / n, float(np.median(alike)) if m > 1 else 1.0)


def neighborhood(member: Member, Z: Any, Y: Floats, n: int) -> Neighborhood | None:  # (m, d), (m, t)
    """Errors at multiples of the length scales and of the penalty, the metric held; None where rows are no vectors.

    k(x / c, z / c) has c times the length scales for every kernel of x - z. m of n rows have alpha m / n.
    """
    if not (isinstance(Z, np.ndarray) and Z.dtype.kind == "f") or not np.isfinite(Z).all():
        return None
    if "stationary" not in member.model.kernel.certificate().facts:
        return None
    targets = member.transform.forward(Y)
    spread = float(np.sqrt(np.mean((targets - targets.mean(axis=0)) ** 2))) or 1.0
    alphas = member.model.alpha * len(Z) / n * PENALTIES
    errors = np.array(
        [_leave_one_out(np.asarray(member.model.kernel(Z / c), dtype=np.float64), targets, alphas) for c in SCALES]
    )
    return Neighborhood(len(Z), errors / spread)


def _leave_one_out(K: Floats, Y: Floats, alphas: Floats) -> Floats:  # (m, m), (m, t), (a,) -> (a,)
    """Root mean squared leave-one-out errors of ridge with intercept, from one decomposition."""
    values, vectors = la.eigh(K, check_finite=False)
    values, squares = np.maximum(values, 0.0), vectors**2
    turned = vectors.T @ np.hstack([Y, np.ones((len(K), 1))])
    found = []
    for alpha in alphas:
        inverse = 1.0 / (values + alpha)
        columns = vectors @ (inverse[:, None] * turned)
        weights, total = columns[:, -1], float(columns[:, -1].sum())
        dual = columns[:, :-1] - np.multiply.outer(weights, columns[:, :-1].sum(axis=0) / total)
        errors = leave_one_out(dual, centered_diagonal(squares @ inverse, weights**2 / total))
        found.append(float(np.nan_to_num(np.sqrt(np.mean(errors**2)), nan=np.inf)))
    return np.array(found)
