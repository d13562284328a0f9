"""Points: vectors encoded for distances, with a common center removed, because large offsets would cost digits.

||x - z||^2 = ||x||^2 + ||z||^2 - 2 x'z is one matrix product of the augmented rows [x, ||x||^2, 1] and [-2z, 1, ||z||^2].
Its rounding error is a few eps (||x||^2 + ||z||^2). This is small for distant pairs and larger than the distance of near
duplicates, so small values are computed again from the differences if the caller needs that accuracy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Array, Floats
from mercer.errors import InputError, warn
from mercer.numeric.encodings import DENSE_WIDTH, FloatRows, Index, check_width, dense, inner, same_dtype, squared_norms

#: Nanoseconds that the compiled exponential saves per kernel value: a matrix of 2^22 entries is worth its loading.
#: Row: gaussian-gram-*.
PER_VALUE = 2


def exp_scaled(values: Array, factor: float, compiled: bool, out: Array | None = None) -> Array:
    """Return exp(factor values) for factor values <= 0; `out` may be `values` itself."""
    if compiled and values.flags.c_contiguous:
        from mercer.numeric._compiled_points import exp_float32, exp_float64

        result = np.empty_like(values) if out is None else out
        if values.dtype == np.float64:
            exp_float64(values.reshape(-1), float(factor), result.reshape(-1))
        else:
            exp_float32(values.reshape(-1), np.float32(factor), result.reshape(-1))
        return result
    result = np.multiply(values, values.dtype.type(factor), out=out)
    return np.exp(result, out=result)


def exp_plain(values: Array, factor: float, out: Array | None = None) -> Array:
    """exp(factor values) by NumPy."""
    return exp_scaled(values, factor, False, out)


#: Squared distances below this fraction of ||x||^2 + ||z||^2 are computed from differences if accuracy requires it.
#: Row: gaussian-gram-*-narrow.
NEAR = 0.01

#: Up to this many columns differences are as cheap as a matrix product, and exact. Row: gaussian-gram-*.
FEW_COLUMNS = 3


#: With so few rows on one side, differences cost less than preparing the other side for products.
FEW_ROWS = 2


class Points(FloatRows):
    """A collection of vectors, scaled per column (`scale`, for ARD) and shifted by a common center.

    The shifted and augmented form is computed on first use: a single new row is compared without it.
    """

    __slots__ = ("_form", "_shift", "raw", "scale")

    def __init__(self, raw: Any, scale: Floats | None = None, shift: Array | Points | None = None) -> None:
        self.raw, self.scale, self._shift = raw, scale, shift  # the shift may be that of other points
        self._form: _Form | None = None

    @property
    def form(self) -> _Form:
        """The form for products; two threads that compute it at the same time get equal results."""
        if self._form is None:
            given = self._shift
            self._form = _Form(self.raw, self.scale, given.shift if isinstance(given, Points) else given)
            self._shift = self._form.shift  # the other points are not kept for it
        return self._form

    @property
    def shift(self) -> Any:  # (d,)
        """The center that was subtracted from every row."""
        return self.form.shift

    @property
    def dtype(self) -> Any:
        """The dtype of the kernel values."""
        return self.raw.dtype

    @property
    def array(self) -> Any:  # (n, d)
        """The shifted and scaled rows."""
        return self.form.array

    @property
    def plain(self) -> Any:  # (n, d)
        """Rows whose differences are accurate: the given ones, because a shift rounds; if scaled, the shifted ones."""
        array = self.array  # raises if values overflow
        return self.raw if self.scale is None else array

    @property
    def norms(self) -> Floats:  # (n,)
        """The squared norms of the rows."""
        return self.form.norms

    @property
    def reach(self) -> float:
        """The largest squared norm."""
        return self.form.reach

    def __len__(self) -> int:
        return int(self.raw.shape[0])

    def take(self, rows: Index) -> Points:
        return Points(self.raw[rows], self.scale, self)

    def align(self, other: Points) -> tuple[Points, Points]:
        """Return both sides with one dtype and one shift; the smaller side is shifted again."""
        check_width(self.raw, other.raw)
        left, right = same_dtype(self.raw, other.raw)
        if sp.issparse(left) and sp.issparse(right):
            return Points(left, self.scale), Points(right, other.scale)
        left, right = (dense(left) if sp.issparse(left) else left), (dense(right) if sp.issparse(right) else right)
        if len(self) >= len(other):
            first = self if left is self.raw else Points(left, self.scale)
            return first, Points(right, other.scale, first)
        first = other if right is other.raw else Points(right, other.scale)
        return Points(left, self.scale, first), first


#: The center is computed from at most about this many evenly spaced rows.
CENTER_ROWS = 100


def center(raw: Array) -> Array:  # (n, d) -> (d,)
    """Return the lower median of every column: a value of the data, which few outliers cannot change much.

    Subtracting it rounds by at most eps / 2 of the distance from it: a mean moved by one outlier would cost all other rows
    their digits. Whole numbers stay whole.

    >>> center(np.array([[1.0], [2.0], [3.0], [1e9]])).tolist()
    [2.0]
    """
    sample = raw[:: max(1, len(raw) // CENTER_ROWS)]
    middle = (len(sample) - 1) // 2
    return np.asarray(np.partition(sample, middle, axis=0)[middle])


class _Form:
    """Rows shifted by their center, or by that of the others, and augmented for one product."""

    __slots__ = ("array", "left", "norms", "reach", "right", "shift")

    def __init__(self, raw: Any, scale: Floats | None, shift: Array | None) -> None:
        if sp.issparse(raw):  # shifting would fill a sparse array; its offset is zero by nature
            self.shift = None
            self.array = raw if scale is None else (raw @ sp.diags_array(1.0 / scale)).tocsr().astype(raw.dtype)
        else:
            self.shift = center(raw) if shift is None else shift
            self.array = raw - self.shift
            if scale is not None:
                self.array *= (1.0 / scale).astype(raw.dtype)
        self.norms = squared_norms(self.array)
        self.reach = float(self.norms.max())
        if not self.reach < 0.1 * float(np.finfo(raw.dtype).max):
            largest = max(abs(raw).max(), abs(self.array).max())
            raise InputError(f"values up to {largest:.1e} overflow when squared in {raw.dtype}; scale the columns.")
        self.left, self.right = None, None
        if not sp.issparse(raw) and raw.shape[1] > FEW_COLUMNS:
            self._augment()

    def _augment(self) -> None:
        n, d = self.array.shape
        left, right = np.empty((2, n, d + 2), self.array.dtype)
        left[:, :d], left[:, d], left[:, d + 1] = self.array, self.norms, 1.0
        np.multiply(self.array, -2.0, out=right[:, :d])
        right[:, d], right[:, d + 1] = 1.0, self.norms
        self.left, self.right, self.array = left, right, left[:, :d]  # the view frees one copy


def few(A: Points, B: Points) -> bool:
    """Whether one of two collections has so few rows that distances are taken from differences."""
    return A is not B and min(len(A), len(B)) <= FEW_ROWS and not (sp.issparse(A.raw) or sp.issparse(B.raw))


def squared_distances(
    A: Points, rows: slice, B: Points, cols: slice, refine: bool, compiled: bool = False
) -> Array:  # (n, d), (m, d) -> (n, m)
    """Return ||a_i - b_j||^2 / scale^2 for two slices: never negative, and zero where A and B are the same row."""
    if few(A, B):
        return _by_rows(A, rows, B, cols) if len(A) <= len(B) else _by_rows(B, cols, A, rows).T
    left, right = A.form.left, B.form.right
    if left is None and not sp.issparse(A.array):
        return _by_columns(A.plain[rows], B.plain[cols])
    if left is not None and right is not None:
        values = left[rows] @ right[cols].T
    else:
        values = inner(A.array[rows], B.array[cols])
        values *= -2.0
        values += A.norms[rows, None].astype(values.dtype)
        values += B.norms[None, cols].astype(values.dtype)
    if A is B:
        _zero_common(values, rows, cols)  # now: a negative value would start a comparison of the whole tile
    # by pairs, not by the longest row of all: a few outliers must not send every pair through the differences
    limits, others = (NEAR * A.norms[rows], NEAR * B.norms[cols]) if refine else (np.zeros(n) for n in values.shape)
    if compiled and left is not None:
        from mercer.numeric._compiled_points import recompute_below

        # contiguous in any case, so that one compiled form is enough
        a, b = np.ascontiguousarray(A.plain[rows]), np.ascontiguousarray(B.plain[cols])
        recompute_below(values, limits.astype(values.dtype), others.astype(values.dtype), a, b)
    else:
        _recompute_below(values, limits, others, _rows_for_differences(A, rows), _rows_for_differences(B, cols))
    return values


def _by_rows(A: Points, rows: slice, B: Points, cols: slice) -> Array:  # few rows of A
    a, b = A.raw[rows], B.raw[cols]
    values = np.empty((len(a), len(b)), a.dtype)
    factor = None if A.scale is None else (1.0 / A.scale).astype(a.dtype)
    for i, row in enumerate(a):
        difference = b - row
        if factor is not None:
            difference *= factor
        np.einsum("ij,ij->i", difference, difference, out=values[i])
    if not values.max(initial=0.0) < 0.1 * float(np.finfo(a.dtype).max):
        A.form, B.form  # noqa: B018 - raises if values overflow
    return values


def _by_columns(a: Array, b: Array) -> Array:
    values = np.subtract.outer(a[:, 0], b[:, 0])
    values *= values
    for k in range(1, a.shape[1]):
        difference = np.subtract.outer(a[:, k], b[:, k])
        difference *= difference
        values += difference
    return values


def _zero_common(values: Array, rows: slice, cols: slice) -> None:
    start, stop = max(rows.start, cols.start), min(rows.stop, cols.stop)
    if start < stop:
        common = np.arange(start, stop)
        values[common - rows.start, common - cols.start] = 0.0


def _recompute_below(values: Array, limits: Array, others: Array, a: Any, b: Any) -> None:
    """Replace values[i, j] < limits[i] + others[j] by sums of squared differences, in place; negative ones always."""
    if values.min(initial=0.0) >= 0.0 and not limits.any() and not others.any():
        return  # nothing is below: one cheap look instead of a comparison of every value
    i, j = np.nonzero(values < np.add.outer(limits, others).astype(values.dtype))
    # pairs are taken in portions, so that the differences of a tile full of duplicates stay small
    step = max(1, 2**18 // a.shape[1])
    for start in range(0, len(i), step):
        part = slice(start, start + step)
        difference = a[i[part]] - b[j[part]]
        values[i[part], j[part]] = squared_norms(difference)


def _rows_for_differences(points: Points, rows: slice) -> Any:
    block = points.plain[rows]
    return dense(block) if sp.issparse(block) and block.shape[1] <= DENSE_WIDTH else block


def manhattan_distances(A: Points, rows: slice, B: Points, cols: slice) -> Array:  # (n, d), (m, d) -> (n, m)
    """Return sum_k |a_ik - b_jk| / scale_k for two slices."""
    from mercer.numeric._compiled_points import manhattan

    a, b = A.plain[rows], B.plain[cols]
    out = np.empty((len(a), len(b)), a.dtype)
    # the loop runs along columns of b, so that neighboring results are neighbors in memory and the compiler vectorizes
    manhattan(a, np.ascontiguousarray(b.T), out)
    return out


def power_sums(A: Points, rows: slice, B: Points, cols: slice, norm: float) -> Array:  # (n, d), (m, d) -> (n, m)
    """Return sum_k (|a_ik - b_jk| / scale_k)^norm for two slices."""
    from mercer.numeric._compiled_points import power_sums as fill

    a, b = A.plain[rows], B.plain[cols]
    out = np.empty((len(a), len(b)), a.dtype)
    fill(a, np.ascontiguousarray(b.T), norm, out)
    return out


def power_slopes(a: Array, b: Array, W: Array, norm: float) -> Array:
    # (n, d), (m, d), (n, m) -> (n, d)
    """Return sum_j W_ij |a_ik - b_jk|^(norm - 1) sign(a_ik - b_jk): slopes of ||a - b||_p^p / p, weighted."""
    if norm == 2.0:
        return W.sum(axis=1)[:, None] * a - W @ b
    from mercer.numeric._compiled_points import absolute_slopes, power_slopes

    out = np.zeros(a.shape)
    if norm == 1.0:
        absolute_slopes(np.ascontiguousarray(a), np.ascontiguousarray(b), W, out)
    else:
        power_slopes(np.ascontiguousarray(a), np.ascontiguousarray(b), W, norm, out)
    return out


def weighted_sums(a: Array, b: Array, W: Array, norm: float) -> Floats:
    # (n, d), (m, d), (n, m) -> (d,)
    """Return sum_ij W_ij |a_ik - b_jk|^norm for every column k."""
    if norm == 1.0:
        from mercer.numeric._compiled_points import absolute_sums

        out = np.zeros(a.shape[1])
        absolute_sums(np.ascontiguousarray(a), np.ascontiguousarray(b), W, out)
        return out
    return np.array([np.vdot(W, np.abs(np.subtract.outer(a[:, k], b[:, k])) ** norm) for k in range(a.shape[1])])


#: At most this many rows are compared, chosen with a fixed seed, so that the same data give the same number.
SAMPLE, SEED = 1000, 0


def median_distance(X: Any, metric: str, weights: Array | None = None) -> float:  # (n, d), (n,) -> number
    """Return the median "euclidean" or "manhattan" distance between rows, zeros left out; 1.0 if none is left."""
    from scipy.spatial.distance import pdist

    rows = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights)
    if len(rows) > SAMPLE:
        rows = rows[np.sort(np.random.default_rng(SEED).choice(len(rows), SAMPLE, replace=False))]
    sample, unit = in_units(dense(X[rows]))
    distances = unit * pdist(sample, "euclidean" if metric == "euclidean" else "cityblock")
    apart = distances > 0
    if not apart.any():
        warn('length_scale="median": all rows are equal, so 1.0 is taken.')
        return 1.0
    if weights is None:
        return float(np.median(distances[apart]))
    i, j = np.triu_indices(len(rows), 1)
    return weighted_median(distances[apart], (weights[rows[i]] * weights[rows[j]])[apart])


def in_units(sample: Array) -> tuple[Floats, float]:  # (n, d) -> (n, d), number
    """Return the rows in units of their largest value, and that unit: squares of 1e200 would overflow."""
    sample = sample.astype(np.float64)
    unit = float(np.abs(sample).max(initial=0.0))
    # a power of two, so that ordinary data keep their digits
    unit = 2.0 ** np.floor(np.log2(unit)) if unit > 0 else 1.0
    return (sample, 1.0) if 2.0**-100 < unit < 2.0**100 else (sample / unit, float(unit))


def weighted_median(values: Array, weights: Array) -> float:
    """Return the median of values that occur `weights` times each."""
    order = np.argsort(values)
    below = np.cumsum(weights[order])
    low, high = np.searchsorted(below, below[-1] / 2, side="left"), np.searchsorted(below, below[-1] / 2, side="right")
    return float((values[order[low]] + values[order[min(high, len(order) - 1)]]) / 2)
