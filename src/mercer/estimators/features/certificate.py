"""How far z(x)'z(z) can be from k(x, z): what is proven, what was measured, and what each statement covers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats
from mercer.kernels.base import Kernel
from mercer.kernels.spectral.fourier_map import RISK, FourierMap, draw, pairs_bound, share_above_the_worst, uniform_bound
from mercer.kernels.spectral.measures import Measure
from mercer.numeric.encodings import dense

#: Random pairs are taken in portions, so that their features never fill the memory.
PAIRS_AT_A_TIME = 1 << 22

#: Frequencies that show the bias of structured draws.
MANY = 1 << 16


@dataclass(frozen=True)
class FeatureCertificate:
    """Bounds on |z(x)'z(z) - k(x, z)|, each with probability 99.9 %; None where nothing is proven."""

    uniform: float | None  # over all pairs of points in the box of the data
    uniform_note: str
    pairs: float | None  # over all pairs of the n rows
    pairs_note: str
    measured: float  # the largest error on random pairs
    n_pairs: int
    share: float  # of all pairs that may have a larger error
    bias: float = 0.0  # what more components do not take away

    def __str__(self) -> str:
        uniform = "not proven" if self.uniform is None else f"<= {self.uniform:.3g}"
        pairs = "not proven" if self.pairs is None else f"<= {self.pairs:.3g}"
        lines = [
            "|z(x)'z(z) - k(x, z)|, each line with probability 99.9 %:",
            f"  everywhere    {uniform}: {self.uniform_note}",
            f"  these rows    {pairs}: {self.pairs_note}",
            f"  measured      <= {self.measured:.3g}: the largest of {self.n_pairs} random pairs of these rows; at most "
            f"{100 * self.share:.2g} % of all pairs are worse",
        ]
        if self.bias:
            lines.append(f"  bias          up to {self.bias:.3g} of it stays however many components are drawn")
        return "\n".join(lines)


def certify(
    kernel: Kernel, mapping: FourierMap, measure: Measure, draws: str, X: Any, n_pairs: int, rng: np.random.Generator
) -> FeatureCertificate:
    """The certificate of a map on a collection of rows."""
    n, m, phases = X.shape[0], len(mapping.weights), len(mapping.phases) > 0
    theory = draws in ("plain", "exact")
    only = f"only independent draws have a bound (draws='plain'); these are {draws}"
    pairs = uniform = None
    pairs_note = uniform_note = only
    if theory:
        pairs = 0.0 if draws == "exact" else pairs_bound(n, m, measure.mass, phases=phases)
        pairs_note = f"all pairs of the {n} rows (Hoeffding, union over pairs)"
        uniform, uniform_note = _uniform(mapping, measure, draws, X)
    measured = measured_error(kernel, mapping, X, n_pairs, rng)
    share = share_above_the_worst(n_pairs, RISK)
    bias = structured_bias(kernel, measure, X, rng) if "structured" in draws else 0.0
    return FeatureCertificate(uniform, uniform_note, pairs, pairs_note, measured, n_pairs, share, bias)


def structured_bias(kernel: Kernel, measure: Measure, X: Any, rng: np.random.Generator) -> float:
    """The largest error that many structured frequencies leave on some pairs of rows, less what chance explains."""
    drawn = draw(measure, MANY, "structured", rng)
    steps = _random_steps(X, 100, rng)[2]
    near = np.cos(steps @ drawn.frequencies.T) @ drawn.weights
    exact = kernel(steps, np.zeros((1, steps.shape[1])))[:, 0]
    return max(0.0, float(np.abs(near - exact).max()) - 3.0 * measure.mass / np.sqrt(2.0 * MANY))


def _uniform(mapping: FourierMap, measure: Measure, draws: str, X: Any) -> tuple[float | None, str]:
    if draws == "exact":
        return 0.0, "the kernel has finitely many frequencies, and all are there"
    if len(mapping.phases):
        return None, "stated for cos and sin pairs only"
    if not np.isfinite(measure.second_moment):
        return None, "the kernel has a kink at 0 (no second moment), so the slope of the features has no bound"
    diameter = box_diameter(X)
    bound = uniform_bound(measure.width, len(mapping.weights), measure.mass, measure.second_moment, diameter)
    if bound is None:
        return (
            None,
            f"a box of diameter {diameter:.3g} needs more components for a bound below {2 * measure.mass:.3g}",
        )
    return bound, f"all x, z in the box of these rows, diameter {diameter:.3g} (Sutherland and Schneider)"


def box_diameter(X: Any) -> float:  # (n, d)
    """The diagonal of the smallest box of columns around the rows."""
    if sp.issparse(X):
        low, high = X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()
    else:
        low, high = X.min(axis=0), X.max(axis=0)
    return float(np.linalg.norm(high.astype(np.float64) - low.astype(np.float64)))


def measured_error(kernel: Kernel, mapping: FourierMap, X: Any, n_pairs: int, rng: np.random.Generator) -> float:
    """The largest error on random pairs of different rows, drawn with replacement."""
    worst, step = 0.0, max(1, PAIRS_AT_A_TIME // mapping.n_columns)
    for start in range(0, n_pairs, step):
        a, b, steps = _random_steps(X, min(step, n_pairs - start), rng)
        near = np.einsum("ij,ij->i", mapping(a), mapping(b), dtype=np.float64)
        exact = kernel(steps, np.zeros((1, steps.shape[1])))[:, 0]  # a function of x - z, or it would have no measure
        worst = max(worst, float(np.abs(near - exact).max()))
    return worst


def _random_steps(X: Any, count: int, rng: np.random.Generator) -> tuple[Any, Any, Floats]:
    """Random pairs of different rows, and their differences."""
    n = X.shape[0]
    left = rng.integers(n, size=count)
    right = (left + rng.integers(1, n, size=count)) % n if n > 1 else left
    a, b = X[left], X[right]
    return a, b, dense(a).astype(np.float64) - dense(b)
