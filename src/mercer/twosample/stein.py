"""`stein_test`: a test of goodness of fit for a density that is known up to a constant.

With the score s = grad log p of the model and a kernel k, the Stein kernel

    u(x, y) = s(x)'s(y) k(x, y) + s(x)'grad_y k(x, y) + s(y)'grad_x k(x, y) + tr grad_x grad_y k(x, y)

has mean zero under the model. The statistic is the mean of u over pairs of different rows, an unbiased estimate of the
squared kernel Stein discrepancy. Under the model, random signs of the rows give its distribution (wild bootstrap).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.errors import CapabilityError, InputError, check_whole, describe, readable
from mercer.inputs import Rows
from mercer.kernels.base import Kernel
from mercer.kernels.parsing import as_kernel
from mercer.kernels.stationary import Gaussian, RationalQuadratic
from mercer.numeric.spread import column_deviation

#: Rows of the Stein kernel that are held at a time.
ROWS_AT_A_TIME = 1024

#: Step of numerical derivatives of a log density, in units of the spread of a column.
STEP = 1e-3

#: Larger numbers are not squared.
LARGEST = 1e140

Score = Callable[[Floats], Any]


@dataclass(frozen=True, eq=False)
class SteinTestResult:
    """The result of `mercer.stein_test`; unpacks into statistic and pvalue.

    `contributions` (n,) are means of the Stein kernel of each row with the others: rows with large values show where the
    model is wrong. Their mean is the statistic.
    """

    statistic: float
    pvalue: float
    kernel: Kernel
    contributions: Floats = field(repr=False)
    null_distribution: Floats = field(repr=False)
    _stein: SteinKernel = field(repr=False)

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))

    def witness(self, Z: Any) -> Floats:  # (r, d) -> (r, d)
        """Return mean_i s(x_i) k(x_i, z) + grad_x k(x_i, z): the direction in which the model lacks mass near z."""
        return self._stein.witness(np.asarray(Rows(Z, "Z").vectors(), dtype=np.float64))

    def summary(self) -> str:
        """Return the result as text."""
        return readable("\n".join([
            f"{len(self.contributions)} rows against a model: p = {self.pvalue:.4g} for the model",
            f"  statistic    {self.statistic:.6g} (squared kernel Stein discrepancy, unbiased)",
            f"  kernel       {self.kernel}",
            f"  null         {len(self.null_distribution)} draws of random signs",
        ]))  # fmt: skip

    def __str__(self) -> str:
        return self.summary()


def stein_test(
    X: Any, score: Any, kernel: Any = None, *, n_draws: int = 999, random_state: Any = None
) -> SteinTestResult:  # (n, d)
    """Test whether the rows of X come from a density, given the gradient of its logarithm.

    Parameters
    ----------
    X : array of shape (n, d) or (n,)
        Independent rows; a chain of dependent rows must be thinned first.
    score : callable or distribution
        A function of an (n, d) array that returns grad log p at every row, (n, d). Constants in p do not matter. Or a
        frozen distribution of scipy.stats with `logpdf`: normal distributions in closed form, others by differences. The
        density must fall to 0 at the ends of its support.
    kernel : Kernel or text, optional
        `Gaussian` or `RationalQuadratic`. The default is the inverse multiquadric kernel (RationalQuadratic with shape 1/2)
        at the median distance of columns scaled by their spread.
    n_draws, random_state
        The number of draws of random signs and their seed; p = (1 + #{draw >= statistic}) / (1 + n_draws).

    >>> import numpy as np
    >>> from mercer import stein_test
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> bool(stein_test(X, lambda x: -x, random_state=0).pvalue > 0.05)  # standard normal
    True
    >>> bool(stein_test(X, lambda x: -(x - 0.5), random_state=0).pvalue < 0.05)
    True
    """
    check_whole("stein_test", "n_draws", n_draws, 1)
    if isinstance(X, np.ndarray) and X.ndim == 1:
        X = X[:, None]
    rows = Rows(X, "X")
    data = np.asarray(rows.vectors(), dtype=np.float64)
    if len(data) < 2:
        raise InputError("stein_test: X has 1 row; the statistic averages over pairs of different rows.")
    spread = column_deviation(data)
    if not (spread > 0).all():
        raise InputError(
            f"stein_test: column {int(np.argmin(spread > 0))} of X is constant; a sample from a density varies. Remove it "
            "from X and from the score."
        )
    chosen = _default(data, spread) if kernel is None else as_kernel(kernel).resolve(rows)
    stein = SteinKernel(chosen, data, _scores(score, data, spread))
    rng = np.random.default_rng(random_state)
    signs = np.where(rng.random((len(data), n_draws)) < 0.5, -1.0, 1.0)
    sums, forms = stein.forms(signs)
    pairs = len(data) * (len(data) - 1.0)
    statistic, null = float(sums.sum()) / pairs, forms / pairs
    pvalue = (1.0 + np.count_nonzero(null >= statistic)) / (1.0 + n_draws)
    return SteinTestResult(statistic, float(pvalue), chosen, sums / (len(data) - 1.0), null, stein)


def _default(data: Floats, spread: Floats) -> Kernel:
    scaled = Rows((data - data.mean(axis=0)) / spread)
    median = float(Gaussian("median").resolve(scaled).get_params()["length_scale"])
    lengths = tuple((median * spread).tolist())
    return RationalQuadratic(lengths[0] if len(lengths) == 1 else lengths, shape=0.5)


def _scores(score: Any, data: Floats, spread: Floats) -> Floats:  # -> (n, d)
    function = score if callable(score) else distribution_score(score, data, spread)
    try:
        values = np.asarray(function(data.copy()), dtype=np.float64)  # a function may write into its argument
    except (TypeError, ValueError) as error:
        raise InputError(
            f"stein_test: score failed on X of shape {data.shape}, or returned something other than numbers ({error})."
        ) from error
    if values.shape == (len(data),) and data.shape[1] == 1:
        values = values[:, None]
    if values.shape != data.shape:
        raise InputError(
            f"stein_test: score returned an array of shape {values.shape} for X of shape {data.shape}. It must return the "
            "gradient of the log density at every row, with the shape of X."
        )
    bad = ~np.isfinite(values).all(axis=1)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"stein_test: score is not finite at row {row} of X ({describe(values[row].tolist())}). The density must be "
            "positive and differentiable at every row."
        )
    return values


def distribution_score(distribution: Any, data: Floats, spread: Floats) -> Score:
    """Return the score of a frozen distribution of scipy.stats: closed form for normals, otherwise differences."""
    if not hasattr(distribution, "logpdf"):
        raise InputError(
            f"stein_test: score is {describe(distribution)}. Give a function of an (n, d) array, or a frozen distribution "
            "of scipy.stats with logpdf."
        )
    from scipy import stats

    if isinstance(distribution, type(stats.multivariate_normal())):
        return _normal_score(np.atleast_1d(distribution.mean), np.atleast_2d(distribution.cov), data.shape[1])
    if isinstance(distribution, type(stats.norm())):
        if distribution.dist.name == "norm":
            mean, deviation = distribution.mean(), distribution.std()
            return lambda X: (mean - X) / deviation**2
        if data.shape[1] > 1:
            raise InputError(
                f"stein_test: the distribution {distribution.dist.name!r} has one variable, and X has {data.shape[1]} "
                "columns. Give a function that returns the gradient of the joint log density."
            )
        _check_ends(distribution, data, spread)

    def differences(X: Floats) -> Floats:
        out = np.empty_like(X)
        for j in range(X.shape[1]):
            step = np.zeros(X.shape[1])
            step[j] = STEP * spread[j]
            near, far = (_log_density(distribution, X + t * step) - _log_density(distribution, X - t * step) for t in (1, 2))
            out[:, j] = (8.0 * near - far) / (12.0 * step[j])
        return out

    return differences


def _normal_score(mean: Floats, covariance: Floats, width: int) -> Score:
    if len(mean) != width:
        raise InputError(f"stein_test: the normal distribution has {len(mean)} variables, and X has {width} columns.")
    if np.linalg.matrix_rank(covariance) < width:
        raise InputError(
            "stein_test: the covariance of the normal distribution is singular, so it has no density. Leave out columns "
            "that are sums of others."
        )
    return lambda X: -np.linalg.solve(covariance, (X - mean).T).T


def _check_ends(distribution: Any, data: Floats, spread: Floats) -> None:
    """Raise if a density is positive at an end of its support: the Stein kernel does not have mean zero then."""
    ends = np.array(distribution.support(), dtype=np.float64)
    inside = ends + 1e-9 * float(spread[0]) * np.array([1.0, -1.0])
    density = float(np.max(distribution.pdf(np.median(data))))
    for end, near in zip(ends, inside, strict=True):
        if np.isfinite(end) and not distribution.pdf(near) < 0.1 * density:
            raise InputError(
                f"stein_test: the density of {distribution.dist.name!r} does not fall to 0 at {end:g}, an end of its "
                "support, and the test would reject the true model. Test a transformed variable without such an end, such "
                "as its logarithm."
            )


def _log_density(distribution: Any, X: Floats) -> Floats:
    values = distribution.logpdf(X[:, 0] if X.shape[1] == 1 else X)
    return np.asarray(values, dtype=np.float64).reshape(len(X))


class SteinKernel:
    """The Stein kernel of a radial kernel phi(|x - y|^2 / l^2).

    With a length scale per column, coordinates are divided by them first: columns then count alike, whatever their units.
    Coordinates are taken from the mean of the data, which changes no difference of rows.
    """

    def __init__(self, kernel: Kernel, data: Floats, scores: Floats) -> None:
        if not isinstance(kernel, (Gaussian, RationalQuadratic)):
            raise CapabilityError(
                f"stein_test: {kernel} has no Stein kernel here; give a Gaussian or a RationalQuadratic kernel, which have "
                "the derivatives that it needs."
            )
        lengths = kernel.get_params()["length_scale"]
        self.shape = None if isinstance(kernel, Gaussian) else float(kernel.get_params()["shape"])
        self.lengths = np.broadcast_to(np.asarray(lengths, dtype=np.float64), data.shape[1:])
        if not (self.lengths < LARGEST).all():
            raise InputError(f"stein_test: the length scale {self.lengths.max():.1e} is too large to square. Scale X.")
        largest = float((np.abs(scores) / (1.0 / self.lengths)).max())
        if largest > LARGEST:
            raise InputError(
                f"stein_test: scores up to {largest:.1e} in units of the kernel are too large to square. Check the units of "
                "X and of the score."
            )
        self.center = data.mean(axis=0)  # products of rows far from 0 would lose the digits of their differences
        self.X, self.scores = (data - self.center) / self.lengths, scores * self.lengths
        self.unit = 1.0 if isinstance(lengths, tuple) else float(lengths) ** 2

    def radial(self, squares: Floats) -> tuple[Floats, Floats, Floats]:
        """Return phi, phi' and phi'' at squared distances."""
        if self.shape is None:
            value = np.exp(-0.5 * squares)
            return value, -0.5 * value, 0.25 * value
        a = self.shape
        base = 1.0 + squares / (2.0 * a)
        return base**-a, -0.5 * base ** (-a - 1.0), 0.25 * (a + 1.0) / a * base ** (-a - 2.0)

    def values(self, rows: slice) -> Floats:  # -> (rows, n)
        """Return the Stein kernel between some rows and all."""
        X, S, Y, T = self.X[rows], self.scores[rows], self.X, self.scores
        squares = np.maximum(np.square(X).sum(axis=1)[:, None] + np.square(Y).sum(axis=1) - 2.0 * X @ Y.T, 0.0)
        value, first, second = self.radial(squares)
        # s(x)'(x - y) and s(y)'(y - x)
        left = np.einsum("ij,ij->i", S, X)[:, None] - S @ Y.T
        right = np.einsum("ij,ij->i", T, Y) - X @ T.T
        found = (S @ T.T) * value - 2.0 * first * (left + right)
        return np.asarray((found - 2.0 * X.shape[1] * first - 4.0 * second * squares) / self.unit)

    def forms(self, signs: Floats) -> tuple[Floats, Floats]:  # (n, b) -> (n,), (b,)
        """Return row sums of the Stein kernel without its diagonal, and q'U q for every column q of signs."""
        n = len(self.X)
        sums, forms = np.empty(n), np.zeros(signs.shape[1])
        for start in range(0, n, ROWS_AT_A_TIME):
            rows = slice(start, min(start + ROWS_AT_A_TIME, n))
            block = self.values(rows)
            block[np.arange(rows.stop - start), np.arange(start, rows.stop)] = 0.0
            sums[rows] = block.sum(axis=1)
            forms += np.einsum("ib,ib->b", signs[rows], block @ signs)
        return sums, forms

    def witness(self, Z: Floats) -> Floats:  # (r, d)
        """Return the mean of s(x_i) k(x_i, z) + grad_x k(x_i, z), in the coordinates of the data."""
        Y = (Z - self.center) / self.lengths
        squares = np.maximum(np.square(Y).sum(axis=1)[:, None] + np.square(self.X).sum(axis=1) - 2.0 * Y @ self.X.T, 0.0)
        value, first, _ = self.radial(squares)
        gradient = 2.0 * (first @ self.X - first.sum(axis=1)[:, None] * Y)
        return np.asarray((value @ self.scores + gradient) / len(self.X) / self.lengths)
