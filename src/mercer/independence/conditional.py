"""`ci_test`: a test of independence of X and Y given Z.

Features phi(x) and psi(y) are regressed on Z by kernel ridge regression. If X and Y are independent given Z, products of
their residuals have mean zero at every z. The statistic is

    T = (1/n) sum_ij A_ij B_ij C_ij,    A = R_x K_X R_x,  B = R_y K_Y R_y,  C = K_Z,

the squared norm of the mean of residual(phi) (x) residual(psi) (x) chi(z), times n. It is the statistic of the kernel-based
conditional independence test (Zhang et al. 2011) with the residual of phi(x) (x) chi(z) written out: given Z, chi(z) is a
constant. Under the null hypothesis T is distributed as (c/n) sum_k lambda_k(A o B o C) N_k^2, where o is elementwise, or as
(c/n) q'(A o B o C) q for independent random signs q (wild bootstrap). The factor c = tr(R_x^2 R_y^2) / sum_i (R_x^2)_ii
(R_y^2)_ii accounts for the correlation of residuals between rows; it is 1.05 to 1.3 for 100 rows and tends to 1. Without
it p-values are too small.

The level depends on the error of the two regressions, which is why kernel, metric and penalty of each are chosen by
leave-one-out. No test of conditional independence keeps its level for every distribution (Shah and Peters 2020).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.arrays import Array, Floats
from mercer.errors import InputError, NumericalError, check_choice, check_whole, readable
from mercer.independence.residuals import LANDMARKS, Conditioning, Regression, variance_ratio
from mercer.independence.variables import Variable, inverse_root, read_variable
from mercer.inputs import Rows
from mercer.numeric.threads import one_blas_thread
from mercer.planning import Route, gemm_rate, with_routes

#: Up to this many rows, features and regressions use all rows as landmarks.
EXACT_ROWS = 200

#: Up to this many rows, A o B o C is held as a matrix; beyond, it is replaced by random products of features.
MATRIX_ROWS = 2500

#: Random products of features that replace the matrix for many rows.
SKETCH = 256

#: Random signs per matrix product.
DRAWS_AT_A_TIME = 128

#: With fewer effective rows, or a smaller unexplained share, the level is not trusted.
FEW_EFFECTIVE, LITTLE_LEFT = 10.0, 0.01


@dataclass(frozen=True)
class RegressionReport:
    """One regression of a test: `unexplained` is the leave-one-out share of the variance of features that Z leaves.

    `relevance` holds relative weights of the columns of Z in the learned metric (None for one column or a given kernel).
    """

    target: str
    unexplained: float
    alpha: float
    kernel: str
    relevance: Floats | None = field(repr=False)

    def __str__(self) -> str:
        return readable(f"{self.target} given Z: {100 * self.unexplained:.3g} % of the variance is left ({self.kernel})")


@dataclass(frozen=True, eq=False)
class CITestResult:
    """The result of `mercer.ci_test`; unpacks into statistic and pvalue."""

    statistic: float
    pvalue: float
    regressions: tuple[RegressionReport, RegressionReport]
    null_distribution: Floats | None = field(repr=False)  # None for the gamma approximation
    method: str
    warnings: tuple[str, ...]
    n_rows: int

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))

    def summary(self) -> str:
        """Return the result as text."""
        lines = [
            f"X and Y given Z, {self.n_rows} rows: p = {self.pvalue:.4g} for conditional independence",
            f"  statistic    {self.statistic:.6g}",
            f"  method       {self.method}",
            *(f"  regression   {one}" for one in self.regressions),
            *(f"  warning      {one}" for one in self.warnings),
        ]
        return readable("\n".join(lines))

    def __str__(self) -> str:
        return self.summary()


def ci_routes(X: Any, _: Any) -> tuple[Route, ...]:
    """Return the routes of `ci_test` with default options, the one it takes first."""
    n, draws = len(Rows(X, "X")), 999
    matrix = 2.0 * n**2 * draws / gemm_rate()
    exact = Route("exact", 40 * n**2, 200.0 * n**3 / gemm_rate() + matrix, "all rows as landmarks, matrix of products")
    few = f"{LANDMARKS} landmarks, "
    middle = Route("landmarks", 32 * n**2, 3e-5 * n + matrix, few + "matrix of products", exact=False)
    linear = Route("landmarks", int(4e6) + 5000 * n, 3e-5 * n, few + f"{SKETCH} random products of features", exact=False)
    first = exact if n <= EXACT_ROWS else middle if n <= MATRIX_ROWS else linear
    return first, *(one for one in (exact, middle, linear) if one is not first)


@with_routes(ci_routes)
def ci_test(
    X: Any,
    Y: Any,
    Z: Any,
    kernel_x: Any = None,
    kernel_y: Any = None,
    kernel_z: Any = None,
    *,
    null: str = "wild",
    n_draws: int = 999,
    split: bool = False,
    method: str = "auto",
    n_landmarks: int = LANDMARKS,
    random_state: Any = None,
) -> CITestResult:
    """Test whether X and Y are independent given Z, by products of residuals of kernel regressions on Z.

    Parameters
    ----------
    X, Y, Z : collections of the same length >= 10
        Row i of each belongs to the same observation. Arrays, data frames with numbers, categories and dates, lists of
        strings or graphs; the three may be of different types.
    kernel_x, kernel_y : Kernel or text, optional
        Kernels on X and Y. The default is a Gaussian kernel at the median distance of columns scaled by their spread.
    kernel_z : Kernel, text, or a sequence of them, optional
        Kernel on Z, or candidates of which each regression takes the one with the smallest leave-one-out error. The
        default is Gaussian kernels at several length scales and, for several columns, with a learned metric.
    null : "wild", "spectral" or "gamma"
        Distribution of the statistic under independence: random signs, a weighted sum of chi-squared variables (by draws),
        or a gamma distribution with its mean and variance. "spectral" and "gamma" reject less often for heavy tails.
    n_draws : int
        Draws of "wild" and "spectral"; p = (1 + #{draw >= statistic}) / (1 + n_draws) is never 0.
    split : bool
        Fit the regressions on one random half of the rows and compute the statistic on the other. The level depends less
        on the regressions; the power is that of half the rows.
    method : "auto", "exact" or "landmarks"
        "exact" uses all rows in features and regressions; "landmarks" uses `n_landmarks` random rows, and beyond 2,500
        rows replaces products of kernels by 256 random products of features, in time and memory linear in the rows.
    n_landmarks : int
        Number of landmarks.
    random_state : int, Generator or None
        The seed of landmarks, draws and the split.

    >>> import numpy as np
    >>> from mercer import ci_test
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=300)
    >>> x, y = np.sin(z) + 0.3 * rng.normal(size=300), z**2 + 0.3 * rng.normal(size=300)
    >>> ci_test(x, y, z, random_state=0).pvalue > 0.05
    True
    >>> ci_test(x, y + x, z, random_state=0).pvalue < 0.05
    True
    """
    check_choice("ci_test", "null", null, ("wild", "spectral", "gamma"))
    check_choice("ci_test", "method", method, ("auto", "exact", "landmarks"))
    check_whole("ci_test", "n_draws", n_draws, 1)
    check_whole("ci_test", "n_landmarks", n_landmarks, 2)
    given = zip((X, Y, Z), "XYZ", (kernel_x, kernel_y, kernel_z), strict=True)
    x, y, z = (read_variable(data, name, kernel, "ci_test") for data, name, kernel in given)
    warnings = check_variables(x, y, z)
    rng = np.random.default_rng(random_state)
    problem = Problem(len(x), method, n_landmarks, split, rng)
    with one_blas_thread() if problem.matrix else nullcontext():  # threads slow down matrices of a few hundred rows
        features = [problem.features(x), problem.features(y)]
        conditioning = problem.conditioning(z)
        fitted = [conditioning.regress(phi[problem.training]) for phi in features]
        residuals = [problem.residuals(conditioning, one, phi) for one, phi in zip(fitted, features, strict=True)]
        return problem.compare(residuals[0], residuals[1], problem.weights(z), fitted, null, n_draws, warnings)


def check_variables(x: Variable, y: Variable, z: Variable) -> list[str]:
    """Raise if variables cannot be tested; return warnings about columns."""
    n = len(x)
    for other in (y, z):
        if len(other) != n:
            raise InputError(
                f"ci_test: X has {n} rows, {other.name} has {len(other)}; all three need one row per observation."
            )
    if n < 10:
        raise InputError(f"ci_test: {n} rows; at least 10 are needed, and fewer than 100 rarely show anything.")
    for one in (x, y):
        if one.vectors is not None and one.vectors.shape[1] == 0:
            raise InputError(
                f"ci_test: {one.name} is constant, and a constant is independent of everything. Remove it from the test."
            )
    if z.vectors is not None and z.vectors.shape[1] >= n:
        raise InputError(
            f"ci_test: Z has {z.vectors.shape[1]} columns and {n} rows; any X is a function of that "
            "many columns. Use fewer columns, or kernel_z on a summary of them."
        )
    for one in (x, y):
        _check_apart(one, z)
    warnings = [f"{name} is constant and was ignored." for one in (x, y, z) for name in one.ignored]
    if z.vectors is not None and z.vectors.shape[1] == 0:
        warnings.append("Z is constant: this is a test of unconditional independence.")
    elif z.vectors is not None and z.vectors.shape[1] > n / 10:
        warnings.append(
            f"Z has {z.vectors.shape[1]} columns for {n} rows: the regressions are poor, and the test may reject too often."
        )
    return warnings


def _check_apart(one: Variable, z: Variable) -> None:
    """Raise if a column of X or Y is a linear function of one column of Z."""
    if one.vectors is None or z.vectors is None:
        return
    columns, others = (table - table.mean(axis=0) for table in (one.vectors, z.vectors))
    for j, column in enumerate(columns.T):
        for k, other in enumerate(others.T):
            slope = (column @ other) / (other @ other)
            if np.allclose(column, slope * other, rtol=0.0, atol=1e-9 * float(np.abs(column).max())):
                raise InputError(
                    f"ci_test: column {j} of {one.name} equals column {k} of Z (up to its unit and zero point); given Z "
                    "nothing of it is left to test. Remove it from one of them."
                )


class Problem:
    """The rows of a test: which are landmarks, which train the regressions and which enter the statistic."""

    def __init__(self, n: int, method: str, n_landmarks: int, split: bool, rng: np.random.Generator) -> None:
        self.n, self.rng = n, rng
        order = rng.permutation(n) if split else np.arange(n)
        half = n // 2
        self.training = np.sort(order[:half]) if split else order
        self.tested = np.sort(order[half:]) if split else order
        exact = method == "exact" or (method == "auto" and n <= EXACT_ROWS) or n_landmarks >= len(self.training)
        self.landmarks = None if exact else np.sort(rng.choice(self.training, n_landmarks, replace=False))
        self.matrix = exact or len(self.tested) <= MATRIX_ROWS
        self.name = "all rows as landmarks" if exact else f"{n_landmarks} landmarks"
        self.name += f", regressions on one half of {n} rows" * split
        self._kept: list[Array] | None = None

    def features(self, variable: Variable) -> Floats:  # -> (n, r)
        """Return the features of a variable that are regressed on Z."""
        return variable.features(np.arange(self.n) if self.landmarks is None else self.landmarks)

    def conditioning(self, z: Variable, n_search: int | None = None) -> Conditioning:
        """Return Z, ready for regressions on the training rows."""
        return Conditioning(z, self.training, self.landmarks, self.rng, n_search)

    def residuals(self, conditioning: Conditioning, fitted: Regression, features: Floats) -> Floats:
        """Return the residuals of features at the tested rows."""
        if len(self.training) == self.n:
            return fitted.residuals
        return features[self.tested] - conditioning.predict(fitted, features[self.training], self.tested)

    def compare(
        self,
        ex: Floats,
        ey: Floats,
        weights: Floats | None,
        fitted: list[Regression],
        null: str,
        n_draws: int,
        warnings: list[str],
    ) -> CITestResult:
        """Return the test of two sets of residuals with `weights` of Z; without weights, of unconditional independence."""
        if self.matrix:
            products: Products = MatrixProducts(ex, ey, weights)
        else:
            products = SketchedProducts(ex, ey, weights, self.rng)
        if not (np.isfinite(products.statistic) and products.diagonal.sum() > 0):
            raise NumericalError("ci_test: kernel values on these data are NaN, infinite or all zero. Scale the data.")
        draws = None
        ratio = variance_ratio(*fitted) if len(self.training) == self.n else 1.0
        if null == "gamma":
            pvalue = products.gamma_pvalue(ratio)
        else:
            draws = ratio * products.draw(self._kept or self._multipliers(n_draws, null))
            pvalue = float(1 + np.count_nonzero(draws >= products.statistic * (1.0 - 1e-6))) / (1 + n_draws)
        reports = tuple(_report(name, one) for name, one in zip("XY", fitted, strict=True))
        effective = float(products.diagonal.sum() ** 2 / np.square(products.diagonal).sum())
        warnings = [*warnings, *_warnings(reports, effective)]
        how = f"{self.name}, {_NULLS[null]}" + f" ({n_draws} draws)" * (null != "gamma")
        return CITestResult(
            products.statistic, pvalue, (reports[0], reports[1]), draws, how, tuple(warnings), len(self.tested)
        )

    def weights(self, z: Variable) -> Floats | None:
        """Return C at the tested rows: its Gram matrix, or features for many rows; None if Z is constant."""
        if not z.kernels:
            return None
        if self.matrix:
            return z.gram(self.tested, self.tested)
        assert self.landmarks is not None
        return z.gram(self.tested, self.landmarks) @ inverse_root(z.gram(self.landmarks, self.landmarks))

    def keep_multipliers(self, count: int, null: str) -> None:
        """Draw the random multipliers once for all comparisons, unless they are large or not needed."""
        if self.matrix and null != "gamma":
            self._kept = list(self._multipliers(count, null))

    def _multipliers(self, count: int, null: str) -> Iterator[Array]:
        """Yield random signs or normal numbers, (rows, draws), a part of the draws at a time."""
        for start in range(0, count, DRAWS_AT_A_TIME):
            size = (len(self.tested), min(DRAWS_AT_A_TIME, count - start))
            if null == "wild":
                q = self.rng.integers(0, 2, size, dtype=np.int8).astype(np.float32)
                q *= 2.0
                q -= 1.0
                yield q
            else:
                yield self.rng.standard_normal(size, dtype=np.float32)


_NULLS = {"wild": "random signs", "spectral": "weighted chi-squared variables", "gamma": "gamma approximation"}


class Products:
    """The matrix M = A o B o C of products of residuals; `statistic` is its sum / n, `diagonal` its diagonal."""

    statistic: float
    diagonal: Floats

    def quadratic(self, signs: Array) -> Floats:  # (n, b) -> (b,)
        """Return q'M q for every column q."""
        raise NotImplementedError

    def square_sum(self) -> float:
        """Return the sum of squares of the entries."""
        raise NotImplementedError

    def draw(self, multipliers: Iterable[Array]) -> Floats:
        """Return draws of the statistic under independence, one for each column of the multipliers."""
        return np.concatenate([self.quadratic(q) for q in multipliers]) / len(self.diagonal)

    def gamma_pvalue(self, ratio: float) -> float:
        """Return the tail of the gamma distribution with the mean and variance of `ratio` times the null distribution."""
        from scipy.special import gammaincc

        n = len(self.diagonal)
        mean, variance = ratio * float(self.diagonal.sum()) / n, 2.0 * self.square_sum() * (ratio / n) ** 2
        return max(float(gammaincc(mean**2 / variance, self.statistic * mean / variance)), float(np.finfo(np.float64).tiny))


