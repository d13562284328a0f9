"""From a numerical suspicion to something a person can check: few points, round coordinates, a vector of small numbers."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

import numpy as np

from mercer.arrays import Floats

#: Denominators tried for the entries of c: (1, -2, 1) reads better than (0.41, -0.82, 0.41).
MULTIPLES = (1, 2, 3, 4, 5, 6, 8, 10, 12)


def scaled(K: Floats) -> Floats:
    """D S D with S the symmetric part of K and a diagonal near 1: psd exactly when S is, but free of its scale."""
    S = (K + K.T) / 2.0
    diag = np.abs(np.diagonal(S))
    root = np.sqrt(np.maximum(diag, max(1e-10 * np.abs(S).max(initial=0.0), 1e-300)))
    return S / np.outer(root, root)


def lowest(K: Floats) -> tuple[float, Floats]:
    """The smallest eigenvalue of the scaled matrix, and the vector c that makes c'Kc negative if it is."""
    S = (K + K.T) / 2.0
    eigenvalues, vectors = np.linalg.eigh(scaled(K))
    root = np.sqrt(np.maximum(np.abs(np.diagonal(S)), max(1e-10 * np.abs(S).max(initial=0.0), 1e-300)))
    return float(eigenvalues[0]), vectors[:, 0] / root


def reduced(K: Floats) -> list[int]:
    """A small set of points that still has a clearly negative eigenvalue."""
    low, v = lowest(K)
    order = np.argsort(-np.abs(v * np.sqrt(np.abs(np.diagonal(K)))))
    chosen = order.tolist()
    for size in (4, 6, 8, 12, 16, 24, 40):
        part = order[:size].tolist()
        if lowest(K[np.ix_(part, part)])[0] < 0.1 * low:
            chosen = part
            break
    while len(chosen) > 1:
        shorter = [[i for i in chosen if i != j] for j in chosen]
        lows = [lowest(K[np.ix_(part, part)])[0] for part in shorter]
        best = int(np.argmin(lows))
        if lows[best] >= 0.1 * low:
            break
        chosen = shorter[best]
    return sorted(chosen)


def simple_vectors(v: Floats, K: Floats) -> Iterator[Floats]:
    """Vectors of small whole numbers near v with c'Kc clearly below 0, the simplest first, and then v itself."""
    v = v / np.abs(v).max()
    v = v if v[np.flatnonzero(v)[0]] > 0 else -v
    target = 0.3 * _rayleigh(v, K)
    tried = 0
    for q in MULTIPLES:
        c = np.rint(q * v)
        if (c == 0).any():  # a point that is not used would stand there for nothing
            continue
        c = c / gcd(*[int(x) for x in c])
        if _rayleigh(c, K) < target:
            yield c
            tried += 1
        if tried == 2:
            break
    yield np.round(v, 3) if (np.round(v, 3) != 0).all() else v
    yield v


def _rayleigh(c: Floats, K: Floats) -> float:
    """c'Kc in units of the diagonal."""
    size = float(np.abs(np.diagonal(K)) @ c**2) or float(np.abs(K).max(initial=0.0) * (c @ c)) or 1.0
    return float(c @ K @ c) / size


def rounded(points: Floats) -> Iterator[Floats]:
    """The same points with few decimals, as long as they stay different points."""
    for decimals in (0, 1, 2, 3):
        near = np.round(points, decimals) + 0.0
        if len(np.unique(near, axis=0)) == len(points):
            yield near
