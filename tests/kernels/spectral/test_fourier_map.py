"""The map x -> z(x): the compiled cosines, phases far from zero, odd numbers of columns, sparse rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.kernels.spectral import fourier_map
from mercer.kernels.spectral.fourier_map import FourierMap


def naive(mapping: FourierMap, X: np.ndarray) -> np.ndarray:
    """z(x) by its formula, in extended precision."""
    phase = (X.astype(np.longdouble) - mapping.center) @ mapping.frequencies.T.astype(np.longdouble)
    p, root = mapping.n_pairs, np.sqrt(mapping.weights)
    parts = [np.cos(phase[:, :p]) * root[:p], np.sin(phase[:, :p]) * root[:p]]
    parts.append(np.sqrt(2.0) * np.cos(phase[:, p:] + mapping.phases) * root[p:])
    return np.hstack(parts)


def a_map(rng: np.random.Generator, d: int, m: int, singles: int, scale: float = 1.0) -> FourierMap:
    return FourierMap(rng.normal(size=(m, d)) * scale, rng.random(m) / m, rng.normal(size=d), rng.random(singles) * 6.0)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("singles", [0, 1, 7])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_formula(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator, dtype: type, singles: int, compiled: bool
) -> None:
    monkeypatch.setattr("mercer.numeric.compiling.LOADING", 0 if compiled else 1 << 60)
    mapping, X = a_map(rng, 3, 7, singles), rng.normal(size=(50, 3)).astype(dtype)
    Z = mapping(X)
    assert Z.dtype == dtype and Z.shape == (50, 14 - singles)
    assert np.abs(Z - naive(mapping, X)).max() < 20 * np.finfo(dtype).eps


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_phases_of_many_turns(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator, dtype: type, compiled: bool
) -> None:
    """Rows far apart and high frequencies: a float32 phase would have no digits left."""
    monkeypatch.setattr("mercer.numeric.compiling.LOADING", 0 if compiled else 1 << 60)
    mapping = a_map(rng, 2, 8, 0, scale=1e4)
    X = (rng.normal(size=(40, 2)) * 1e3).astype(dtype)
    assert np.abs(mapping(X) - naive(mapping, X)).max() < (1e-6 if dtype == np.float32 else 1e-7)


def test_rows_far_from_zero_in_float32(rng: np.random.Generator) -> None:
    X = (rng.normal(size=(100, 3)) + 1e6).astype(np.float32)
    w = rng.normal(size=(500, 3))
    mapping = FourierMap(w, np.full(500, 1 / 500), X.mean(axis=0, dtype=np.float64), np.empty(0))
    Z = mapping(X).astype(np.float64)
    exact = np.cos((X.astype(np.float64)[:, None, :] - X.astype(np.float64)) @ w.T).mean(axis=2)
    assert np.abs(Z @ Z.T - exact).max() < 1e-6


def test_sparse_rows(rng: np.random.Generator) -> None:
    X = sp.random_array((30, 40), density=0.1, format="csr", random_state=rng)
    mapping = FourierMap(rng.normal(size=(6, 40)), np.full(6, 0.5), np.zeros(40), np.empty(0))
    assert np.abs(mapping(X) - mapping(X.toarray())).max() < 1e-13


def test_blocks_of_rows_are_the_whole(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    mapping, X = a_map(rng, 3, 10, 1), rng.normal(size=(101, 3))
    whole = mapping(X)
    monkeypatch.setattr(fourier_map, "CACHED_NUMBERS", 1)
    assert np.abs(mapping(X) - whole).max() < 1e-15
