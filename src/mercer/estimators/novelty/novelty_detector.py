"""`NoveltyDetector`: rows that the training rows do not explain, with exact p-values and shares of columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import OutlierMixin

from mercer.arrays import Floats, Indices, Ints
from mercer.errors import CapabilityError, InputError, check_choice, check_number, check_whole
from mercer.estimators.base import KernelEstimator, TrainingSet, check_is_fitted, whole_or_nothing
from mercer.estimators.intervals import conformal_rank
from mercer.estimators.novelty.column_map import ColumnMap, column_map
from mercer.estimators.novelty.default_kernel import OF_NUMBERS, default_kernel
from mercer.estimators.novelty.residuals import Residuals
from mercer.estimators.progress import Meter
from mercer.estimators.summary import Summary
from mercer.grams import gram
from mercer.grams.chunks.rows import ChunkedRows
from mercer.inputs import Rows, columns_of, count, is_frame, take
from mercer.inputs.chunks import Chunk
from mercer.kernels.base import Kernel
from mercer.kernels.column_terms import Column, column_terms
from mercer.numeric.memory import format_bytes
from mercer.planning import Route, Shape, entry_rate, gemm_rate
from mercer.registry import estimator

#: What is added to the diagonal, as a share of the mean of k(x, x). Benchmark: show-novelty.
NOISE = 0.03

#: Nearest training rows whose differences are split among columns.
NEAREST = 5

#: The largest difference of k(x, x) from 1 of a kernel that is normalized.
UNIT = 1e-9

#: Rounds of leaving out training rows that look like contamination.
ROUNDS = 3

#: The share of the training rows that gives the scales of columns, and the fewest of them. Benchmark: show-novelty.
SCALING, FEWEST = 0.25, 5


@dataclass(frozen=True)
class Explained:
    """What a fit finds: the rows it keeps, and their residuals without themselves."""

    residuals: Residuals
    columns: ColumnMap | None
    places: Indices  # (m,) of the rows that are kept
    rows: Any  # these m rows, as they were given
    left_out: Floats  # (m,)
    calibrating: Indices  # (c,) of the m rows that p-values count


@estimator
class NoveltyDetector(OutlierMixin, KernelEstimator):
    """Call a row novel if the training rows explain little of it: r(x) = k(x, x) - k_x' (K + noise I)^-1 k_x is large.

    r(x) is the reconstruction error of kernel PCA with all components, softened by the noise, and the variance of a
    Gaussian process. It is near 0 where training rows are near, alone or several together, and k(x, x) far from all.

    Without a kernel, rows of numbers get exponential kernels on scaled columns, in which both the value and the order of
    magnitude of a difference count; mixed tables, strings, graphs and series get kernels of their own. The scales come from
    a quarter of the rows, and p-values and `offset_` from the others, which keeps p-values exact.

    Parameters
    ----------
    kernel : Kernel, str or None
    alpha : float, default 0.05
        The rate of false alarms of `predict` among rows like the training rows.
    contamination : float in (0, 0.5), optional
        The share of training rows that may be novel themselves: those that the others explain least are left out of the
        fit, and `predict` calls that share of the training rows novel. p-values are then approximate.
    max_rows : int, default 4000
        Training rows that are kept; of more, and of rows in chunks, these are drawn at random, and the others are not used.
    memory : bytes or text such as "4 GB", optional
    random_state : int or None

    Attributes
    ----------
    offset_ (the score below which `predict` calls a row novel), loo_scores_ (scores of the kept training rows, each without
    itself), places_ (the rows that are kept), calibrating_ (those of the kept rows that p-values count), X_fit_, kernel_,
    route_.

    >>> import numpy as np
    >>> from mercer import NoveltyDetector
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> model = NoveltyDetector().fit(X)
    >>> model.predict([[0.0, 0.5], [6.0, 0.0]]).tolist()
    [1, -1]
    >>> bool(model.pvalues([[6.0, 0.0]])[0] < 0.01), model.column_shares([[6.0, 0.0]]).argmax(axis=1).tolist()
    (True, [0])
    """

    _stored: ClassVar[dict[str, str]] = {
        "X_fit_": "rows m d",
        "_residuals": "a Residuals",
        "_residuals.X": "rows m _",
        "_columns": "None | a ColumnMap",
        "_columns.units": "absent | float (d,) > 0",
        "_default": "None | kernel",
        "_unit": "flag",
        "places_": "int (m,) >= 0",
        "calibrating_": "int (c,) < m",
        "loo_scores_": "float (m,)",
        "offset_": "real",
    }

    _takes_chunks = True

    def __init__(
        self,
        kernel: Any = None,
        *,
        alpha: float = 0.05,
        contamination: float | None = None,
        max_rows: int = 4000,
        memory: int | float | str | None = None,
        random_state: int | None = 0,
        verbose: bool | None = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.contamination = contamination
        self.max_rows = max_rows
        self.memory = memory
        self.random_state = random_state
        self.verbose = verbose

    # -- fitting -----------------------------------------------------------------------------------------------------

    @whole_or_nothing
    def fit(self, X: Any, y: Any = None) -> NoveltyDetector:
        """Fit to rows X, all or nearly all of them usual; y is ignored."""
        self._default = default_kernel(X) if self.kernel is None else None
        fitted: NoveltyDetector = self._fit(X)
        return fitted

    def _given_kernel(self) -> Kernel:
        if self.kernel is not None:
            return super()._given_kernel()
        default = self.__dict__.get("_default")
        return OF_NUMBERS if default is None else default

    def _check_parameters(self) -> None:
        _check_alpha(self.alpha)
        check_whole("NoveltyDetector", "max_rows", self.max_rows, 2)
        if self.contamination is not None:
            rule = "None or a number between 0 and 0.5"
            check_number("NoveltyDetector", "contamination", self.contamination, rule, lambda share: 0.0 < share <= 0.5)

    def _solve(self, data: TrainingSet, route: Route, meter: Meter) -> Explained:
        rng = np.random.default_rng(self.random_state)
        n = data.n
        if n < 2:
            raise InputError(f"NoveltyDetector needs at least 2 rows to hold one against the others; got {n} sample.")
        if data.kernel.given and n > self.max_rows:
            raise InputError(
                "NoveltyDetector: with kernel values (Precomputed) max_rows must be at least the number of rows."
            )
        places = np.arange(n) if n <= self.max_rows else np.sort(rng.choice(n, self.max_rows, replace=False))
        rows = data.X.take(places).X if data.chunked else take(data.X, places)
        X, columns, kernel, calibrating = rows, None, data.kernel, np.arange(len(places))
        if self._default is OF_NUMBERS:
            X = np.asarray(X, dtype=np.float64)
            scaling, calibrating = parts(X, rng)
            columns = column_map(X[scaling])
            X, kernel = columns(X), columns.kernel()
        noise = NOISE * float(np.mean(np.asarray(kernel.diag(X), dtype=np.float64)))
        if not noise > 0.0:
            raise InputError(
                f"NoveltyDetector: k(x, x) = 0 for all rows under {data.kernel}, so there is nothing to explain."
            )
        found, kept = Residuals(kernel, X, noise), np.arange(len(places))
        whole, share = len(kept), self.contamination or 0.0
        for step in range(1, ROUNDS + 1) if share else ():
            stay = max(2, whole - int(np.ceil(share * whole * step / ROUNDS)))
            kept = kept[np.sort(np.argsort(found.left_out(), kind="stable")[:stay])]
            found = Residuals(kernel, take(X, kept), noise)
        counted = np.flatnonzero(np.isin(kept, calibrating))
        return Explained(found, columns, places[kept], take(rows, kept), found.left_out(), counted)

    def _store(self, data: TrainingSet, solution: Explained) -> None:
        self._residuals, self._columns, self.places_ = solution.residuals, solution.columns, solution.places
        self.X_fit_, self.calibrating_ = solution.rows, solution.calibrating
        self.kernel_ = self._residuals.kernel
        own = np.asarray(self.kernel_.diag(self._residuals.rows), dtype=np.float64)
        self._unit = bool(np.abs(own - 1.0).max() <= UNIT)
        self.loo_scores_ = self._scores(own, own - solution.left_out)
        if self.contamination is not None:
            if data.chunked:
                parts = data.X.column(explained_of, self._residuals, self._columns).T
            else:
                parts = self._residuals(self._mapped(data.X))
            self.offset_ = float(np.percentile(self._scores(*parts), 100.0 * self.contamination))
        else:
            m = len(self.calibrating_)
            rank = m + 1 - min(conformal_rank(m, 1.0 - self.alpha), m)
            self.offset_ = float(np.sort(self.loo_scores_[self.calibrating_])[rank - 1])

    # -- answers -----------------------------------------------------------------------------------------------------

    def score_samples(self, X: Any) -> Floats:
        """Return how well the training rows explain every row, (n,): the lower, the more novel.

        For kernels with k(x, x) = 1 the logarithm of the explained share of ||phi(x)||^2, otherwise minus the residual.
        """
        check_is_fitted(self)
        return self._scores(*self._residuals(self._mapped(self._read(X, reset=False))))

    def decision_function(self, X: Any) -> Floats:
        """Return score - offset_, negative for novel rows."""
        return self.score_samples(X) - self.offset_

    def pvalues(self, X: Any) -> Floats:
        """Return conformal p-values, (n,): for a new row of the same source, P(p <= a) <= a for every a.

        p = (1 + #{i : r_i >= r}) / (c + 1) for the c rows of `calibrating_`. Their residuals and that of x are each computed
        without the row itself and with all others, x included: all c + 1 rows are treated alike. The level is approximate
        if the kernel takes numbers from all training rows, as Gaussian("median") and the kernel of mixed tables do, with
        fewer than 10 rows of numbers, and with contamination.
        """
        check_is_fitted(self)
        return self._residuals.pvalues(self._mapped(self._read(X, reset=False)), self.calibrating_)

    def predict(self, X: Any, alpha: float | None = None, *, control: str = "level") -> Ints:
        """Return -1 for novel rows and +1 for the others.

        Without alpha, rows with a score below `offset_` are novel. With alpha, rows with p <= alpha are; with
        control="fdr" those that Benjamini and Hochberg's rule finds, so that at most the share alpha of them is expected
        to be false alarms.
        """
        check_choice("NoveltyDetector", "control", control, ("level", "fdr"))
        if alpha is None and control == "level":
            return np.where(self.decision_function(X) < 0, -1, 1)
        level = self.alpha if alpha is None else alpha
        _check_alpha(level)
        pvalues = self.pvalues(X)
        return np.where(found_among(pvalues, level) if control == "fdr" else pvalues <= level, -1, 1)

    def column_shares(self, X: Any) -> Floats:
        """Return the share of every column in the distance to the nearest training rows, (n, columns); rows add up to 1.

        Without a kernel the distance of scaled columns is a sum over columns; for a kernel that is a product over columns
        so is -log k(x, z). The shares are then exact: they are Shapley values. The mean over the five nearest training rows
        is split.
        """
        check_is_fitted(self)
        new = self._read(X, reset=False)
        if self._columns is not None:
            parts = self._first_scale(np.asarray(new, dtype=np.float64))
        else:
            columns: list[Column] = [str(c) for c in new.columns] if is_frame(new) else list(range(columns_of(new) or 0))
            parts = factor_distances(self.kernel_, new, self._residuals.rows, columns)
        totals = parts.sum(axis=1, keepdims=True)
        return np.divide(parts, totals, out=np.full_like(parts, 1.0 / parts.shape[1]), where=totals > 0)

    def _first_scale(self, X: Floats) -> Floats:  # (n, d) -> (n, d)
        """Mean differences to the nearest training rows on the first scale of the columns."""
        assert self._columns is not None
        known, new = self._residuals.X[:, : X.shape[1]], self._columns.first(X)
        found = np.empty_like(new)
        for i, row in enumerate(new):
            gaps = np.abs(known - row)
            found[i] = gaps[np.argsort(gaps.sum(axis=1), kind="stable")[:NEAREST]].mean(axis=0)
        return found

    def _mapped(self, X: Any) -> Any:
        """Rows as read, with their columns mapped if the kernel is the default one of numbers."""
        return X if self._columns is None else self._columns(np.asarray(X, dtype=np.float64))

    def _scores(self, own: Floats, explained: Floats) -> Floats:  # (n,), (n,) -> (n,)
        if self._unit:
            return np.log(np.clip(explained, np.finfo(np.float64).tiny, 1.0))
        return -np.maximum(own - explained, 0.0)

    # -- plan and summary --------------------------------------------------------------------------------------------

    def _routes(self, shape: Shape) -> tuple[Route, ...]:
        m = min(int(self.max_rows), shape.n)
        seconds = m * m / entry_rate() + m**3 / gemm_rate()
        reason = f"the Gram matrix of {m} rows" if m == shape.n else f"{m} of {shape.n} rows, drawn at random"
        return (Route("gram", 32 * m * m, seconds, reason, exact=m == shape.n),)

    def _chunk_routes(self, shape: Shape, rows: ChunkedRows) -> tuple[Route, ...]:
        if rows.once:
            raise InputError("NoveltyDetector draws rows from all chunks; an iterator is read once. Give a function.")
        (route,) = self._routes(shape)
        passes = rows.passes_before(self._given_kernel()) + 1 + (self.contamination is not None)
        return (replace(route, passes=passes),)

    def _summary(self) -> Summary:
        rule = f"level {self.alpha:g}" if self.contamination is None else f"contamination {self.contamination:g}"
        lines = (
            ("kernel", str(self.kernel_)),
            ("rows", f"{len(self.places_)} kept"),
            ("novel below", f"{self.offset_:.6g} ({rule})"),
            ("smallest p-value", f"{1.0 / (len(self.calibrating_) + 1):.3g}"),
            ("route", f"{self.route_.solver}: {self.route_.reason}"),
            ("memory of the fit", format_bytes(self.route_.bytes)),
        )
        return Summary(repr(self), lines, {"offset": self.offset_, "rows": len(self.places_)})


def explained_of(chunk: Chunk, residuals: Residuals, columns: ColumnMap | None) -> Floats:  # -> (n, 2)
    """Return k(x, x) of the rows of a chunk, and what the training rows explain of it."""
    X = chunk.X if columns is None else columns(np.asarray(chunk.X, dtype=np.float64))
    return np.column_stack(residuals(X))


def parts(X: Floats, rng: np.random.Generator) -> tuple[Indices, Indices]:  # (n, d) -> (s,), (c,)
    """Return the rows that give the scales of columns, and the others, for p-values.

    A new row has no part in the scales, so a row that has one would be treated otherwise. Both are all rows if there are
    fewer than 10, or if the first part has equal rows only, which have no scale.
    """
    order = rng.permutation(len(X))
    size = max(FEWEST, int(np.ceil(SCALING * len(X))))
    if len(X) < 2 * FEWEST or not np.ptp(X[order[:size]], axis=0).any():
        return np.arange(len(X)), np.arange(len(X))
    return np.sort(order[:size]), np.sort(order[size:])


def factor_distances(kernel: Kernel, new: Any, known: Rows, columns: list[Column]) -> Floats:  # -> (n, d)
    """Return -log of the factor of every column, the mean over the nearest training rows."""
    if not columns:
        raise CapabilityError("NoveltyDetector.column_shares needs rows with columns; these rows are single objects.")
    terms = column_terms(kernel, columns)
    if len(terms) != 1:
        raise CapabilityError(f"NoveltyDetector.column_shares needs a product over columns; {kernel} is a sum.")
    found = np.zeros((count(new), len(columns)))
    for i in range(count(new)):
        row = Rows(take(new, slice(i, i + 1)))
        near = known.take(np.argsort(-np.asarray(gram(kernel, row, known))[0], kind="stable")[:NEAREST])
        for column, factor in terms[0].factors.items():
            values = np.asarray(factor(row, near), dtype=np.float64)[0]
            found[i, columns.index(column)] = -np.log(np.maximum(values, np.finfo(np.float64).tiny)).mean()
    return np.maximum(found, 0.0)


def found_among(pvalues: Floats, rate: float) -> Any:  # (n,) -> (n,) bool
    """Return the p-values that Benjamini and Hochberg's rule accepts at a rate of false discoveries."""
    n = len(pvalues)
    order = np.sort(pvalues)
    below = np.flatnonzero(order <= rate * np.arange(1, n + 1) / n)
    return pvalues <= order[below[-1]] if len(below) else np.zeros(n, dtype=bool)


def _check_alpha(alpha: Any) -> None:
    check_number("NoveltyDetector", "alpha", alpha, "a number between 0 and 1", lambda level: 0.0 < level < 1.0)
