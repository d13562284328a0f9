"""`hsic_test`: a test of independence of the rows of X and Y.

HSIC is the MMD between the joint distribution of (x, y) and the product of its marginals, with the kernel k(x, x') l(y, y').
Its unbiased estimate is a mean of products of entries of two centered Gram matrices. Permuting the rows of Y removes every
dependence and changes nothing else, which makes the permutation test valid for every sample size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Array, Floats, Ints
from mercer.errors import CapabilityError, InputError, NumericalError, check_choice, check_whole, readable
from mercer.inputs import Rows, is_frame
from mercer.kernels.base import Kernel
from mercer.kernels.parsing import as_kernel
from mercer.kernels.stationary import Gaussian
from mercer.numeric.spread import column_deviation
from mercer.numeric.threads import cpu_count, run
from mercer.planning import with_routes
from mercer.twosample.association import Association, of_features, of_grams
from mercer.twosample.chunks import is_chunked
from mercer.twosample.default_kernels import IGNORED, check_units
from mercer.twosample.dependent_rows import PERMUTED, RowOrders, check_blocks, choose_orders
from mercer.twosample.feature_blocks import landmark_features
from mercer.twosample.pvalues import by_quantiles
from mercer.twosample.relabeling import TIES
from mercer.twosample.result import ConfidenceInterval
from mercer.twosample.routes import all_pairs_of_hsic, hsic_routes
from mercer.twosample.scaled_grams import gram_in_units

#: Permutations per task of a thread.
PERMUTATIONS_AT_A_TIME = 32

#: Length scales of the default kernels, in units of the median distance.
FACTORS = (0.5, 1.0, 2.0)


@dataclass(frozen=True)
class PairDetail:
    """One pair of kernels: HSIC, its p-value alone, and corrected for the number of pairs."""

    kernel: Kernel
    kernel_y: Kernel
    statistic: float
    pvalue: float
    adjusted_pvalue: float
    association: Association = field(repr=False)


@dataclass(frozen=True, eq=False)
class HSICTestResult:
    """The result of `mercer.hsic_test`; unpacks into statistic and pvalue."""

    statistic: float
    pvalue: float
    details: tuple[PairDetail, ...]
    null_distribution: Floats = field(repr=False)
    n_permutations: int
    method: str
    resampling: str = "permutations"
    warnings: tuple[str, ...] = ()  # reasons to doubt the p-value
    ignored: tuple[str, ...] = ()  # constant columns

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))

    @property
    def kernel(self) -> Kernel:
        """The kernel on X of the pair with the smallest p-value."""
        return self._leading().kernel

    @property
    def kernel_y(self) -> Kernel:
        """The kernel on Y of the pair with the smallest p-value."""
        return self._leading().kernel_y

    @property
    def hsic(self) -> float:
        """HSIC of that pair."""
        return self._leading().statistic

    @property
    def effect_size(self) -> float:
        """HSIC(x, y) / sqrt(HSIC(x, x) HSIC(y, y)) of that pair: 0 for independent variables, 1 for equal features.

        The estimate may be slightly negative.
        """
        return self._leading().association.value

    def effect_interval(self, confidence_level: float = 0.95) -> ConfidenceInterval:
        """Return a normal interval for `effect_size`, limited to [0, 1]; accurate if the variables are dependent."""
        return ConfidenceInterval(*self._leading().association.interval(confidence_level))

    def _leading(self) -> PairDetail:
        return min(self.details, key=lambda detail: detail.pvalue)

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """Return the result as text."""
        best, limits = self._leading(), self.effect_interval()
        return readable("\n".join([
            f"X and Y: p = {self.pvalue:.4g} for independence ({self.n_permutations} {self.resampling})",
            f"  method       {self.method}",
            f"  kernels      {best.kernel} and {best.kernel_y}",
            f"  HSIC         {best.statistic:.6g}",
            *[f"  warning      {text}" for text in self.warnings],
            *([f"  ignored      constant: {', '.join(self.ignored)}"] if self.ignored else []),
            f"  effect size  {self.effect_size:.3g} of 1, 95 % interval {limits.low:.3g} to {limits.high:.3g}",
        ]))  # fmt: skip


@with_routes(hsic_routes)
def hsic_test(
    X: Any,
    Y: Any,
    kernel: Any = None,
    kernel_y: Any = None,
    n_permutations: int = 999,
    random_state: Any = None,
    *,
    method: str = "auto",
    n_features: int = 64,
    scale: bool = True,
    blocks: int | str | None = None,
) -> HSICTestResult:
    """Test whether paired rows of X and Y are independent, by the Hilbert-Schmidt norm of their cross-covariance.

    HSIC = mean_{i != j} of K~_ij L~_ij, times (n-1)/(n-3), with K~, L~ the Gram matrices without diagonal, centered so
    that off-diagonal rows sum to zero; p = (1 + #{>=}) / (1 + B) over permutations of the rows of Y.

    Parameters
    ----------
    X, Y : collections of the same length >= 4
        Row i of X belongs to row i of Y; the two may be of different types.
    kernel, kernel_y : Kernel, text, or sequences of the same length, optional
        Kernels on X and on Y; several pairs share one joint level. The default is Gaussian kernels at 1/2, 1 and 2 times
        the median distance.
    n_permutations, random_state
        The number of permutations and their seed.
    method : "auto", "exact" or "features"
        "features" needs memory and time linear in the rows, with `n_features` landmarks for each side.
    scale : bool
        Without a kernel, divide columns by the 75 % quantile of their deviations from the median that are not 0 (constant
        columns are ignored and named in the result). P-values then do not depend on units of columns.
    blocks : int, "auto", "shifts" or None
        For rows in the order of time that depend on their neighbors. A number permutes blocks of this many neighboring
        rows of Y. "shifts" moves Y against X by a number of places, around the end. "auto" takes shifts if rows of X and of
        Y depend on their neighbors, and permutations of rows otherwise. Without blocks, `result.warnings` reports it.

    >>> import numpy as np
    >>> from mercer import hsic_test
    >>> x = np.random.default_rng(0).normal(size=(100, 1))
    >>> hsic_test(x, x**2, random_state=0).pvalue  # uncorrelated, and far from independent
    0.001
    """
    if is_chunked(X, Y):
        raise CapabilityError(
            "hsic_test permutes the rows of Y against those of X and needs both in memory. Draw the same rows of both and "
            "compute() them."
        )
    left, right = Rows(X, "X"), Rows(Y, "Y")
    _check(left, right, n_permutations, method)
    check_blocks("hsic_test", blocks, ("auto", "shifts"))
    pairs = _pairs(kernel, kernel_y, left, right, scale)
    rng = np.random.default_rng(random_state)
    seed = int(rng.integers(2**63))
    exact = method == "exact" or (method == "auto" and all_pairs_of_hsic(len(left)))
    rule = choose_orders(blocks, pairs[len(pairs) // 2], left, right, n_permutations, seed)
    orders = None if not exact else draw_orders(seed, len(left), rule.count) if rule.name == PERMUTED else rule.all()
    columns = np.empty((len(pairs), rule.count + 1))
    peak, units = np.empty(len(pairs)), np.ones(len(pairs))
    associations = []
    for i, (k, l) in enumerate(pairs):  # noqa: E741 - k and l are what kernels on X and Y are called
        if orders is not None:
            (K, unit), (L, other) = gram_in_units(k, left), gram_in_units(l, right)
            units[i] = unit * other
            K, L = centered(K), centered(L)
            columns[i], peak[i] = _by_pairs_of_rows(K, L, orders)
            associations.append(of_grams(K, L))
        else:
            first, second = (landmark_features(one, rows, n_features, rng) for one, rows in ((k, left), (l, right)))
            sizes = [float(np.abs(features).max()) or 1.0 for features in (first, second)]
            units[i] = (sizes[0] * sizes[1]) ** 2
            columns[i], peak[i] = _by_features(first / sizes[0], second / sizes[1], rule)
            associations.append(of_features(first / sizes[0], second / sizes[1]))
    how = "all pairs of rows" if exact else f"{n_features} landmarks"
    found = _assemble(pairs, columns, TIES * peak, units, associations, how)
    ignored = _ignored(pairs[0][0], left, kernel is None) + _ignored(pairs[0][1], right, kernel_y is None)
    return replace(found, resampling=rule.name, warnings=rule.warnings, ignored=ignored)


def _assemble(
    pairs: Sequence[tuple[Kernel, Kernel]],
    columns: Floats,
    ties: Any,
    units: Any,
    associations: Sequence[Association],
    how: str,
) -> HSICTestResult:  # (q, 1 + B), (q,), (q,)
    if not np.isfinite(columns).all():  # NaN compares as smaller than every number, and p would be 0
        raise NumericalError("hsic_test: kernel values on these data give a statistic of NaN or infinity. Scale the data.")
    joint = by_quantiles(columns, ties, 0.05)
    rows = zip(pairs, columns[:, 0] * units, joint.single, joint.adjusted, associations, strict=True)
    details = tuple(PairDetail(k, m, float(s), float(p), float(a), found) for (k, m), s, p, a, found in rows)
    count = columns.shape[1] - 1
    if len(pairs) == 1:
        null = columns[0, 1:] * units[0]
        return HSICTestResult(details[0].statistic, float(joint.single[0]), details, null, count, how)
    method = f"{len(pairs)} pairs of kernels with one joint level (smallest p-value), {how}"
    return HSICTestResult(joint.statistic, joint.pvalue, details, joint.null, count, method)


def centered(K: Array) -> Floats:  # (n, n) -> (n, n)
    """Return K with zero diagonal, centered to zero off-diagonal row sums (U-centering)."""
    K = np.array(K, dtype=np.float64)
    n = len(K)
    np.fill_diagonal(K, 0.0)
    sums = K.sum(axis=1)
    K -= (sums / (n - 2))[:, None]
    K -= (sums / (n - 2))[None, :]
    K += sums.sum() / ((n - 1) * (n - 2))
    np.fill_diagonal(K, 0.0)
    return K


def draw_orders(seed: int, n: int, count: int) -> Ints:  # -> (1 + count, n)
    """Return the identity, then random permutations."""
    orders = np.tile(np.arange(n), (count + 1, 1))
    orders[1:] = np.random.default_rng(seed).permuted(orders[1:], axis=1)
    return orders


def _by_pairs_of_rows(K: Floats, L: Floats, orders: Ints) -> tuple[Floats, float]:  # both U-centered
    from mercer.twosample._compiled_sums import permuted_products

    n = len(K)
    out = np.empty(len(orders))

    def work(part: slice, _: int) -> None:
        permuted_products(K, L, orders[part], out[part])

    parts = [slice(start, start + PERMUTATIONS_AT_A_TIME) for start in range(0, len(orders), PERMUTATIONS_AT_A_TIME)]
    run(parts, work, min(cpu_count(), len(parts)))
    return out / (n * (n - 3)), float(np.abs(K).max() * np.abs(L).max())


def _by_features(left: Array, right: Array, rule: RowOrders) -> tuple[Floats, float]:
    """Return squared norms of the cross-covariance of centered features; the bias is equal for all permutations."""
    left, right = left - left.mean(axis=0), right - right.mean(axis=0)
    n, count = len(left), rule.count
    out = np.empty(count + 1)

    def work(b: int, _: int) -> None:
        # drawn where it is used, because all permutations together may not fit in memory; the first is the identity
        order: Any = rule.order(b) if b else slice(None)
        out[b] = np.square(left.T @ right[order]).sum()

    run(range(count + 1), work, cpu_count(), count + 1)
    scale = float(np.square(left).sum(axis=1).max() * np.square(right).sum(axis=1).max())
    return out / n**2, scale


def _pairs(kernel: Any, kernel_y: Any, X: Rows, Y: Rows, scale: bool) -> list[tuple[Kernel, Kernel]]:
    sides: list[list[Kernel]] = []
    for given, rows in ((kernel, X), (kernel_y, Y)):
        if given is None:
            sides.append(_default_kernels(rows, scale))
        else:
            several = given if isinstance(given, (list, tuple)) else [given]
            sides.append([as_kernel(one).resolve(rows) for one in several])
    first, second = sides
    if len(first) != len(second) and 1 in (len(first), len(second)):  # one kernel is paired with each of the other side
        first, second = first * max(1, len(second) // len(first)), second * max(1, len(first) // len(second))
    if not first or len(first) != len(second):
        raise InputError(
            f"hsic_test: {len(first)} kernels on X and {len(second)} on Y. Give equal numbers, or one for one side."
        )
    return list(zip(first, second, strict=True))


def _default_kernels(rows: Rows, scale: bool) -> list[Kernel]:
    """Return Gaussian kernels at multiples of the median distance, of columns divided by their spread if `scale`."""
    X = rows.vectors()
    if not scale or sp.issparse(X):
        median = float(Gaussian("median").resolve(rows).get_params()["length_scale"])
        return [Gaussian(factor * median) for factor in FACTORS]
    spread = column_deviation(X)
    check_units(spread, f"hsic_test, {rows.name}")
    used = spread > 0
    scaled = X[:, used] / spread[used] if used.any() else np.zeros((len(rows), 1))
    median = float(Gaussian("median").resolve(Rows(scaled, rows.name)).get_params()["length_scale"])
    columns = np.where(used, spread * median, IGNORED)
    lengths = [tuple((factor * columns).tolist()) for factor in FACTORS]
    return [Gaussian(one[0] if len(one) == 1 else one) for one in lengths]


def _ignored(kernel: Kernel, rows: Rows, default: bool) -> tuple[str, ...]:
    """Return the names of the columns that a default kernel ignores."""
    if not default:
        return ()
    lengths = np.atleast_1d(kernel.get_params()["length_scale"])
    names = list(rows.data.columns) if is_frame(rows.data) else [f"column {j}" for j in range(len(lengths))]
    return tuple(f"{names[j]} of {rows.name}" for j in np.flatnonzero(lengths >= IGNORED * FACTORS[0]).tolist())


def _check(X: Rows, Y: Rows, count: Any, method: str) -> None:
    if len(X) != len(Y):
        raise InputError(f"hsic_test: X has {len(X)} rows, Y has {len(Y)}; rows are pairs, so both need the same number.")
    if len(X) < 4:
        raise InputError(f"hsic_test: {len(X)} rows; the unbiased statistic needs at least 4.")
    check_whole("hsic_test", "n_permutations", count, 1)
    check_choice("hsic_test", "method", method, ("auto", "exact", "features"))
