"""The cross-validated surface: what it is computed on, its scores, and the point that is chosen on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.errors import InputError
from mercer.kernels.base import Kernel
from mercer.registry import record

Array = NDArray[Any]


@dataclass(frozen=True)
class Data:
    """What a surface is computed on."""

    X: Any
    Y: Array  # (n, *t)
    weights: Array | None
    fit_intercept: bool
    splits: tuple[tuple[Array, Array], ...] | None  # (train, test) rows; None is leave-one-out

    @property
    def closed_form(self) -> bool:
        """Whether every training part is all that is not in its test part, so that no refit is needed."""
        n = len(self.Y)
        return self.splits is None or all(
            len(train) + len(test) == n and len(np.union1d(train, test)) == n for train, test in self.splits
        )


@record(left_out=("loo",))
@dataclass(frozen=True)
class Surface:
    """Scores of every kernel setting (rows) at every alpha (columns); greater is better."""

    params: tuple[dict[str, Any], ...]
    kernels: tuple[Kernel, ...]
    alphas: Array  # (L,)
    scores: Array  # (S, L), or (S, L, t)
    standard_errors: Array  # like scores
    loo: Array | None  # (S, L, n, *t) leave-one-out residuals, where they were computed and are few enough
    route: str
    scoring: str
    how: str

    @property
    def axis(self) -> tuple[str, Array]:
        """What the columns stand for, for pictures: a name and (L,) values."""
        return "alpha", self.alphas

    @property
    def mean_scores(self) -> Array:  # (S, L)
        """Scores averaged over targets."""
        return self.scores if self.scores.ndim == 2 else self.scores.mean(axis=2)


def choose(surface: Surface, rule: str) -> tuple[int, int]:
    """The chosen (kernel, alpha) indices: the best, or the most regularized one within a standard error of it."""
    scores = surface.mean_scores
    if not np.isfinite(scores).any():
        raise InputError(
            "no point of the surface has a finite score: every held-out residual is undefined (leverage 1). "
            "Give alphas > 0."
        )
    # accuracies tie: among equals the largest alpha is the smoothest function
    tied = np.argwhere(scores == np.nanmax(scores))
    best = tuple(tied[np.argmax(surface.alphas[tied[:, 1]])].tolist())
    if rule == "best":
        return best[0], best[1]
    error = surface.standard_errors if surface.scores.ndim == 2 else surface.standard_errors.mean(axis=2)
    near = scores >= scores[best] - np.nan_to_num(error[best])
    candidates = np.argwhere(near)
    # the largest alpha first, then the better score: more penalty is the simpler model
    order = sorted(candidates.tolist(), key=lambda c: (-surface.alphas[c[1]], -scores[c[0], c[1]]))
    return order[0][0], order[0][1]


def choose_per_target(surface: Surface, row: int) -> Array:
    """The best alpha index of every target, for one kernel setting."""
    return np.asarray(np.nanargmax(surface.scores[row], axis=0))


def default_alphas(diagonal: Array) -> Array:
    """Half decades over ten orders of magnitude, in units of the mean of k(x, x)."""
    scale = float(np.mean(diagonal))
    return (scale if scale > 0 else 1.0) * np.logspace(-8, 2, 21)


def length_scale_steps(center: float, first: int = -4, last: int = 5) -> list[float]:
    """Length scales round a center in steps of sqrt(2), each Gaussian Gram the square of the one before.

    >>> [round(s, 3) for s in length_scale_steps(1.0, -1, 2)]
    [2.0, 1.414, 1.0, 0.707]
    """
    return [center * 2.0 ** (j / 2) for j in range(last, first - 1, -1)]
