"""The spectral measure of exp(-(||x - z||_p / l)^q): symmetric p-stable coordinates with a common random factor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.arrays import Floats
from mercer.kernels.spectral.measure import LARGEST_FREQUENCY, Measure, inside


@dataclass(frozen=True)
class StableLaw(Measure):
    """w = s^(1/p) v / length_scale, v of independent symmetric p-stable numbers, s positive (q/p)-stable (1 where q = p).

    E cos(v't) = exp(-sum_k |t_k|^p) and E exp(-s u) = exp(-u^(q/p)), so that E cos(w't) = exp(-(sum_k |t_k|^p)^(q/p)).
    """

    scales: tuple[float, ...]
    norm: float
    power: float
    mass: float = 1.0

    @property
    def width(self) -> int:  # type: ignore[override]
        return len(self.scales)

    @property
    def n_uniforms(self) -> int:
        return 2 * self.width + 2 * (self.power < self.norm)

    def sample(self, uniforms: Floats) -> Floats:
        u = inside(uniforms)
        d = self.width
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            w = symmetric_stable(u[:, :d], u[:, d : 2 * d], self.norm)
            if self.power < self.norm:
                w *= positive_stable(u[:, -2], u[:, -1], self.power / self.norm)[:, None] ** (1.0 / self.norm)
        return np.clip(
            np.nan_to_num(w * np.array(self.scales), posinf=LARGEST_FREQUENCY, neginf=-LARGEST_FREQUENCY),
            -LARGEST_FREQUENCY,
            LARGEST_FREQUENCY,
        )

    def covariance(self) -> Floats:
        if self.power == 2.0:
            return np.diag(2.0 * np.square(self.scales))
        return np.diag(np.full(self.width, np.inf))

    def _why_no_density(self) -> str:
        return "stable laws have no closed form."


def symmetric_stable(angle: Floats, height: Floats, index: float) -> Floats:
    """Numbers with E cos(v t) = exp(-|t|^index) from two uniform ones (Chambers, Mallows and Stuck)."""
    V, W = np.pi * (angle - 0.5), -np.log(height)
    if index == 1.0:
        return np.tan(V)
    ratio = np.cos((1.0 - index) * V) / W
    return np.asarray(np.sin(index * V) / np.cos(V) ** (1.0 / index) * ratio ** ((1.0 - index) / index))


def positive_stable(angle: Floats, height: Floats, index: float) -> Floats:
    """Positive numbers with E exp(-s u) = exp(-u^index), 0 < index < 1, from two uniform ones (Kanter)."""
    theta, W = np.pi * angle, -np.log(height)
    lead = np.sin(index * theta) / np.sin(theta) ** (1.0 / index)
    return np.asarray(lead * (np.sin((1.0 - index) * theta) / W) ** ((1.0 - index) / index))
