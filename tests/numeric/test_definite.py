"""Is a matrix of floats psd? The answer against all principal minors in fractions."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from mercer.numeric.definite import definiteness
from mercer.numeric.frozen import FrozenArray


def determinant(M):
    """By expansion along the first row: slow, and nothing like the elimination it checks."""
    if not M:
        return Fraction(1)
    return sum(
        ((-1) ** j * M[0][j] * determinant([row[:j] + row[j + 1 :] for row in M[1:]]) for j in range(len(M)) if M[0][j]),
        Fraction(0),
    )


def truth(B):
    F = [[Fraction(v) for v in row] for row in B.tolist()]
    sets = [c for size in range(1, len(F) + 1) for c in combinations(range(len(F)), size)]
    return all(determinant([[F[i][j] for j in c] for i in c]) >= 0 for c in sets)


def form(B, points):
    x = [sum(map(Fraction, column), Fraction(0)) for column in points.T.tolist()]
    return sum((x[i] * Fraction(B[i, j]) * x[j] for i in range(len(x)) for j in range(len(x))), Fraction(0))


def random_edge(rng):
    """A psd matrix, exact or rounded, of any rank, nudged at one place, with columns of any size."""
    d = int(rng.integers(1, 5))
    root = rng.normal(size=(int(rng.integers(1, d + 1)), d))
    root = np.rint(3 * root) if rng.random() < 0.5 else root
    B = root.T @ root
    B = (B + B.T) / 2
    if rng.random() < 0.6:
        i, j = rng.integers(0, d, 2)
        B[i, j] += rng.choice([-1, 1]) * 2.0 ** -float(rng.integers(1, 80)) * max(np.abs(B).max(), 1)
        B[j, i] = B[i, j]
    if rng.random() < 0.5:
        s = 2.0 ** rng.integers(-250, 250, d).astype(float) if rng.random() < 0.5 else 10.0 ** rng.uniform(-75, 75, d)
        B = B * s[:, None] * s[None, :]
        B = (B + B.T) / 2
    return B


def test_random_matrices_at_the_edge():
    rng = np.random.default_rng(0)
    decided = 0
    for _ in range(1500):
        B = random_edge(rng)
        found = definiteness(FrozenArray(B))
        if found.psd is not None:
            decided += 1
            assert found.psd == truth(B), B
        if found.psd is False:
            assert found.point is not None and form(B, found.point) < 0, B
    assert decided >= 1450


@pytest.mark.parametrize(
    ("B", "psd"),
    [
        ([[1e308, 1.1e308], [1.1e308, 1e308]], False),
        ([[1e308, 0.9e308], [0.9e308, 1e308]], True),
        ([[1e6, 0.0], [0.0, -1e-9]], False),
        ([[1.0, 0.0], [0.0, -1e-15]], False),
        ([[1.0, 0.0], [0.0, -5e-324]], False),
        ([[1e300, 0.0], [0.0, 1e-300]], True),
        ([[0.0, 1e-300], [1e-300, 1.0]], False),
        ([[0.0, 0.0], [0.0, 0.0]], True),
        ([[1.0, 1.0], [1.0, 1.0]], True),
        ([[1.0, 1.0 + 2.0**-52], [1.0 + 2.0**-52, 1.0]], False),
        ([[1.0, 1.0], [1.0, 1.0 - 2.0**-53]], False),
        ([[5e-324, 5e-324], [5e-324, 5e-324]], True),
    ],
)
def test_edges(B, psd):
    found = definiteness(FrozenArray(B))
    assert found.psd is psd
    if not psd:
        assert form(np.array(B), found.point) < 0


@pytest.mark.parametrize("d", [12, 30])
def test_singular_matrices_of_whole_numbers_are_decided(d):
    root = np.random.default_rng(d).integers(-3, 4, size=(d - 3, d)).astype(float)
    B = root.T @ root
    assert definiteness(FrozenArray(B)).psd is True
    B[d - 1, d - 1] -= 2.0**-30
    found = definiteness(FrozenArray(B))
    assert found.psd is False and form(B, found.point) < 0


def test_large_matrices_are_proved_with_a_margin_refuted_or_left_open():
    rng = np.random.default_rng(0)
    U = np.linalg.qr(rng.normal(size=(90, 90)))[0]
    for lowest, answer in ((1e-3, True), (-1e-3, False)):
        B = (U * np.r_[lowest, np.ones(89)]) @ U.T
        assert definiteness(FrozenArray((B + B.T) / 2)).psd is answer
    thin = rng.normal(size=(80, 90))
    assert definiteness(FrozenArray(thin.T @ thin)).psd in (None, False)


def test_where_no_float_is_small_enough_there_is_no_point():
    found = definiteness(FrozenArray([[0.0, 1e-300], [1e-300, 1e300]]))
    assert found.psd is False and found.point is None
