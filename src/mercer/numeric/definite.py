"""Decide without rounding whether a symmetric matrix of floats is positive semi-definite, or leave it open.

A matrix of floats is a matrix of fractions, so the property is well defined. Three methods, cheapest first:

- *Cholesky with a margin.* If the factorization of B - c I goes through in floating point, with c above everything that
  rounding can do to it, then B is positive definite (Rump 2006, "Verification of positive definiteness").
- *Elimination in whole numbers* (Bareiss): the signs of the pivots decide. A negative one yields x with x'Bx < 0.
- For matrices too large for that, the lowest eigenvector is tried in exact arithmetic.

Rows and columns are multiplied by powers of two first, so that diag(1e300, 1e-300) is as good as the identity.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.arrays import Array, Floats, Indices

if TYPE_CHECKING:
    from mercer.numeric.frozen import FrozenArray

#: Rows of a matrix times bits of its entries, up to which whole numbers are used: about a second.
EXACT_BITS = 4000

#: Rows of a matrix up to which its lowest eigenvector is tried in exact arithmetic.
EXACT_ROWS = 400

#: Number of floats whose sum is a coordinate of a point: a single one is not always accurate enough.
TERMS = 4

#: Bits to which the coordinates of a point are computed; more if these are too few.
DIGITS = (64, 256, 1024)

Whole = list[list[int]]


@dataclass(frozen=True)
class Definiteness:
    """psd is True, False, or None where it is not decided; `point` (r, d) holds parts that add up to x with x'Bx < 0."""

    psd: bool | None
    how: str
    point: Floats | None = None


@lru_cache(maxsize=128)
def definiteness(B: FrozenArray) -> Definiteness:
    """Return whether a symmetric matrix is positive semi-definite, as a statement about its floats.

    >>> from mercer.numeric.frozen import FrozenArray
    >>> definiteness(FrozenArray([[1.0, 1.0], [1.0, 1.0]])).psd, definiteness(FrozenArray([[1.0, 0.0], [0.0, -1e-300]])).psd
    (True, False)
    """
    array = B.array
    found = _small_minors(array)
    if found is not None:
        return found
    kept = np.flatnonzero(np.diagonal(array) > 0)  # the other rows are 0
    if len(kept) == 0:
        return Definiteness(True, "B = 0")
    inside = array[np.ix_(kept, kept)]
    if _has_margin(balanced(inside)[0]):
        return Definiteness(True, "a Cholesky factorization of B goes through with more to spare than all rounding errors")
    whole = _whole(inside)
    if whole is not None:
        return _by_elimination(whole, inside, kept, len(array))
    point = _lowest(inside) if len(inside) <= EXACT_ROWS else None
    if point is not None:
        return Definiteness(False, "", _embedded(point, kept, len(array)))
    return Definiteness(None, "")


def balanced(B: Floats) -> tuple[Floats, Floats]:  # (d, d) -> (d, d), (d,)
    """D^-1 B D^-1 with a diagonal between 1/2 and 2, and D: powers of two, so that nothing is rounded."""
    half = np.frexp(np.diagonal(B))[1] // 2
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(B, -(half[:, None] + half[None, :])), np.ldexp(np.ones(len(B)), half)


def _small_minors(B: Floats) -> Definiteness | None:
    """A negative diagonal entry, or a zero one beside other numbers, or |b_ij| > sqrt(b_ii b_jj): one or two coordinates."""
    diag = np.diagonal(B)
    if diag.min() < 0:
        return _negative_at(B, {int(diag.argmin()): Fraction(1)})
    for zero in np.flatnonzero(diag == 0):
        others = np.flatnonzero(B[zero])
        if len(others):  # 2 t b_ij + b_jj < 0 for t far on the other side
            other = int(others[0])
            return _negative_at(B, {other: Fraction(1), int(zero): -(Fraction(diag[other]) + 1) / Fraction(B[zero, other])})
    root = np.sqrt(diag)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.abs(B) / root[:, None] / root[None, :]
    ratio[~np.isfinite(ratio)] = 0.0
    np.fill_diagonal(ratio, 0.0)
    first, second = np.unravel_index(int(ratio.argmax()), ratio.shape)
    i, j = int(first), int(second)
    if ratio[i, j] > 1 and Fraction(B[i, j]) ** 2 > Fraction(diag[i]) * Fraction(diag[j]):
        sides = -np.sign(B[i, j]) * root[i] / root[j], -Fraction(B[i, j]) / Fraction(diag[j])  # the plain one, the lowest
        tries = (_negative_at(B, {i: Fraction(1), j: Fraction(t)}) for t in sides if np.isfinite(float(t)))
        return next((found for found in tries if found.point is not None), Definiteness(False, ""))
    return None


def _negative_at(B: Floats, place: dict[int, Fraction]) -> Definiteness:
    exact = [place.get(k, Fraction(0)) for k in range(len(B))]
    return Definiteness(False, "", _expanded(exact, B))


