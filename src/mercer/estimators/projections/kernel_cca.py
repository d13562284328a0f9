"""`KernelCCA`: functions of two or more views of the same rows that are as correlated as possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Floats, Indices
from mercer.errors import InputError, check_number, check_whole, describe
from mercer.estimators.base import DEFAULT_KERNEL, check_shared_parameters, whole_or_nothing
from mercer.estimators.progress import Meter
from mercer.estimators.projections.canonical import (
    SOLVED,
    CanonicalView,
    along_axes,
    by_cholesky,
    canonical_vectors,
    functions,
    mean_correlations,
    whitening,
)
from mercer.estimators.projections.routes import coordinate_routes, coordinates
from mercer.estimators.summary import Summary
from mercer.grams.coordinates import exact_coordinates
from mercer.grams.dual_function import DualFunction
from mercer.inputs import Rows, columns_of, is_frame
from mercer.kernels.base import Kernel
from mercer.kernels.parsing import as_kernel
from mercer.numeric.memory import format_bytes
from mercer.planning import Route, choose_route
from mercer.registry import estimator

#: Penalties that "auto" compares, as shares of the total variance of a view.
ALPHAS = tuple(10.0 ** (power / 2.0) for power in range(-12, 2))

#: Rows that "auto" looks at, over all views, and the parts that they are cut into.
AUTO_ROWS, FOLDS = 1200, 5


@estimator
class KernelCCA(BaseEstimator):
    """Canonical correlations of feature vectors: functions f_v of the views with the largest sum of covariances.

    The functions satisfy sum_v var f_v(x_v) + penalty_v ||f_v||^2 = 1. For two views and no penalty these are the canonical
    correlations; for the linear kernel they are those of scikit-learn's CCA. Views are anything that a kernel takes: texts
    beside tables, molecules beside assays.

    Parameters
    ----------
    kernels : list of kernels or their texts, or one for all views
    n_components : int, default 2
    alpha : float or "auto", default "auto"
        Penalty as a share of the variance of a view, the mean of ||phi(x) - mean||^2. "auto" takes the one of largest
        correlation in rows that were left out, in five parts of at most 1,200 rows over all views.
    memory : bytes or text such as "4 GB", optional
        If the Gram matrices do not fit, 1,000 landmarks stand for the rows of each view.
    random_state : int or None
        Seed of the parts and of the landmarks.

    Attributes
    ----------
    correlations_ : (q,) of the training projections, the mean over pairs of views
    alpha_ : float; alphas_ and held_out_ (mean held-out correlation of each) if "auto" chose it
    views_ : functions of the views, kernels_, route_, n_views_

    >>> import numpy as np
    >>> from mercer import KernelCCA, Linear
    >>> rng = np.random.default_rng(0)
    >>> common = rng.normal(size=(200, 1))
    >>> left, right = np.hstack([common, rng.normal(size=(200, 2))]), np.hstack([rng.normal(size=(200, 1)), -common])
    >>> model = KernelCCA([Linear(), Linear()], n_components=1).fit([left, right])
    >>> bool(model.correlations_[0] > 0.999), model.transform([left, right])[1].shape
    (True, (200, 1))
    """

    _stored: ClassVar[dict[str, str]] = {
        "n_views_": "size v",
        "views_": "each v: a DualFunction",
        "kernels_": "each v: kernel",
        "correlations_": "real (q,)",
        "alpha_": "float",
        "alphas_": "float (A,)",
        "held_out_": "real (A,)",
        "route_": "a Route",
    }

    def _check_loaded(self) -> None:
        q = len(self.correlations_)
        if q == 0 or any(view.dual.shape[1:] != (q,) for view in self.views_):
            raise InputError("KernelCCA.views_ and correlations_ do not belong together; the file was changed.")

    views_: list[DualFunction]
    kernels_: list[Kernel]
    route_: Route

    def __init__(
        self,
        kernels: Any = DEFAULT_KERNEL,
        n_components: int = 2,
        *,
        alpha: float | str = "auto",
        memory: int | float | str | None = None,
        random_state: int | None = 0,
        verbose: bool | None = None,
    ) -> None:
        self.kernels = kernels
        self.n_components = n_components
        self.alpha = alpha
        self.memory = memory
        self.random_state = random_state
        self.verbose = verbose

    @whole_or_nothing
    def fit(self, views: Any, y: Any = None) -> KernelCCA:
        """Find the functions of the views, a list of collections with one row per object each; y is ignored."""
        check_shared_parameters(self)
        self._check_parameters()
        rows = _read_views(views)
        n = len(rows[0])
        kernels = [kernel.resolve(part) for kernel, part in zip(self._given(len(rows)), rows, strict=True)]
        route = choose_route(coordinate_routes(n, len(rows), self.n_components), self.memory, "KernelCCA")
        with Meter(f"KernelCCA ({route.solver})", self.verbose):
            held_out = self._held_out(kernels, rows) if self.alpha == "auto" else np.empty(0)
            alpha = ALPHAS[int(np.argmax(held_out))] if self.alpha == "auto" else float(self.alpha)
            found = [self._view(k, part, alpha, route.solver) for k, part in zip(kernels, rows, strict=True)]
            _refuse_constant([view.T for view in found])
            vectors, values = canonical_vectors([view.T for view in found], self.n_components)
            parts = functions(found, vectors, values)
        self.correlations_ = mean_correlations([view.T @ S for view, S in zip(found, vectors, strict=True)])
        self.views_ = [
            DualFunction(kernel, view.anchors, *part) for kernel, view, part in zip(kernels, found, parts, strict=True)
        ]
        self.kernels_, self.alpha_, self.route_, self.n_views_ = kernels, alpha, route, len(rows)
        self.alphas_, self.held_out_ = np.array(ALPHAS[: len(held_out)]), held_out
        return self

    def _check_parameters(self) -> None:
        check_whole("KernelCCA", "n_components", self.n_components, 1)
        if self.alpha != "auto":
            check_number("KernelCCA", "alpha", self.alpha, 'a finite number > 0 or "auto"', lambda a: 0.0 < a < np.inf)

    def _given(self, n_views: int) -> list[Kernel]:
        """The kernels as they were given, one for each view."""
        many = isinstance(self.kernels, Sequence) and not isinstance(self.kernels, str)
        kernels = [as_kernel(one) for one in (self.kernels if many else [self.kernels] * n_views)]
        if len(kernels) != n_views:
            raise InputError(f"KernelCCA: {len(kernels)} kernels for {n_views} views; give one for each, or one for all.")
        return kernels

    def _view(self, kernel: Kernel, part: Rows, alpha: float, solver: str) -> CanonicalView:
        if solver == "gram" and alpha >= SOLVED:
            return by_cholesky(kernel, part, alpha)
        return along_axes(coordinates(kernel, part, np.ones(len(part)), solver, self.random_state), alpha)

    def _held_out(self, kernels: list[Kernel], rows: list[Rows]) -> Floats:  # -> (alphas,)
        """Mean correlation over components and parts, in rows that were left out, for every penalty."""
        rng = np.random.default_rng(self.random_state)
        n = len(rows[0])
        chosen = rng.permutation(n)[: max(AUTO_ROWS // len(rows), 4 * FOLDS)]
        if len(chosen) < 2 * FOLDS:
            raise InputError(f'KernelCCA: alpha="auto" needs at least {2 * FOLDS} rows, and there are {n}; give a number.')
        parts = np.array_split(chosen, FOLDS)
        found = np.zeros((FOLDS, len(ALPHAS)))
        for fold, part in enumerate(parts):
            found[fold] = self._scores_of(kernels, rows, np.concatenate([p for p in parts if p is not part]), part)
        return found.mean(axis=0)

    def _scores_of(self, kernels: list[Kernel], rows: list[Rows], inside: Indices, outside: Indices) -> Floats:
        ones, pairs = np.ones(len(inside)), zip(kernels, rows, strict=True)
        fits = [exact_coordinates(k, part.take(inside), ones) for k, part in pairs]
        _refuse_constant([c.Z for c in fits], ' in a part of the rows that alpha="auto" looks at; give a number for alpha')
        new = [
            np.asarray(k(part.take(outside), part.take(inside)), dtype=np.float64) @ c.transform - c.offset
            for k, part, c in zip(kernels, rows, fits, strict=True)
        ]
        scores = []
        for alpha in ALPHAS:
            scales = [whitening(c, alpha) for c in fits]
            vectors, _ = canonical_vectors([c.Z * own for c, own in zip(fits, scales, strict=True)], self.n_components)
            outside_scores = [(Z * own) @ S for Z, own, S in zip(new, scales, vectors, strict=True)]
            scores.append(mean_correlations(outside_scores).mean())
        return np.array(scores)

    def transform(self, views: Any) -> list[Floats | None]:
        """Return the projections of every view, a list of (n, q) arrays; None in the place of a view gives None."""
        check_is_fitted(self, "views_")
        given = list(views)
        if len(given) != self.n_views_:
            raise InputError(
                f"KernelCCA was fitted to {self.n_views_} views; got {len(given)}. None stands for a missing one."
            )
        found: list[Floats | None] = []
        for place, (view, f) in enumerate(zip(given, self.views_, strict=True)):
            if view is not None and not f.kernel.given:
                _refuse_other_columns(view, place, f.X)
            found.append(None if view is None else f.predict(view))
        return found

    def fit_transform(self, views: Any, y: Any = None) -> list[Floats | None]:
        """Fit, and return the projections of the training rows."""
        return self.fit(views).transform(views)

    def score(self, views: Any, y: Any = None) -> float:
        """Return the mean correlation of the projections of new rows, over components and pairs of views."""
        parts = self.transform(views)
        if any(part is None for part in parts):
            raise InputError("KernelCCA.score needs every view; None was given.")
        return float(mean_correlations([part for part in parts if part is not None]).mean())

    def _summary(self) -> Summary:
        how = "held-out correlation" if len(self.held_out_) else "given"
        lines = (
            ("views", "; ".join(str(kernel) for kernel in self.kernels_)),
            ("correlations", ", ".join(f"{value:.4g}" for value in self.correlations_[:8]) + " (training)"),
            ("alpha", f"{self.alpha_:.3g} of the variance ({how})"),
            ("route", f"{self.route_.solver}: {self.route_.reason}"),
            ("memory of the fit", format_bytes(self.route_.bytes)),
        )
        return Summary(repr(self), lines, {"alpha": self.alpha_, "correlation": float(self.correlations_[0])})

    def __str__(self) -> str:
        return str(self._summary()) if self.__sklearn_is_fitted__() else repr(self)

    def __sklearn_is_fitted__(self) -> bool:
        return "views_" in self.__dict__


def _read_views(views: Any) -> list[Rows]:
    if not isinstance(views, (list, tuple)) or len(views) < 2:
        raise InputError(f"KernelCCA: views must be a list of two or more collections; got {describe(views)}.")
    rows = [Rows(view, f"views[{place}]") for place, view in enumerate(views)]
    for part in rows[1:]:
        if len(part) != len(rows[0]):
            raise InputError(
                f"KernelCCA: {part.name} has {len(part)} rows and views[0] has {len(rows[0])}; give the same objects."
            )
    if len(rows[0]) < 3:
        raise InputError(f"KernelCCA needs at least 3 rows; got {len(rows[0])}.")
    return rows


def _refuse_constant(found: Sequence[Floats], where: str = "; nothing correlates with it") -> None:  # (n, r) each
    for place, Z in enumerate(found):
        if Z.shape[1] == 0:
            raise InputError(f"KernelCCA: views[{place}] is constant: all its rows are equal for its kernel{where}.")


def _refuse_other_columns(view: Any, place: int, known: Any) -> None:
    width, wanted = columns_of(view), columns_of(known)
    if width is not None and wanted is not None and width != wanted:
        raise InputError(f"KernelCCA: views[{place}] has {width} columns, but it had {wanted} in the fit.")
    if is_frame(view) and is_frame(known) and list(view.columns) != list(known.columns):
        raise InputError(
            f"KernelCCA: views[{place}] has the columns {list(view.columns)}, but it had {list(known.columns)} in the fit; "
            "give the same columns in the same order."
        )
