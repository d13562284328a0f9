"""Residuals of kernel features of one variable after ridge regression on another.

The regression of centered features Phi (n, r) on Z has residuals R Phi with R = alpha (K + alpha I)^-1, K the centered
Gram matrix of Z. Kernel and penalty have the smallest leave-one-out error, which is (R Phi)_i / R_ii in closed form.

For several columns of Z, one length scale is often wrong: the conditional mean may depend on one column or one direction.
Two steps of metric learning replace Z by Z M^(1/2), where M is the average gradient outer product of the fitted function,
and are kept if they lower the leave-one-out error. Without them, tests of conditional independence reject far too often
for nonlinear functions of several columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.independence.variables import Variable, inverse_root
from mercer.kernels.base import Kernel

#: Landmarks of the conditioning variable, unless all rows are used.
LANDMARKS = 128

#: Length scales in units of the median distance; after a metric was learned, the middle three.
FACTORS = (0.35, 0.7, 1.4, 2.8, 5.6)

#: Penalties of the coarse search in powers of ten; the half steps beside the best are tried too.
POWERS = (-4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0)

#: Steps of metric learning, and the largest number of columns for it.
METRIC_STEPS, METRIC_COLUMNS = 2, 200

#: Above this many rows, kernel and metric are chosen on a random part of this size; the penalty on all rows.
SEARCH_ROWS = 600

#: Principal directions of the features used in the search hold this share of their variance.
SEARCHED_VARIANCE = 0.999


@dataclass(frozen=True, eq=False)
class Regression:
    """A fitted regression of features on Z; `unexplained` is the leave-one-out share of their variance that is left.

    `transform` (d, d) maps scaled columns of Z to those of the Gaussian kernel with `length_scale`; both are None for
    kernels of the user, whose choice is `kernel`. An infinite `alpha` is the constant fit.
    """

    kernel: Kernel | None
    length_scale: float | None
    transform: Floats | None
    alpha: float
    unexplained: float
    residuals: Floats  # (n, r)
    smoother: tuple[Floats, Floats] | None = None  # U (n, k) and a (k,) with R^2 = I - U diag(a) U' on centered rows

    @property
    def relevance(self) -> Floats | None:  # (d,)
        """Relative weight of each scaled column of Z in the learned metric; None without a metric."""
        if self.transform is None:
            return None
        weights = np.square(self.transform).sum(axis=1)
        return np.asarray(weights / weights.max())


@dataclass(frozen=True, eq=False)
class Decomposition:
    """Eigenvectors U (n, k) and eigenvalues s of a centered Gram matrix; U s is k(., L) dual, centered.

    `dual` is None if L are all rows: it would be U with the eigenvectors of eigenvalue 0, which U leaves out.
    """

    U: Floats
    s: Floats
    dual: Floats | None  # (m, k)
    squares: Floats  # U * U

    def smallest_error(self, phi: Floats, powers: tuple[float, ...]) -> tuple[float, float]:
        """Return the smallest leave-one-out error over penalties 10^power, and the penalty."""
        inner = self.U.T @ phi
        error, power = min(zip(self.errors(phi, inner, powers), powers, strict=True))
        beside = power - 0.5, power + 0.5
        error, power = min((error, power), *zip(self.errors(phi, inner, beside), beside, strict=True))
        return error, 10.0**power

    def errors(self, phi: Floats, inner: Floats, powers: tuple[float, ...]) -> list[float]:
        """Return the sum of squared leave-one-out residuals for each penalty."""
        shrink = self.s[:, None] / (self.s[:, None] + np.power(10.0, powers))  # (k, penalties)
        kept = np.maximum(1.0 - 1.0 / len(phi) - self.squares @ shrink, 1e-9)
        found = []
        for column, share in zip(shrink.T, kept.T, strict=True):
            residuals = self.U @ (column[:, None] * inner)
            np.subtract(phi, residuals, out=residuals)
            np.square(residuals, out=residuals)
            found.append(float((1.0 / share**2) @ residuals.sum(axis=1)))
        return found

    def coefficients(self, phi: Floats, alpha: float) -> Floats:  # -> (m, r)
        """Return c with fitted values k(., L) c minus their mean."""
        if self.dual is None:
            return self.residuals(phi, alpha) / alpha
        return np.asarray(self.dual @ ((self.U.T @ phi) / (self.s + alpha)[:, None]))

    def residuals(self, phi: Floats, alpha: float) -> Floats:
        """Return R phi."""
        return np.asarray(phi - self.U @ ((self.s / (self.s + alpha))[:, None] * (self.U.T @ phi)))


def decompose(gram: Floats, inner: Floats | None) -> Decomposition:  # (n, m), (m, m)
    """Return the decomposition of k(., L) k(L, L)^-1 k(L, .), centered; `inner` None means that L are all rows."""
    if inner is None:
        means = gram.mean(axis=0)
        s, U = np.linalg.eigh(gram - means - means[:, None] + means.mean())
        first = int(np.searchsorted(s, 4.0 * np.finfo(np.float64).eps * s[-1]))  # smaller ones are rounding errors
        s, U = s[first:], U[:, first:]
        return Decomposition(U, s, None, U * U)
    whitening = inverse_root(inner)
    features = gram @ whitening
    features -= features.mean(axis=0)
    s, V = np.linalg.eigh(features.T @ features)
    kept = s > 1e-12 * s[-1]
    s, V = s[kept], V[:, kept]
    U = features @ (V / np.sqrt(s))
    return Decomposition(U, s, whitening @ (V * np.sqrt(s)), U * U)


class Conditioning:
    """A conditioning variable with the decompositions that regressions on it share.

    `rows` are the rows that regressions are fitted to, `landmarks` some of them, or None for all. Kernel and metric are
    chosen with the same landmarks, or with `n_search` of them if it is given.
    """

    def __init__(
        self,
        variable: Variable,
        rows: Indices,
        landmarks: Indices | None,
        rng: np.random.Generator,
        n_search: int | None = None,
    ) -> None:
        self.variable, self.rows, self.landmarks = variable, rows, landmarks
        few = len(rows) <= SEARCH_ROWS
        self.searched = np.arange(len(rows)) if few else np.sort(rng.choice(len(rows), SEARCH_ROWS, replace=False))
        self._nodes = self._search_landmarks(n_search, rng)
        self._shared: list[tuple[Regression, Decomposition]] | None = None
        self._fits: dict[tuple[Kernel | None, float | None], Decomposition] = {}  # on all rows, without a metric

    def _search_landmarks(self, count: int | None, rng: np.random.Generator) -> Indices | None:
        """Return the landmarks of the search, None for all rows."""
        whole = self.landmarks is None and len(self.searched) == len(self.rows)
        near = self.rows[self.searched] if self.landmarks is None else self.landmarks
        if count is not None and count < len(near):
            return np.sort(rng.choice(near, count, replace=False))
        if whole or self.landmarks is not None:
            return self.landmarks
        return near[:: max(1, len(near) // LANDMARKS)]

    def regress(self, features: Floats) -> Regression:  # (n, r), of `rows`
        """Return the regression of features with the smallest leave-one-out error."""
        center = features.mean(axis=0)
        phi = features - center
        part = phi[self.searched]
        part = part[:, : _leading(part)]
        part = part - part.mean(axis=0)
        count = len(part)
        total = float(np.square(part).sum())
        best = Regression(None, None, None, np.inf, (count / (count - 1)) ** 2, phi)
        found = self._best(self._candidates(), part, total, best)
        best = found[0]
        if self.variable.vectors is not None and 1 < self.variable.vectors.shape[1] <= METRIC_COLUMNS:
            for _ in range(METRIC_STEPS):
                step = self._metric_step(found, part)
                if step is None:
                    break
                found = self._best(step, part, total, None)
                best = min(best, found[0], key=lambda one: one.unexplained)
        return self._fit(best, phi)

    def predict(self, fitted: Regression, features: Floats, new: Indices) -> Floats:  # (n, r) of `rows` -> (rows of new, r)
        """Return conditional means at other rows, from the regression of the features of `rows`."""
        center = features.mean(axis=0)
        if not np.isfinite(fitted.alpha):
            return np.tile(center, (len(new), 1))
        near = self.rows if self.landmarks is None else self.landmarks
        known = self._known(fitted)
        coefficients = known.coefficients(features - center, fitted.alpha)
        values = self._values(fitted, np.concatenate([self.rows, new]), near) @ coefficients
        return np.asarray(values[len(self.rows) :] - values[: len(self.rows)].mean(axis=0) + center)

    def _candidates(self) -> list[tuple[Regression, Decomposition]]:
        """Return the kernels of the first search with their decompositions, computed once."""
        if self._shared is None:
            if self.variable.vectors is None:
                forms = [Regression(kernel, None, None, 0.0, np.inf, np.empty(0)) for kernel in self.variable.kernels]
            else:
                forms = self._scales(np.eye(self.variable.vectors.shape[1]), FACTORS)
            self._shared = self._decomposed(forms)
        return self._shared

    def _scales(self, transform: Floats, factors: tuple[float, ...]) -> list[Regression]:
        assert self.variable.vectors is not None
        near = self.rows[self.searched] if self._nodes is None else self._nodes
        squares = _squared_distances(self.variable.vectors[near] @ transform, None)
        squares = squares[squares > 1e-18 * squares.max(initial=0.0)]
        median = float(np.sqrt(np.median(squares))) if len(squares) else 1.0
        return [Regression(None, factor * median, transform, 0.0, np.inf, np.empty(0)) for factor in factors]

    def _decomposed(self, forms: list[Regression]) -> list[tuple[Regression, Decomposition]]:
        """Return forms with one transform and the decompositions of their Gram matrices on the searched rows."""
        rows = self.rows[self.searched]
        if forms[0].transform is None:
            return [(form, decompose(*self._grams(form, rows, self._nodes))) for form in forms]
        assert self.variable.vectors is not None
        Z = self.variable.vectors[rows] @ forms[0].transform  # distances are shared by all length scales
        if self._nodes is None:
            squares, inner = _squared_distances(Z, None), None
        else:
            L = self.variable.vectors[self._nodes] @ forms[0].transform
            squares, inner = _squared_distances(Z, L), _squared_distances(L, None)
        found = []
        for form in forms:
            assert form.length_scale is not None
            scale = -0.5 / form.length_scale**2
            found.append((form, decompose(np.exp(scale * squares), None if inner is None else np.exp(scale * inner))))
        return found

    def _best(
        self, candidates: list[tuple[Regression, Decomposition]], part: Floats, total: float, start: Regression | None
    ) -> tuple[Regression, Decomposition]:
        """Return the candidate with the smallest leave-one-out error, with its penalty."""
        best = None if start is None else (start, candidates[0][1])
        for form, known in candidates:
            error, alpha = known.smallest_error(part, POWERS)
            if best is None or error / total < best[0].unexplained:
                best = replace(form, alpha=alpha, unexplained=error / total), known
        assert best is not None
        return best

    def _metric_step(
        self, found: tuple[Regression, Decomposition], part: Floats
    ) -> list[tuple[Regression, Decomposition]] | None:
        """Return candidates with the metric of the average gradient outer product; None for a constant fit."""
        form, known = found
        if not np.isfinite(form.alpha) or form.transform is None or form.length_scale is None:
            return None
        assert self.variable.vectors is not None
        Z = self.variable.vectors[self.rows[self.searched]] @ form.transform
        L = Z if self._nodes is None else self.variable.vectors[self._nodes] @ form.transform
        K = np.exp((-0.5 / form.length_scale**2) * _squared_distances(Z, L))
        coefficients = known.coefficients(part, form.alpha)  # (m, r)
        count, width = coefficients.shape
        d = Z.shape[1]
        stacked = (L[:, :, None] * coefficients[:, None, :]).reshape(count, d * width)
        gradients = (K @ stacked).reshape(len(Z), d, width) - Z[:, :, None] * (K @ coefficients)[:, None, :]
        flat = gradients.transpose(1, 0, 2).reshape(d, -1)
        values, vectors = np.linalg.eigh(flat @ flat.T)
        if not values[-1] > 0:
            return None
        root = (vectors * np.sqrt(np.maximum(values, 0.0) / values[-1])) @ vectors.T
        return self._decomposed(self._scales(form.transform @ root, FACTORS[1:4]))

    def _fit(self, form: Regression, phi: Floats) -> Regression:
        """Return the chosen regression fitted to all rows, with the penalty chosen on all rows."""
        total = float(np.square(phi).sum())
        if not np.isfinite(form.alpha):
            count = len(phi)
            return replace(form, residuals=phi, unexplained=(count / (count - 1)) ** 2)
        known = self._known(form)
        power = float(np.log10(form.alpha))
        error, alpha = known.smallest_error(phi, (power - 1.0, power, power + 1.0))
        shrink = known.s / (known.s + alpha)
        smoother = known.U, 2.0 * shrink - shrink**2
        return replace(
            form, alpha=alpha, unexplained=error / total, residuals=known.residuals(phi, alpha), smoother=smoother
        )

    def _known(self, form: Regression) -> Decomposition:
        """Return the decomposition of a form on all rows; the ones that several targets may share are kept."""
        shared = next((one for other, one in self._shared or [] if _same(other, form)), None)
        if shared is None:  # a metric of one target
            return decompose(*self._grams(form, self.rows, self.landmarks))
        if self._nodes is self.landmarks and len(self.searched) == len(self.rows):
            return shared
        key = form.kernel, form.length_scale
        if key not in self._fits:
            self._fits[key] = decompose(*self._grams(form, self.rows, self.landmarks))
        return self._fits[key]

    def _grams(self, form: Regression, rows: Indices, near: Indices | None) -> tuple[Floats, Floats | None]:
        """Return the Gram matrix of rows and landmarks, and of landmarks; None for `near` means all rows."""
        if near is None:
            return self._values(form, rows, rows), None
        return self._values(form, rows, near), self._values(form, near, near)

    def _values(self, form: Regression, left: Indices, right: Indices) -> Floats:
        if form.transform is None or form.length_scale is None:
            return self.variable.gram(left, right, form.kernel)
        assert self.variable.vectors is not None
        Z, L = self.variable.vectors[left] @ form.transform, self.variable.vectors[right] @ form.transform
        return np.asarray(np.exp((-0.5 / form.length_scale**2) * _squared_distances(Z, L)))


def constant_fit(features: Floats) -> Regression:
    """Return the regression on nothing: residuals are centered features."""
    count = len(features)
    return Regression(None, None, None, np.inf, (count / (count - 1)) ** 2, features - features.mean(axis=0))


def variance_ratio(one: Regression, other: Regression) -> float:
    """Return tr(R_x^2 R_y^2) / sum_i (R_x^2)_ii (R_y^2)_ii for the residual operators of two regressions.

    Residuals R e of independent errors are correlated between rows. The variance of a sum of products of residuals is this
    ratio times the variance for independent rows with the same variances, if the errors have equal variances.
    """
    n = len(one.residuals)
    kept, removed, cross = np.full((2, n), 1.0 - 1.0 / n), 0.0, 0.0
    for place, fit in enumerate((one, other)):
        if fit.smoother is not None:
            U, a = fit.smoother
            kept[place] -= np.square(U) @ a
            removed += float(a.sum())
    if one.smoother is not None and other.smoother is not None:
        (U, a), (V, b) = one.smoother, other.smoother
        cross = float(a @ np.square(U.T @ V) @ b)
    return (n - 1.0 - removed + cross) / float(np.maximum(kept[0] * kept[1], 1e-9).sum())


def _same(one: Regression, other: Regression) -> bool:
    return one.kernel is other.kernel and one.length_scale == other.length_scale and one.transform is other.transform


def _leading(phi: Floats) -> int:
    """Return the number of leading columns with SEARCHED_VARIANCE of the sum of squares."""
    squares = np.cumsum(np.square(phi).sum(axis=0))
    return int(np.searchsorted(squares, SEARCHED_VARIANCE * squares[-1])) + 1


def _squared_distances(X: Floats, Z: Floats | None) -> Floats:
    """Return squared distances of centered rows by one matrix product."""
    center = X.mean(axis=0)
    X = X - center
    Z = X if Z is None else Z - center
    products = X @ Z.T
    out = np.square(X).sum(axis=1)[:, None] + np.square(Z).sum(axis=1) - 2.0 * products
    return np.asarray(np.maximum(out, 0.0, out=out))