def _has_margin(A: Floats) -> bool:  # (d, d), balanced
    """Whether A minus a margin has a Cholesky factor, which proves that A is positive definite."""
    from scipy.linalg import LinAlgError, cholesky

    if not np.abs(A).max() <= 4.0:
        return False
    n = len(A)
    # gamma_{n+1} tr(A) / (1 - gamma_{n+1}) with a reserve that also covers underflow
    margin = 4.0 * (n + 4) * float(np.finfo(np.float64).eps) * float(np.trace(A)) + 1e-280
    lowered = A.copy()
    lowered[np.diag_indices(n)] = np.nextafter(np.diagonal(A) - margin, -np.inf)
    try:
        cholesky(lowered, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return False
    return True


# -- whole numbers ------------------------------------------------------------------------------------------------------


def _whole(B: Floats) -> Whole | None:
    """D^-1 B D^-1 times a number as whole numbers, or None if they would be too long."""
    A, scale = balanced(B)
    if len(B) ** 2 > EXACT_BITS or not np.array_equal(A * scale[:, None] * scale[None, :], B):  # something underflowed
        return None
    numbers = _as_whole([value for row in A.tolist() for value in row])
    if max(abs(number).bit_length() for number in numbers) * len(B) > EXACT_BITS:
        return None
    return list(map(list, numbers.reshape(B.shape)))


def _by_elimination(M: Whole, B: Floats, kept: Indices, width: int) -> Definiteness:
    """Eliminate one variable after the other; the entries stay whole, and all pivots so far are positive."""
    n, before = len(M), 1
    rows: list[tuple[int, list[int]]] = []
    active = list(range(n))
    while active:
        j = active.pop(0)
        pivot = M[j][j]
        negative = pivot < 0
        partner = next((k for k in active if M[j][k]), None) if pivot == 0 else None
        if negative or partner is not None:
            start = {j: Fraction(1)} if partner is None else {
                partner: Fraction(1), j: -Fraction(abs(M[partner][partner]) + 1, M[j][partner])
            }  # fmt: skip
            point = _lifted(start, rows, n, B)
            return Definiteness(False, "", None if point is None else _embedded(point, kept, width))
        if pivot == 0:  # the whole row is 0: nothing to eliminate
            continue
        rows.append((j, M[j]))
        M = list(M)
        for i in active:
            a = M[i][j]
            M[i] = [(pivot * M[i][k] - a * rows[-1][1][k]) // before if k in active else 0 for k in range(n)]
        before = pivot
    return Definiteness(True, "B = LDL' has no negative pivot, in exact arithmetic")


def _lifted(start: dict[int, Fraction], rows: list[tuple[int, list[int]]], n: int, B: Floats) -> Floats | None:
    """The point whose last coordinates are given and whose others make x'Bx as small as it gets."""
    half = np.frexp(np.diagonal(B))[1] // 2  # back from D B D to B
    for digits in DIGITS:
        x = [start.get(k, Fraction(0)) for k in range(n)]
        for j, row in reversed(rows):
            total = sum((row[k] * x[k] for k in range(n) if k != j and row[k]), Fraction(0))
            x[j] = _rounded(-total / row[j], digits)
        point = _expanded([value * Fraction(2) ** -int(h) for value, h in zip(x, half, strict=True)], B)
        if point is not None:
            return point
    return None


def _rounded(value: Fraction, digits: int) -> Fraction:
    """Return leading bits of a fraction, because exact fractions would grow with every step."""
    if value == 0:
        return value
    shift = digits - (abs(value.numerator).bit_length() - value.denominator.bit_length())
    scaled = value * Fraction(2) ** shift
    return Fraction(round(scaled)) / Fraction(2) ** shift


# -- points -------------------------------------------------------------------------------------------------------------


def _lowest(B: Floats) -> Floats | None:  # (d, d) -> (1, d)
    """Return the eigenvector of the smallest eigenvalue if x'Bx < 0 holds for it."""
    A, scale = balanced(B)
    return _expanded((np.linalg.eigh(A)[1][:, 0] / scale).tolist(), B, terms=1) if np.isfinite(A).all() else None


def _expanded(x: Any, B: Floats, terms: int = TERMS) -> Floats | None:  # (d,) -> (r, d)
    """Floats that add up to x, or nearly, with as few terms as keep x'Bx < 0 in exact arithmetic; None if none do."""
    exact = [Fraction(value) for value in x]
    top = max(abs(value) for value in exact)
    unit = Fraction(2) ** (top.numerator.bit_length() - top.denominator.bit_length())
    rest = [value / unit for value in exact]
    parts: list[list[float]] = []
    matrix = _as_whole([value for row in B.tolist() for value in row]).reshape(B.shape)
    for _ in range(terms):
        parts.append([float(value) for value in rest])
        rest = [value - Fraction(part) for value, part in zip(rest, parts[-1], strict=True)]
        total = [sum(map(Fraction, column), Fraction(0)) for column in zip(*parts, strict=True)]
        whole = _as_whole(total)
        if whole @ (matrix @ whole) < 0:
            return np.array(parts) + 0.0
    return None


def _as_whole(values: list[Any]) -> Array:
    """Return fractions whose denominators are powers of two, times a common denominator, as whole numbers."""
    pairs = [value.as_integer_ratio() for value in values]
    common = max(below for _, below in pairs)
    return np.array([above * (common // below) for above, below in pairs], dtype=object)


def _embedded(point: Floats, kept: Indices, width: int) -> Floats:
    whole = np.zeros((len(point), width))
    whole[:, kept] = point
    return whole


def root_of(B: Floats) -> Floats:  # (d, d) -> (d, r)
    """R with R R' = B for a psd B, to rounding relative to each coordinate's own size."""
    kept = np.flatnonzero(np.diagonal(B) > 0)
    root = np.zeros((len(B), max(len(kept), 1)))
    if len(kept) == 0:
        return root
    inside, scale = balanced(B[np.ix_(kept, kept)])
    values, vectors = np.linalg.eigh(inside)
    root[kept] = scale[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))  # below 0 is rounding: B is psd
    return root
