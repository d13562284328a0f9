"""The linear-time route against the exact one, and its parts against obvious twins."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from mercer import Gaussian, Laplacian, Linear, Polynomial, Spectrum, ci_test, hsic_test, plan, relative_test
from mercer.errors import InputError
from mercer.inputs import Rows
from mercer.twosample import feature_blocks, mmd_test, routes
from mercer.twosample.default_kernels import Scales, length_scales


def _averaged(K, layout):
    """The means of a Gram matrix over pairs of blocks, by an averaging matrix."""
    average = np.zeros((len(layout.index), len(K)))
    for block, rows in enumerate(layout.index):
        average[block, rows] = 1.0 / len(rows)
    return average @ K @ average.T


def test_blocks_partition_the_rows():
    layout = feature_blocks.lay_out(1030, 2100, np.random.default_rng(0))
    assert layout.index.shape == (layout.m + layout.n, 4)
    rows = layout.index.ravel()
    assert len(np.unique(rows)) == len(rows)
    assert (layout.index[: layout.m] < 1030).all() and (layout.index[layout.m :] >= 1030).all()


def test_octaves_are_cosines_and_sines():
    from mercer.twosample._compiled_sums import add_octaves

    angles = np.random.default_rng(0).uniform(-3, 3, (50, 7))
    out = np.zeros((8, 14))
    light = angles.astype(np.float32)
    add_octaves(np.cos(light), np.sin(light), out)
    for level in range(8):
        expected = np.concatenate([np.cos(2**level * angles).sum(axis=0), np.sin(2**level * angles).sum(axis=0)])
        assert np.abs(out[level] - expected).max() < 1e-4 * 2**level


def test_random_waves_approach_the_kernels():
    """Blocks of one row: the Gram matrix of waves is the kernel's, with an error that falls with the frequencies."""
    X = np.random.default_rng(0).normal(size=(40, 3))
    layout = feature_blocks.BlockLayout(np.arange(40)[:, None], 20, 20)
    scales = Scales((0.75, 1.5, 3.0), (2.0, 4.0))
    grams = feature_blocks.fourier_grams(X, scales, layout, 8000, np.random.default_rng(1))
    for kernel, found in zip(scales.kernels(), grams, strict=True):
        assert np.abs(found - kernel(X)).max() < 0.08, kernel


def test_octaves_cover_the_scales():
    scales = length_scales(np.random.default_rng(0).normal(size=(200, 3)), np.random.default_rng(0))
    found = feature_blocks.octaves(scales)
    for wanted, got in ((scales.gaussian, found.gaussian), (scales.laplacian, found.laplacian)):
        assert got[-1] == wanted[-1] and got[0] <= wanted[0] * (1 + 1e-9)
        assert np.allclose(np.diff(np.log2(got)), 1.0)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(degree=2, offset=1.0)])
def test_explicit_features_lose_only_pairs_within_blocks(kernel):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    layout = feature_blocks.lay_out(300, 300, rng)
    found = feature_blocks.gram_of_kernel(kernel, Rows(X), layout, 8, rng)
    K = kernel(X)
    expected = _averaged(K, layout)
    assert np.abs(found - expected).max() < 1e-12 * np.abs(K).max()


def test_sparse_features_and_landmarks_agree_with_the_kernel():
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("AB"), 6)) for _ in range(520)]
    layout = feature_blocks.lay_out(260, 260, rng)
    K = Spectrum(2)(words)
    expected = _averaged(K, layout)
    assert np.abs(feature_blocks.gram_of_kernel(Spectrum(2), Rows(words), layout, 8, rng) - expected).max() < 1e-12
    X = rng.normal(size=(520, 1))
    K = Gaussian(1.0)(X)
    expected = _averaged(K, layout)
    assert np.abs(feature_blocks.gram_of_kernel(Gaussian(1.0), Rows(X), layout, 60, rng) - expected).max() < 1e-3


def test_both_routes_find_the_same():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(900, 3)), rng.normal(size=(900, 3)) * [1.25, 1.0, 1.0]
    exact = mmd_test(X, Y, n_permutations=199, random_state=0, method="exact")
    quick = mmd_test(X, Y, n_permutations=199, random_state=0, method="features")
    assert exact.pvalue <= 0.01 and quick.pvalue <= 0.01
    assert "blocks of 3 rows" in quick.method and "swaps of blocks" in str(quick)
    one = mmd_test(X, Y, Laplacian(3.0), n_permutations=99, random_state=0, method="exact")
    two = mmd_test(X, Y, Laplacian(3.0), n_permutations=99, random_state=0, method="features", n_features=400)
    assert abs(one.mmd2 - two.mmd2) < 0.3 * one.mmd2
    Z = np.random.default_rng(5).normal(size=(2000, 3))
    same = mmd_test(Z[:600], Z[600:], n_permutations=199, random_state=0, method="features")
    assert same.pvalue > 0.05 and "permutations of blocks" in str(same)


def test_memory_is_linear_in_the_rows():
    rng = np.random.default_rng(0)

    def peak(n):
        X, Y = rng.normal(size=(n, 2)).astype(np.float32), rng.normal(size=(n, 2)).astype(np.float32)
        mmd_test(X[:600], Y[:600], n_permutations=9, method="features", n_features=16)
        tracemalloc.start()
        mmd_test(X, Y, n_permutations=49, random_state=0, method="features", n_features=16)
        bytes_used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return bytes_used

    small, large = peak(20_000), peak(80_000)
    assert large < small + 60_000 * 2 * (2 * 4 * 3 + 8 * 4)  # copies of the data and row numbers, nothing quadratic


def test_the_route_is_chosen_by_the_work(monkeypatch):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(600, 2)), rng.normal(size=(600, 2))
    assert "all pairs" in mmd_test(X, Y, n_permutations=49, random_state=0).method
    assert plan(mmd_test, X, Y).route.solver == "exact"
    monkeypatch.setattr(routes, "EXACT_WORK", 1e6)
    assert "blocks" in mmd_test(X, Y, n_permutations=49, random_state=0).method
    assert plan(mmd_test, X, Y).route.solver == "features"


def test_a_plan_of_a_test_has_its_memory_and_the_other_route():
    rng = np.random.default_rng(0)
    X = np.zeros((100_000, 1))
    found = plan(mmd_test, X, X)
    assert found.route.solver == "features" and [one.solver for one in found.offered] == ["features", "exact"]
    assert found.offered[1].seconds > 20 * found.seconds and found.bytes < 2**27
    assert "time linear in the rows" in str(found) and "all pairs of rows" in str(found)
    assert [plan(hsic_test, X[:n], X[:n]).route.solver for n in (4000, 4001)] == ["exact", "features"]
    assert [plan(ci_test, X[:n]).route.solver for n in (200, 201)] == ["exact", "landmarks"]
    A, B = rng.normal(size=(2, 300, 2))
    mmd_test(A, B, random_state=0)
    tracemalloc.start()
    mmd_test(A, B, random_state=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 2 * plan(mmd_test, A, B).bytes
    with pytest.raises(
        InputError, match=r"relative_test has no routes. Give a mercer estimator or one of the tests .*mmd_test"
    ):
        plan(relative_test, X)


@pytest.mark.slow
def test_a_million_rows_on_each_side():
    rng = np.random.default_rng(0)
    X, Y = (rng.normal(size=(10**6, 10)).astype(np.float32) for _ in range(2))
    Y[:, 0] *= 1.01
    result = mmd_test(X, Y, n_permutations=999, random_state=0)
    print(f"\n{result}")
    assert result.pvalue <= 0.05
