"""What is tried on a table: each candidate is a scaling, a kernel, and a way to learn its metric and penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.estimators.metric import likelihood, ridge
from mercer.estimators.metric.steps import steps, with_length_scale
from mercer.kernels.base import Kernel
from mercer.kernels.matern import Matern
from mercer.kernels.power_exponential import PowerExponential
from mercer.kernels.stationary import Exponential, Gaussian, Laplacian
from mercer.kernels.vectors import Linear

Array = NDArray[np.float64]

#: Rows on which a marginal likelihood is climbed, and steps of the climb.
CLIMBED, CLIMB = 700, 20

#: Length scales per column are learned up to this many columns, full metrics and diagonal ones up to these.
ARD_COLUMNS, FULL_COLUMNS, DIAGONAL_COLUMNS = 80, 200, 2000

#: Rounds of a recursive feature machine.
ROUNDS = 3


@dataclass(frozen=True)
class State:
    """What a candidate has learned from some rows: a kernel with numbers, and its penalty."""

    label: str
    kernel: Kernel
    alpha: float


@dataclass(frozen=True)
class Candidate:
    """One entry of the list that is tried."""

    name: str
    scaling: str  # "standard", "quantile", or "columns" for tables with holes, text or graphs
    method: str  # "plain", "likelihood", "full metric", "diagonal metric"
    kernel: Kernel
    transform: str = "none"  # of the target: "none" or "yeo-johnson"

    def learn(self, Z: Any, Y: Array, rounds: int | None = None) -> list[State]:  # (n, d), (n, t)
        """The states learned from rows; a recursive feature machine gives one per round, up to `rounds`."""
        if self.method in ("full metric", "diagonal metric"):
            last = ROUNDS if rounds is None else rounds
            found = steps(self.kernel, Z, Y, self.method == "full metric", last)
            return [State(f"{self.name}, round {i}", step.kernel, step.fit.alpha) for i, step in enumerate(found)]
        kernel, alpha = self.kernel, None
        if self.method == "likelihood":
            kernel, alpha = likelihood.learn(_started(kernel, Z), *_some(Z, Y), max_iter=CLIMB)
        elif self.kernel.unresolved:
            kernel = with_length_scale(kernel, Z, Y, None)[0]
        fit = ridge.choose(np.asarray(kernel(Z), dtype=np.float64), Y, alpha)
        return [State(self.name, kernel, fit.alpha)]


def _started(kernel: Kernel, Z: Any) -> Kernel:
    """A kernel with one length scale per column, that of a typical pair of rows; kernels over columns have theirs."""
    if not kernel.unresolved:
        return kernel
    d = Z.shape[1]
    typical = kernel.resolve(Z).get_params(deep=False)["length_scale"]
    return kernel.set_params(length_scale=(float(typical),) * d)


def _some(Z: Any, Y: Array) -> tuple[Any, Array]:
    return Z[:CLIMBED], Y[:CLIMBED]  # rows come in random order


def candidates(width: int, mixed: Kernel | None) -> list[Candidate]:
    """The list for a matrix of this many columns, the most promising first; with `mixed` the kernel over table columns."""
    if mixed is not None:
        return [Candidate("columns", "columns", "likelihood", mixed)]
    if width > DIAGONAL_COLUMNS:
        return _plain()
    found = []
    if width <= ARD_COLUMNS:
        smooth, rough, sharp = Matern(1.5, length_scale="median"), Exponential("median"), Laplacian("median")
        found += [
            Candidate("Matern 3/2", "standard", "likelihood", smooth),
            Candidate("Laplacian", "quantile", "likelihood", sharp),
            Candidate("Exponential", "quantile", "likelihood", rough),
            Candidate("Laplacian, standard", "standard", "likelihood", sharp),
            Candidate("Matern 3/2, quantile", "quantile", "likelihood", smooth),
            Candidate("Exponential, standard", "standard", "likelihood", rough),
        ]
    if width <= FULL_COLUMNS:
        found.append(Candidate("RFM full", "standard", "full metric", PowerExponential(2.0, power=1.4)))
    found.append(Candidate("RFM diagonal", "quantile", "diagonal metric", PowerExponential(1.0, power=1.0)))
    return found + (_plain() if width > ARD_COLUMNS else _plain()[:1])


def _plain() -> list[Candidate]:
    return [
        Candidate("Linear", "standard", "plain", Linear()),
        Candidate("Gaussian", "quantile", "plain", Gaussian("median")),
        Candidate("Laplacian, one scale", "quantile", "plain", Laplacian("median")),
    ]
