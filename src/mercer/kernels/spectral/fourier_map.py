"""Random Fourier features: frequencies drawn from a spectral measure, the map x -> z(x), and bounds on its error.

Kinds of draws:

plain        independent draws; the only ones to which the probability bounds apply
sobol        scrambled Sobol points through the quantiles of the measure
orthogonal   blocks of orthogonal directions with stratified lengths, for measures that are isotropic up to scales
structured   products of Hadamard matrices and signs, of constant length: biased at every d

Except for plain draws each term of a sum gets its own share of the frequencies, in proportion to its mass.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy import linalg, special
from scipy.stats import qmc

from mercer.arrays import Array, Floats
from mercer.errors import CapabilityError, check_choice
from mercer.kernels.spectral.composition import LinearImage
from mercer.kernels.spectral.measures import Atoms, Measure
from mercer.numeric import threads
from mercer.numeric.compiling import worth
from mercer.numeric.memory import allocate
from mercer.numeric.tiles import row_blocks

#: A float32 phase above this has lost more digits than the features may: it is made in float64 and reduced to one turn.
#: Above the float64 limit the compiled loops would lose digits of their own.
LARGEST_PHASE = {"float32": 64.0, "float64": 1e6}

#: Nanoseconds that compiled cosines and sines save per number: from 2^20 on they are worth loading. Row: flights-fourier.
PER_VALUE = 8

#: Numbers of one block of features: it stays in the cache of a core on its way from phase to cosine.
#: Row: flights-fourier.
CACHED_NUMBERS = 1 << 18


@dataclass(frozen=True)
class Projection:
    """Frequencies and factors in the form that a block of features takes them."""

    exact: Floats  # (d, m)
    own: Array  # (d, m) in the dtype of the features
    factors: Array  # (m,): what the columns of a frequency are multiplied by
    longest: float  # the length of the longest frequency
    compiled: bool


@dataclass(frozen=True)
class FourierMap:
    """z(x) = sqrt(weights) [cos(w'x), sin(w'x)], or sqrt(2 weights) cos(w'x + b) where there are phases b.

    With `phases` for the last frequency only, pairs are followed by one single column: an odd number of columns.
    """

    _stored: ClassVar[dict[str, str]] = {
        "frequencies": "float (m, d)",
        "weights": "float (m,)",
        "center": "float (d,)",
        "phases": "float (m,) | float (1,) | float (0,)",
    }

    frequencies: Floats  # (m, d)
    weights: Floats  # (m,)
    center: Floats  # (d,): subtracted first; z(x)'z(z) depends on x - z only, and small phases keep their digits
    phases: Floats  # (m,) for single columns throughout, (1,) for a last single column, (0,) for pairs

    @property
    def n_pairs(self) -> int:
        """Frequencies that have a cosine and a sine."""
        return len(self.weights) - len(self.phases)

    @property
    def n_columns(self) -> int:
        """Columns of z(x)."""
        return 2 * self.n_pairs + len(self.phases)

    def __call__(self, X: Any) -> Array:  # (n, d) -> (n, n_columns)
        """Return z(x) for every row, in the dtype of X."""
        out = allocate((X.shape[0], self.n_columns), X.dtype, "the features", "Transform fewer rows at a time.")
        self.write(X, out)
        return out

    def write(self, X: Any, out: Array) -> None:  # (n, d), (n, n_columns)
        """Write z(x) for every row; blocks of rows on all cores."""
        step = max(16, CACHED_NUMBERS // max(self.n_columns, 1))
        projection = self.projection(out.dtype, X.shape[0])
        parts = row_blocks(X.shape[0], step)
        crew = min(threads.cpu_count(), len(parts))
        # one per thread for all its blocks: Dask's workers give freed memory back at once, and new pages cost time
        spare = [np.empty((min(step, X.shape[0]), len(self.weights)), out.dtype) for _ in range(crew)]

        def work(part: slice, worker: int) -> None:
            self.fill(X[part], out[part], projection, spare[worker])

        threads.run(parts, work, crew)

    def fill(self, X: Any, out: Array, projection: Projection, spare: Array) -> None:  # (n, d) -> (n, D)
        """Write z(x) for some rows into an array of the caller's; `spare` has as many rows, one column per frequency."""
        phase = self._phase(X, projection, spare[: X.shape[0]])
        p = self.n_pairs
        if len(self.phases):
            phase[:, p:] += self.phases.astype(out.dtype)
            np.cos(phase[:, p:], out=out[:, 2 * p :])
            out[:, 2 * p :] *= projection.factors[p:]
        if projection.compiled:
            from mercer.kernels.spectral._compiled_waves import waves_float32, waves_float64

            waves = waves_float64 if out.dtype == np.float64 else waves_float32
            waves(phase[:, :p], projection.factors[:p], out[:, : 2 * p])
            return
        np.cos(phase[:, :p], out=out[:, :p])
        np.sin(phase[:, :p], out=out[:, p : 2 * p])
        out[:, :p] *= projection.factors[:p]
        out[:, p : 2 * p] *= projection.factors[:p]

    def projection(self, dtype: Any, n_rows: int) -> Projection:
        """What `fill` needs, made once for many blocks; the number of rows decides whether loops are compiled."""
        factors = np.sqrt(self.weights)
        factors[self.n_pairs :] *= np.sqrt(2.0)
        longest = float(np.sqrt(np.einsum("ij,ij->i", self.frequencies, self.frequencies).max(initial=0.0)))
        exact = np.ascontiguousarray(self.frequencies.T)
        compiled = worth(n_rows * self.n_columns, PER_VALUE)
        return Projection(exact, exact.astype(dtype, copy=False), factors.astype(dtype), longest, compiled)

    def _phase(self, X: Any, projection: Projection, spare: Array) -> Array:  # (n, d), (n, m) -> (n, m)
        dtype = spare.dtype
        if sp.issparse(X):  # no center, so that zeros stay zeros
            return _one_turn(np.asarray(X.astype(np.float64) @ projection.exact)).astype(dtype, copy=False)
        moved = X - self.center  # float64: a float32 row far from zero has its digits in the difference
        reach = float(np.sqrt(np.einsum("ij,ij->i", moved, moved).max(initial=0.0))) * projection.longest
        if reach <= LARGEST_PHASE[dtype.name]:
            return np.matmul(moved.astype(dtype, copy=False), projection.own, out=spare)
        return _one_turn(moved @ projection.exact).astype(dtype, copy=False)


def _one_turn(phase: Floats) -> Floats:
    """Phases reduced to one turn, in place."""
    phase -= 2.0 * np.pi * np.round(phase * (0.5 / np.pi))
    return phase


KINDS = ("auto", "plain", "sobol", "orthogonal", "structured")

#: Up to this many columns Sobol points have the smaller error for every kernel tried; above, orthogonal blocks.
SOBOL_COLUMNS = 12

#: SciPy's table of direction numbers ends here.
SOBOL_MOST = 21201


@dataclass(frozen=True)
class FrequencyDraw:
    """Frequencies w_j and weights, with k(x, z) near sum_j weights_j cos(w_j'(x - z))."""

    frequencies: Floats  # (m, d)
    weights: Floats  # (m,), they add up to k(x, x)
    kind: str  # how they were drawn; several words for a sum whose terms differ


def draw(measure: Measure, m: int, kind: str, rng: np.random.Generator) -> FrequencyDraw:
    """Draw m frequencies."""
    check_choice("RandomFourierFeatures", "draws", kind, KINDS)
    if measure.mass == 0:
        return FrequencyDraw(np.zeros((m, measure.width)), np.zeros(m), "plain")
    parts = measure.parts()
    if kind == "plain" or len(parts) > m:  # too few frequencies for a share of every term: the terms are drawn too
        low_discrepancy = kind in ("auto", "sobol") and measure.n_uniforms <= SOBOL_MOST
        uniforms = _sobol(m, measure.n_uniforms, rng) if low_discrepancy else rng.random((m, measure.n_uniforms))
        return FrequencyDraw(measure.sample(uniforms), np.full(m, measure.mass / m), "sobol" if low_discrepancy else "plain")
    found = [_draw_part(part, count, kind, rng) for part, count in zip(parts, _shares(parts, m), strict=True)]
    missing = m - sum(len(part.weights) for part in found)  # single frequencies only, and fewer than requested
    if missing:
        found.append(FrequencyDraw(np.zeros((missing, measure.width)), np.zeros(missing), "exact"))
    kinds = list(dict.fromkeys(part.kind for part in found if part.kind != "exact")) or ["exact"]
    return FrequencyDraw(
        np.vstack([part.frequencies for part in found]),
        np.concatenate([part.weights for part in found]),
        " and ".join(kinds),
    )


def _shares(parts: Sequence[Measure], m: int) -> list[int]:
    """How many of m frequencies each term gets: single frequencies their number, the others in proportion to their mass."""
    exact = [len(part.weights) if isinstance(part, Atoms) else 0 for part in parts]
    if sum(exact) + exact.count(0) > m:  # they cannot all be held, so they are drawn like the others
        exact = [0] * len(parts)
    drawn = [number for number, count in enumerate(exact) if count == 0]
    if not drawn:
        return exact
    left = m - sum(exact) - len(drawn)  # each has one already
    mass = np.array([parts[number].mass for number in drawn])
    ideal = left * mass / mass.sum()
    shares = np.floor(ideal).astype(int)
    for place in np.argsort(shares - ideal, kind="stable")[: left - int(shares.sum())]:
        shares[place] += 1
    for number, share in zip(drawn, shares, strict=True):
        exact[number] = 1 + int(share)
    return exact


def _draw_part(part: Measure, m: int, kind: str, rng: np.random.Generator) -> FrequencyDraw:
    if isinstance(part, Atoms) and len(part.weights) == m:
        return FrequencyDraw(part.frequencies.copy(), part.weights.copy(), "exact")
    if isinstance(part, LinearImage):
        inner = _draw_part(part.inner, m, kind, rng)
        return FrequencyDraw(inner.frequencies @ part.matrix, inner.weights, inner.kind)
    weights = np.full(m, part.mass / m)
    if kind == "auto":
        kind = "orthogonal" if part.radius() is not None and part.width > SOBOL_COLUMNS else "sobol"
    if kind == "sobol" and part.n_uniforms > SOBOL_MOST:
        return FrequencyDraw(part.sample(rng.random((m, part.n_uniforms))), weights, "plain")
    if kind == "sobol":
        return FrequencyDraw(part.sample(_sobol(m, part.n_uniforms, rng)), weights, kind)
    if part.radius() is None:
        raise CapabilityError(
            f"draws={kind!r} needs a measure that is isotropic up to scales, and {type(part).__name__} is not one "
            '(the l1 Laplacian, periodic kernels and products of different kernels have none). Use draws="auto".'
        )
    further, scales = part.radius() or (0, np.ones(part.width))
    if kind == "structured":
        return FrequencyDraw(_structured(part, m, further, rng) * scales, weights, kind)
    uniforms = _stratified(m, rng) if not further else _sobol(m, 1 + further, rng)
    return FrequencyDraw(_orthogonal(m, part.width, rng) * part.radii(uniforms)[:, None] * scales, weights, kind)


def _sobol(m: int, d: int, rng: np.random.Generator) -> Floats:  # -> (m, d)
    engine = qmc.Sobol(d, scramble=True, seed=rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that m is no power of two: balance is lost, not correctness
        points = engine.random(m)
    return np.asarray(points + 2.0**-31)  # the middle of its cell: 0 itself has no quantile


def _stratified(m: int, rng: np.random.Generator) -> Floats:  # -> (m, 1)
    return ((rng.permutation(m) + rng.random(m)) / m)[:, None]


def _orthogonal(m: int, d: int, rng: np.random.Generator) -> Floats:  # -> (m, d)
    """Unit vectors, uniformly distributed each, orthogonal within blocks of d."""
    out = np.empty((m, d))
    for rows in row_blocks(m, d):
        q, r = np.linalg.qr(rng.standard_normal((d, d)))
        q *= np.sign(np.diagonal(r))  # without it the law is not uniform
        out[rows] = q.T[: rows.stop - rows.start]
    return out


def _structured(part: Measure, m: int, further: int, rng: np.random.Generator) -> Floats:  # -> (m, d)
    """sqrt(d) H D1 H D2 H D3 with random signs D, of the next power of two, cut to d columns."""
    d = part.width
    size = 1 << max(0, (d - 1).bit_length())
    H = linalg.hadamard(size) / np.sqrt(size)
    out = np.empty((m, size))
    for rows in row_blocks(m, size):
        block = np.eye(size)
        for _ in range(3):
            block = H @ (rng.choice([-1.0, 1.0], size)[:, None] * block)
        out[rows] = np.sqrt(size) * block[: rows.stop - rows.start]
    if further:  # the factor of a mixture stays random; only the length of the normal law is frozen
        u = np.column_stack([np.full(m, 0.5), _stratified(m, rng)])
        out *= (part.radii(u) / np.sqrt(2.0 * special.gammaincinv(d / 2.0, 0.5)))[:, None]
    return out[:, :d]


#: What every statement may be wrong with: 0.1 %.
RISK = 1e-3


def pairs_bound(n_rows: int, m: int, mass: float, *, phases: bool, risk: float = RISK) -> float:
    """eps with P(|z(x)'z(z) - k(x, z)| > eps for some pair of n rows) <= risk, by Hoeffding and a union over the pairs.

    Each of m independent terms lies in an interval of length 2 mass (cos and sin), or 4 mass (cos with a phase).
    """
    length = (4.0 if phases else 2.0) * mass
    return float(length * np.sqrt(np.log(2.0 * _pairs(n_rows, phases) / risk) / (2.0 * m)))


def _pairs(n_rows: int, phases: bool) -> float:
    """Pairs with an error: with a phase the diagonal has one too."""
    return max(1.0, n_rows * (n_rows + 1 if phases else n_rows - 1) / 2.0)


def frequencies_for(eps: float, n_rows: int, mass: float, *, phases: bool, risk: float = RISK) -> int:
    """The least m with pairs_bound <= eps."""
    length = (4.0 if phases else 2.0) * mass
    return max(1, int(np.ceil(length**2 * np.log(2.0 * _pairs(n_rows, phases) / risk) / (2.0 * eps**2))))


def uniform_probability(eps: float, d: int, m: int, second_moment: float, diameter: float) -> float:
    """P(sup |error| > eps) over all pairs in a set of a given diameter, at most; for cos and sin pairs and k(x, x) = 1.

    Rahimi and Recht's covering argument with the constants of Sutherland and Schneider (2015): the differences lie in a
    ball of radius `diameter`, covered by (4 diameter / r)^d balls of radius r; Hoeffding at the centers, Markov for the
    slope, and the best r.
    """
    power = 2.0 * d / (d + 2.0)
    beta = ((d / 2.0) ** (-d / (d + 2.0)) + (d / 2.0) ** (2.0 / (d + 2.0))) * 2.0 ** ((6.0 * d + 2.0) / (d + 2.0))
    log = np.log(beta) + power * np.log(np.sqrt(second_moment) * diameter / eps) - m * eps**2 / (4.0 * (d + 2.0))
    return float(np.exp(min(log, 0.0)))


def uniform_bound(d: int, m: int, mass: float, second_moment: float, diameter: float, risk: float = RISK) -> float | None:
    """eps with P(sup |error| > eps) <= risk over a set of a given diameter; None where no eps below 2 k(x, x) is proven.

    Needs E ||w||^2 < inf: the slope of the features has no bound otherwise.
    """
    if diameter == 0 or second_moment == 0:
        return 0.0
    if not np.isfinite(second_moment):
        return None
    low, high = 0.0, 2.0
    # the covering needs r <= 2 diameter, which holds where eps <= sqrt(second_moment) diameter
    if uniform_probability(high, d, m, second_moment, max(diameter, high / np.sqrt(second_moment))) > risk:
        return None
    for _ in range(60):
        middle = 0.5 * (low + high)
        wide = max(diameter, middle / np.sqrt(second_moment))
        if uniform_probability(middle, d, m, second_moment, wide) <= risk:
            high = middle
        else:
            low = middle
    return mass * high


def share_above_the_worst(n_pairs: int, risk: float = RISK) -> float:
    """The share of all pairs that may exceed the largest error among n random ones, with confidence 1 - risk."""
    return float(1.0 - risk ** (1.0 / n_pairs))
