"""`mmd_test`: the two-sample test by the distance of mean feature vectors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer.errors import CapabilityError, InputError
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Bundle, check_symmetric
from mercer.kernels.parsing import as_kernel
from mercer.planning import with_routes
from mercer.twosample.chunks import chunk_test, is_chunked
from mercer.twosample.default_kernels import Scales, as_float32, default_scales, object_kernels, scale_kernels
from mercer.twosample.dependent_rows import (
    SerialDependence,
    block_gram,
    block_size,
    check_blocks,
    contiguous,
    dependence_of_rows,
    serial_warning,
)
from mercer.twosample.relabeling import (
    MMDOptions,
    check,
    choose_labels,
    choose_method,
    compare_blocks,
    feature_test,
    relabeling_test,
    with_units,
)
from mercer.twosample.result import MMDTestResult
from mercer.twosample.routes import mmd_routes
from mercer.twosample.samples import Pooled, pool
from mercer.twosample.scaled_grams import ScaledGrams, StoredGrams, refuse_underflow, widened

#: Largest number of kernel values of a test with blocks; beyond it, features approximate the kernels.
MOST_BLOCK_VALUES = 4e9


@with_routes(mmd_routes)
def mmd_test(
    X: Any,
    Y: Any,
    kernel: Any = None,
    n_permutations: int = 1999,
    random_state: Any = None,
    *,
    biased: bool = False,
    aggregation: str = "quantile",
    resampling: str = "auto",
    method: str = "auto",
    level: float = 0.05,
    early_stopping: bool = False,
    n_features: int = 128,
    scale: bool = True,
    blocks: int | str | None = None,
) -> MMDTestResult:
    """Test whether X and Y come from one distribution, by the squared distance of their mean feature vectors.

    MMD^2 = mean_{i != j} k(x_i, x_j) + mean_{i != j} k(y_i, y_j) - 2 mean_{i, j} k(x_i, y_j), and
    p = (1 + #{relabeled >= observed}) / (1 + B): valid for every sample size and every kernel.

    Parameters
    ----------
    X, Y : collections
        Two samples of one type, of any sizes >= 2: arrays, CSR, data frames, lists of strings or graphs; or `chunks`, Dask
        arrays, data frames or bags, whose test has the relabelings and the p-value of the same rows in memory.
    kernel : Kernel, text, or a sequence of them, optional
        Several kernels share one joint level. The default is Gaussian and Laplacian kernels at ten length scales each
        (for strings: Spectrum kernels of p = 1 … 4).
    n_permutations : int
        B, the number of relabelings.
    random_state : int, Generator or None
        The seed of the relabelings.
    biased : bool
        Test with the biased MMD^2, which keeps the diagonal.
    aggregation : "quantile" or "softmax"
        How several kernels make one statistic: minus the logarithm of the smallest p-value (MMDAgg), or the soft
        maximum of the standardized MMD^2 (MMD-FUSE).
    resampling : "auto", "permutations" or "swaps"
        "swaps" exchanges x_i and y_i at random, for equal sizes, at a quarter of the work. "auto" uses swaps if possible.
    method : "auto", "exact" or "features"
        "exact" evaluates all pairs of rows; "features" needs time and memory linear in the rows, with `n_features`
        random frequencies per family (or landmarks, for other kernels), and relabels blocks of rows.
    level : float
        Level of the test in the summary, the power and early stopping.
    early_stopping : bool
        Stop drawing when p > level is certain (Besag and Clifford's sequential p-value, still valid). Several kernels
        are then aggregated by the smallest p-value, measured against 499 relabelings drawn first.
    n_features : int
        Size of the approximation of method="features".
    scale : bool
        Without a kernel, divide columns by the 75 % quantile of their deviations from the pooled median that are not 0
        (constant columns are ignored and named in the result). P-values then do not depend on units of columns.
    blocks : int, "auto" or None
        For rows in the order of time that depend on their neighbors: relabel blocks of this many neighboring rows, and
        leave pairs of rows inside one block out of the statistic. "auto" takes ten times the correlation time, and at
        most an eighth of the smaller sample. Without blocks, `result.warnings` reports rows that are like their neighbors.

    >>> import numpy as np
    >>> from mercer import Linear, mmd_test
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(40, 2)), rng.normal(1.0, 1.0, size=(50, 2))
    >>> result = mmd_test(X, Y, Linear(), random_state=0)
    >>> bool(np.isclose(result.mmd2_biased, ((X.mean(axis=0) - Y.mean(axis=0)) ** 2).sum()))
    True
    >>> result.pvalue
    0.0005
    """
    chosen = MMDOptions(
        n_permutations, biased, aggregation, resampling, method, level, early_stopping, n_features, scale, blocks
    )
    return _test(X, Y, kernel, chosen, random_state)


def _test(X: Any, Y: Any, kernel: Any, chosen: MMDOptions, random_state: Any) -> MMDTestResult:
    given = _given(kernel)
    check_blocks("mmd_test", chosen.blocks, ("auto",))
    if is_chunked(X, Y):
        if chosen.blocks is not None:
            raise CapabilityError("mmd_test: blocks= needs rows in memory. Compute the collections, or draw every k-th row.")
        return chunk_test(X, Y, given, chosen, random_state)
    pooled = pool(X, Y, tokens=any(node.domain in ("strings", "graphs") for one in given for node in one.walk()))
    check(chosen, pooled)
    rng = np.random.default_rng(random_state)
    scales = None if given else default_scales(pooled, rng, chosen.scale)
    if given:
        kernels = tuple(one.resolve(pooled.rows) for one in given)
    else:
        kernels = object_kernels(pooled.rows.data) if scales is None else scale_kernels(scales, pooled.kind)
    seed = int(rng.integers(2**63))
    serial = _serial(pooled, kernels)
    if chosen.blocks is not None:
        return with_units(_block_test(pooled, kernels, kernel is None, chosen, rng, seed, serial), scales, pooled)
    return replace(_row_test(pooled, kernels, kernel is None, scales, chosen, rng, seed), warnings=_warnings(serial))


def _serial(pooled: Pooled, kernels: tuple[Kernel, ...]) -> tuple[SerialDependence, ...]:
    """Measure the dependence of the rows of X, and of those of Y, on their neighbors."""
    middle = kernels[max(0, len(kernels) // 2 - 1)]  # of the default kernels the widest Gaussian, which sees slow changes
    parts = np.arange(pooled.m), np.arange(pooled.m, pooled.m + pooled.n)
    return tuple(dependence_of_rows(middle, pooled.rows.take(part)) for part in parts)


def _warnings(serial: tuple[SerialDependence, ...]) -> tuple[str, ...]:
    found = [(name, one) for name, one in zip(("X", "Y"), serial, strict=True) if one.significant]
    if not found:
        return ()
    return (serial_warning(" and ".join(name for name, _ in found), max((one for _, one in found), key=lambda o: o.time)),)


def _block_test(
    pooled: Pooled,
    kernels: tuple[Kernel, ...],
    default: bool,
    chosen: MMDOptions,
    rng: np.random.Generator,
    seed: int,
    serial: tuple[SerialDependence, ...],
) -> MMDTestResult:
    """Return the test that relabels blocks of neighboring rows."""
    size, warnings = block_size(chosen.blocks or 1, serial, min(pooled.m, pooled.n))
    layout = contiguous(pooled.m, pooled.n, size)
    if chosen.method == "features" or len(kernels) * (pooled.m + pooled.n) ** 2 > MOST_BLOCK_VALUES:
        found = feature_test(pooled, None if default else kernels, chosen, rng, seed, layout)
    else:
        arrays = [block_gram(one, pooled.rows, layout) for one in kernels]
        grams = StoredGrams(kernels, arrays)
        found = compare_blocks(
            pooled, pooled.rows, grams, layout, chosen, rng, seed, "all pairs of rows of different blocks"
        )
    return replace(found, block=size, warnings=warnings)


def _row_test(
    pooled: Pooled,
    kernels: tuple[Kernel, ...],
    default: bool,
    scales: Scales | None,
    chosen: MMDOptions,
    rng: np.random.Generator,
    seed: int,
) -> MMDTestResult:
    """Return the test that relabels rows."""
    if choose_method(chosen, pooled, len(kernels)) == "features":
        return feature_test(pooled, None if default else kernels, chosen, rng, seed)
    # ranks of the default vector kernels need no digits beyond float32
    bundle = Bundle(*((kernels, widened(pooled.rows)) if scales is None else as_float32(pooled, scales)))
    check_symmetric(bundle)
    matrices = ScaledGrams(bundle, kernels)
    refuse_underflow(kernels, matrices.diag(), pooled.rows)
    labels = choose_labels(chosen.resampling, pooled.m, pooled.n)
    found = relabeling_test(pooled, matrices, labels, chosen, rng, seed, "all pairs of rows")
    return with_units(found, scales, pooled)


def _given(kernel: Any) -> tuple[Kernel, ...]:
    """Return the given kernels; an empty tuple for the default."""
    if kernel is None:
        return ()
    kernels = tuple(as_kernel(one) for one in (kernel if isinstance(kernel, (list, tuple)) else [kernel]))
    if not kernels:
        raise InputError("mmd_test: kernel is an empty list. Give at least one kernel, or None for the default kernels.")
    if len(set(kernels)) < len(kernels):
        raise InputError("mmd_test: a kernel is given twice. The kernels of an aggregated test must differ.")
    return kernels
