"""The perceptron's ledger: what Novikoff's theorem promises beside what happened."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from mercer.registry import record


@record()
@dataclass(frozen=True)
class Ledger:
    """One two-class problem: updates made and R^2 / gamma^2, with what they are made of.

    From ||w_t||^2 <= t R^2 and ||w_t|| >= t gamma it follows that t <= R^2 / gamma^2, for any margin gamma that some unit
    vector has on the data; the number of updates at one row, |alpha_i|, is no larger.
    """

    label: Any
    updates: int
    epochs: int
    converged: bool
    radius: float  # R
    margin: float  # gamma of the last weights
    hard_margin: float | None  # the largest there is, if it was asked for
    largest_count: float  # max |alpha_i|
    note: str = ""

    @property
    def bound(self) -> float:
        """R^2 / gamma^2 with the largest margin known; inf where none is."""
        gamma = max([g for g in (self.margin, self.hard_margin) if g is not None and g > 0], default=0.0)
        return (self.radius / gamma) ** 2 if gamma > 0 and self.converged and not self.note else math.inf

    def __str__(self) -> str:
        word = f"{self.updates} updates in {self.epochs} epochs"
        if not self.converged:
            return f"{word}, {self.note or 'not converged'}"
        margin = f"margin {self.margin:.4g}"
        if self.hard_margin is not None:
            margin += f" (largest possible {self.hard_margin:.4g})"
        bound = f"Novikoff's R^2/gamma^2 = {self.bound:.4g}" if math.isfinite(self.bound) else self.note
        return f"{word}; R {self.radius:.4g}, {margin}; {bound}; largest |alpha_i| {self.largest_count:g}"