class MatrixProducts(Products):
    """M as an (n, n) matrix."""

    def __init__(self, ex: Floats, ey: Floats, gram: Floats | None) -> None:
        M = ex @ ex.T
        M *= ey @ ey.T
        if gram is not None:
            M *= gram
        self.statistic, self.diagonal = float(M.sum()) / len(M), np.diagonal(M).copy()
        unit = float(self.diagonal.mean()) or 1.0  # float32 has a smaller range
        self._light, self._unit = (M / unit).astype(np.float32), unit

    def quadratic(self, signs: Array) -> Floats:
        return np.asarray(np.einsum("ib,ib->b", signs, self._light @ signs), dtype=np.float64) * self._unit

    def square_sum(self) -> float:
        flat = self._light.ravel()
        return float(np.dot(flat, flat)) * self._unit**2


class SketchedProducts(Products):
    """M approximated by P P'; columns of P are products of random combinations of residuals and of features of Z."""

    def __init__(self, ex: Floats, ey: Floats, weights: Floats | None, rng: np.random.Generator) -> None:
        n = len(ex)
        P = np.ones((n, SKETCH), np.float32)
        for part in (ex, ey, weights):
            if part is not None:
                unit = float(np.sqrt(np.square(part).sum(axis=1).mean())) or 1.0
                P *= (part / unit).astype(np.float32) @ rng.standard_normal((part.shape[1], SKETCH), dtype=np.float32)
        P /= np.float32(np.sqrt(SKETCH))
        self._factors = P
        self.diagonal = np.einsum("ij,ij->i", P, P).astype(np.float64)
        self.statistic = float(np.square(P.sum(axis=0, dtype=np.float64)).sum()) / n

    def quadratic(self, signs: Array) -> Floats:
        return np.square((self._factors.T @ signs).astype(np.float64)).sum(axis=0)

    def square_sum(self) -> float:
        return float(np.square((self._factors.T @ self._factors).astype(np.float64)).sum())


def _report(target: str, fitted: Regression) -> RegressionReport:
    if not np.isfinite(fitted.alpha):
        kernel = "Z explains nothing"
    elif fitted.length_scale is not None:
        kernel = f"Gaussian, length scale {fitted.length_scale:.3g}, penalty {fitted.alpha:.2g}"
    else:
        kernel = f"{fitted.kernel}, penalty {fitted.alpha:.2g}"
    several = fitted.transform is not None and len(fitted.transform) > 1
    return RegressionReport(target, fitted.unexplained, fitted.alpha, kernel, fitted.relevance if several else None)


def _warnings(reports: tuple[RegressionReport, ...], effective: float) -> Iterator[str]:
    for report in reports:
        if report.unexplained < LITTLE_LEFT:
            yield (
                f"Z determines {report.target} almost completely ({100 * report.unexplained:.2g} % of the variance left): "
                "the p-value rests on rounding and regression errors."
            )
    if effective < FEW_EFFECTIVE:
        yield (
            f"A few rows dominate the statistic (as if there were {effective:.0f} rows): the level is approximate. "
            "Outliers in X or Y may be the reason."
        )
