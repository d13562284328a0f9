"""Frequencies from a spectral measure.

plain        independent draws, as the lectures have it; the only ones to which the probability bounds apply
sobol        scrambled Sobol points through the quantiles of the measure
orthogonal   blocks of orthogonal directions with stratified lengths, for measures that are isotropic up to scales
structured   products of Hadamard matrices and signs, of constant length: biased at every d

Except for plain draws each term of a sum gets its own share of the frequencies, in proportion to its mass.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg, special
from scipy.stats import qmc

from mercer.arrays import Floats
from mercer.errors import CapabilityError, check_choice
from mercer.kernels.spectral.composition import LinearImage
from mercer.kernels.spectral.laws import Atoms
from mercer.kernels.spectral.measure import Measure

KINDS = ("auto", "plain", "sobol", "orthogonal", "structured")

#: Up to this many columns Sobol points have the smaller error for every kernel tried; above, orthogonal blocks.
SOBOL_COLUMNS = 12

#: SciPy's table of direction numbers ends here.
SOBOL_MOST = 21201


@dataclass(frozen=True)
class Draw:
    """Frequencies w_j and weights, with k(x, z) near sum_j weights_j cos(w_j'(x - z))."""

    frequencies: Floats  # (m, d)
    weights: Floats  # (m,), they add up to k(x, x)
    kind: str  # how they were drawn; several words for a sum whose terms differ


def draw(measure: Measure, m: int, kind: str, rng: np.random.Generator) -> Draw:
    """Draw m frequencies."""
    check_choice("RandomFourierFeatures", "draws", kind, KINDS)
    if measure.mass == 0:
        return Draw(np.zeros((m, measure.width)), np.zeros(m), "plain")
    parts = measure.parts()
    if kind == "plain" or len(parts) > m:  # too few frequencies for a share of every term: the terms are drawn too
        low_discrepancy = kind in ("auto", "sobol") and measure.n_uniforms <= SOBOL_MOST
        uniforms = _sobol(m, measure.n_uniforms, rng) if low_discrepancy else rng.random((m, measure.n_uniforms))
        return Draw(measure.sample(uniforms), np.full(m, measure.mass / m), "sobol" if low_discrepancy else "plain")
    found = [_draw_part(part, count, kind, rng) for part, count in zip(parts, _shares(parts, m), strict=True)]
    missing = m - sum(len(part.weights) for part in found)  # single frequencies only, and fewer than asked for
    if missing:
        found.append(Draw(np.zeros((missing, measure.width)), np.zeros(missing), "exact"))
    kinds = list(dict.fromkeys(part.kind for part in found if part.kind != "exact")) or ["exact"]
    return Draw(
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


def _draw_part(part: Measure, m: int, kind: str, rng: np.random.Generator) -> Draw:
    if isinstance(part, Atoms) and len(part.weights) == m:
        return Draw(part.frequencies.copy(), part.weights.copy(), "exact")
    if isinstance(part, LinearImage):
        inner = _draw_part(part.inner, m, kind, rng)
        return Draw(inner.frequencies @ part.matrix, inner.weights, inner.kind)
    weights = np.full(m, part.mass / m)
    if kind == "auto":
        kind = "orthogonal" if part.radius() is not None and part.width > SOBOL_COLUMNS else "sobol"
    if kind == "sobol" and part.n_uniforms > SOBOL_MOST:
        return Draw(part.sample(rng.random((m, part.n_uniforms))), weights, "plain")
    if kind == "sobol":
        return Draw(part.sample(_sobol(m, part.n_uniforms, rng)), weights, kind)
    if part.radius() is None:
        raise CapabilityError(
            f"draws={kind!r} needs a measure that is isotropic up to scales, and {type(part).__name__} is not one "
            '(the l1 Laplacian, periodic kernels and products of different kernels have none). Use draws="auto".'
        )
    further, scales = part.radius() or (0, np.ones(part.width))
    if kind == "structured":
        return Draw(_structured(part, m, further, rng) * scales, weights, kind)
    uniforms = _stratified(m, rng) if not further else _sobol(m, 1 + further, rng)
    return Draw(_orthogonal(m, part.width, rng) * part.radii(uniforms)[:, None] * scales, weights, kind)


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
    for start in range(0, m, d):
        q, r = np.linalg.qr(rng.standard_normal((d, d)))
        q *= np.sign(np.diagonal(r))  # without it the law is not uniform
        out[start : start + d] = q.T[: min(d, m - start)]
    return out


def _structured(part: Measure, m: int, further: int, rng: np.random.Generator) -> Floats:  # -> (m, d)
    """sqrt(d) H D1 H D2 H D3 with random signs D, of the next power of two, cut to d columns."""
    d = part.width
    size = 1 << max(0, (d - 1).bit_length())
    H = linalg.hadamard(size) / np.sqrt(size)
    out = np.empty((m, size))
    for start in range(0, m, size):
        block = np.eye(size)
        for _ in range(3):
            block = H @ (rng.choice([-1.0, 1.0], size)[:, None] * block)
        out[start : start + size] = np.sqrt(size) * block[: min(size, m - start)]
    if further:  # the factor of a mixture stays random; only the length of the normal law is frozen
        u = np.column_stack([np.full(m, 0.5), _stratified(m, rng)])
        out *= (part.radii(u) / np.sqrt(2.0 * special.gammaincinv(d / 2.0, 0.5)))[:, None]
    return out[:, :d]
