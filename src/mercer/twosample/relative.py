"""`relative_test`: which of two samples is nearer to a reference sample.

The statistic is MMD^2(Y, Z) - MMD^2(X, Z), each unbiased. It is asymptotically normal, with the variance of its linear terms
in the rows of X, Y and Z (Bounliphone et al. 2016).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.errors import InputError, readable
from mercer.grams.operator import GramOperator
from mercer.inputs import Rows
from mercer.kernels.base import Kernel
from mercer.kernels.parsing import as_kernel
from mercer.kernels.stationary import Gaussian
from mercer.kernels.strings.spectrum import Spectrum
from mercer.numeric.encodings import dense
from mercer.numeric.spread import column_deviation
from mercer.twosample.default_kernels import IGNORED
from mercer.twosample.result import ConfidenceInterval
from mercer.twosample.samples import Pooled, pool

#: Fewest rows of each sample for the normal approximation.
FEWEST_ROWS = 10


@dataclass(frozen=True, eq=False)
class RelativeTestResult:
    """The result of `mercer.relative_test`; unpacks into statistic and pvalue.

    A small p-value shows that X is nearer to Z than Y is.
    """

    statistic: float  # MMD^2(Y, Z) - MMD^2(X, Z)
    pvalue: float
    mmd2_x: float
    mmd2_y: float
    standard_error: float
    kernel: Kernel

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))

    def confidence_interval(self, confidence_level: float = 0.95) -> ConfidenceInterval:
        """Return a normal interval for MMD^2(Y, Z) - MMD^2(X, Z)."""
        from scipy.special import ndtri

        half = float(ndtri(0.5 + confidence_level / 2.0)) * self.standard_error
        return ConfidenceInterval(self.statistic - half, self.statistic + half)

    def summary(self) -> str:
        """Return the result as text."""
        limits = self.confidence_interval()
        return readable("\n".join([
            f"X nearer to Z than Y: p = {self.pvalue:.4g} against the contrary",
            f"  MMD^2        {self.mmd2_x:.6g} from X to Z, {self.mmd2_y:.6g} from Y to Z",
            f"  difference   {self.statistic:.6g}, 95 % interval {limits.low:.6g} to {limits.high:.6g}",
            f"  kernel       {self.kernel}",
        ]))  # fmt: skip

    def __str__(self) -> str:
        return self.summary()


def relative_test(X: Any, Y: Any, Z: Any, kernel: Any = None) -> RelativeTestResult:
    """Test whether X is nearer to the reference sample Z than Y is, by squared distances of mean feature vectors.

    The null hypothesis is MMD(X, Z) >= MMD(Y, Z). If both have the distribution of Z, the test rejects less often than its
    level, because the statistic has no linear terms there.

    Parameters
    ----------
    X, Y, Z : collections of one type with at least 10 rows each
        Independent samples.
    kernel : Kernel or text, optional
        The default is a Gaussian kernel at the median distance of the pooled columns, scaled by their spread (for strings:
        a normalized Spectrum kernel of p = 2).

    >>> import numpy as np
    >>> from mercer import relative_test
    >>> rng = np.random.default_rng(0)
    >>> X, Y, Z = rng.normal(0.2, 1.0, 300), rng.normal(1.0, 1.0, 300), rng.normal(0.0, 1.0, 300)
    >>> bool(relative_test(X, Y, Z).pvalue < 0.01)
    True
    """
    X, Y, Z = (data[:, None] if isinstance(data, np.ndarray) and data.ndim == 1 else data for data in (X, Y, Z))
    chosen = () if kernel is None else (as_kernel(kernel),)
    tokens = any(view in ("strings", "graphs") for one in chosen for view in one.views)
    pair = pool(X, Y, tokens)
    try:
        pooled = pool(pair.rows.data, Z, tokens)
    except InputError as error:
        raise InputError(f"relative_test: Z does not match X and Y (called X here): {error}") from error
    sizes = pair.m, pair.n, pooled.n
    for name, size in zip("XYZ", sizes, strict=True):
        if size < FEWEST_ROWS:
            raise InputError(f"relative_test: {name} has {size} rows; at least {FEWEST_ROWS} are needed.")
    resolved = chosen[0].resolve(pooled.rows) if chosen else _default(pooled)
    return _compare(resolved, pooled.rows, sizes)


def _default(pooled: Pooled) -> Kernel:
    if pooled.kind == "objects":
        if all(isinstance(item, str) for item in pooled.rows.data):
            return Spectrum(2).normalized()
        raise InputError("relative_test: there is no default kernel for these objects. Give one, e.g. VertexHistogram().")
    data = np.asarray(dense(pooled.rows.vectors()), dtype=np.float64)
    spread = column_deviation(data)
    used = spread > 0
    if not used.any():
        raise InputError("relative_test: every column is constant in all three samples; there is nothing to compare.")
    median = float(Gaussian("median").resolve(Rows(data[:, used] / spread[used])).get_params()["length_scale"])
    lengths = tuple(np.where(used, median * spread, IGNORED).tolist())
    return Gaussian(lengths[0] if len(lengths) == 1 else lengths)


def _compare(kernel: Kernel, rows: Rows, sizes: tuple[int, int, int]) -> RelativeTestResult:
    from scipy.special import ndtr

    m, n, r = sizes
    ends = np.cumsum([0, *sizes])
    x, y, z = (rows.take(slice(int(low), int(high))) for low, high in pairwise(ends))
    within = [_means(kernel, one, one, True) for one in (x, y, z)]
    xz, yz = _means(kernel, x, z, False), _means(kernel, y, z, False)
    zx, zy = _means(kernel, z, x, False), _means(kernel, z, y, False)
    mmd2_x = float(within[0].mean() + within[2].mean() - 2.0 * xz.mean())
    mmd2_y = float(within[1].mean() + within[2].mean() - 2.0 * yz.mean())
    parts = ((2.0 * (within[0] - xz), m), (2.0 * (within[1] - yz), n), (2.0 * (zx - zy), r))
    error = float(np.sqrt(sum(np.var(part, ddof=1) / size for part, size in parts)))
    statistic = mmd2_y - mmd2_x
    pvalue = float(ndtr(-statistic / error)) if error > 0 else float(statistic <= 0)
    return RelativeTestResult(statistic, max(pvalue, float(np.finfo(np.float64).tiny)), mmd2_x, mmd2_y, error, kernel)


def _means(kernel: Kernel, left: Rows, right: Rows, same: bool) -> Floats:
    """Return the mean of k(x, .) over the rows of the other sample; without the row itself in the same sample."""
    sums = GramOperator(kernel, left, right).times(np.ones(len(right)))
    if same:
        return np.asarray((sums - kernel.diag(left)) / (len(right) - 1.0))
    return np.asarray(sums / len(right))
