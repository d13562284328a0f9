"""Classification by least squares on coded labels, with closed-form leave-one-out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from mercer.errors import InputError
from mercer.estimators.base import DEFAULT_KERNEL, whole_or_nothing
from mercer.estimators.progress import Meter
from mercer.estimators.ridge.kernel_ridge import RidgeFacts, read_alpha
from mercer.estimators.ridge.kernel_ridge_cv import explore, record_choice, surface_routes
from mercer.estimators.ridge.problem import Problem
from mercer.estimators.ridge.routes import fit, routes
from mercer.estimators.ridge.summary import summarize_classifier
from mercer.estimators.summary import Summary
from mercer.plan import Route, Shape, choose
from mercer.selection.grids import read_splits
from mercer.selection.scoring import ACCURACY
from mercer.selection.surface import Data
from mercer.selection.surface import choose as choose_point


class KernelRidgeClassifier(ClassifierMixin, RidgeFacts):
    """Kernel ridge on labels coded -1 and +1; the largest of the class functions decides, two classes share one.

    With `alpha="loo"` the penalty (and the length scale) is chosen by exact leave-one-out accuracy on the surface of
    KernelRidgeCV. Ties go to the first class.

    Parameters
    ----------
    kernel : Kernel or str, default Gaussian(length_scale="median")
    alpha : float or "loo", default 1.0
    alphas, length_scales, param_grid : the grids for alpha="loo"; chosen from the data if not given.
    cv : None (leave-one-out), int or splitter, for alpha="loo".
    fit_intercept : bool, default True
    solver, memory, verbose : as in KernelRidge.

    >>> import numpy as np
    >>> from mercer import KernelRidgeClassifier
    >>> X = np.array([[0.0], [1.0], [4.0], [5.0]])
    >>> KernelRidgeClassifier(alpha=0.1).fit(X, ["a", "a", "b", "b"]).predict([[0.4], [4.6]]).tolist()
    ['a', 'b']
    """

    def __init__(
        self,
        kernel: Any = DEFAULT_KERNEL,
        *,
        alpha: float | str = 1.0,
        alphas: Sequence[float] | None = None,
        length_scales: Sequence[float] | None = None,
        param_grid: Mapping[str, Sequence[Any]] | None = None,
        cv: Any = None,
        fit_intercept: bool = True,
        solver: str = "auto",
        memory: int | float | str | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.alphas = alphas
        self.length_scales = length_scales
        self.param_grid = param_grid
        self.cv = cv
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.memory = memory
        self.verbose = verbose

    rule = "best"  # the surface takes the best point

    @whole_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelRidgeClassifier:
        """Fit to rows X with class labels y."""
        X = self._read(X, reset=True)
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        labels = self._read_labels(y, n)
        weights = self._read_weights(sample_weight, n)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError(f"KernelRidgeClassifier needs two classes or more; y has only one class: {self.classes_[0]!r}.")
        Y = np.where(codes[:, None] == np.arange(len(self.classes_)), 1.0, -1.0)
        data = Data(X, Y[:, 1] if len(self.classes_) == 2 else Y, weights, self.fit_intercept, None)
        route = choose(self._routes(self._shape(X, data.Y)), self.memory, type(self).__name__)
        with Meter(type(self).__name__, self.verbose) as meter:
            if self.alpha == "loo":
                self._tune(data, labels, route, meter)
            else:
                alpha = read_alpha(self.alpha, data.Y[:, :1] if data.Y.ndim == 2 else data.Y)
                problem = Problem(self._resolved(X, weights), X, data.Y, alpha, weights, self.fit_intercept)
                self._store(problem, fit(problem, route.solver, meter), route)
        return self

    def _tune(self, data: Data, labels: NDArray[Any], route: Route, meter: Meter) -> None:
        X = data.X.astype(np.float64) if getattr(data.X, "dtype", None) == np.float32 else data.X
        splits = read_splits(self.cv, X, labels, None, classifier=True)
        data = Data(X, data.Y, data.weights, data.fit_intercept, splits)
        surface = explore(self, self._resolved(X, data.weights), data, ACCURACY, route, meter)
        record_choice(self, surface, *choose_point(surface, "best"), data, meter)

    def _read_labels(self, y: Any, n: int) -> NDArray[Any]:
        if y is None:
            raise InputError("KernelRidgeClassifier requires y to be passed, but the target y is None; give labels.")
        labels = np.asarray(y)
        if labels.ndim == 2 and labels.shape[1] == 1:
            import warnings

            from sklearn.exceptions import DataConversionWarning

            warnings.warn("A column-vector y was passed when a 1d array was expected.", DataConversionWarning, stacklevel=3)
            labels = labels[:, 0]
        if labels.shape != (n,):
            raise InputError(f"y has shape {labels.shape} for {n} rows of X; give one label per row.")
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            raise InputError("Input y contains NaN or infinity; drop such rows first.")
        check_classification_targets(labels)
        return labels

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the fitted class functions, (n,) for two classes, (n, classes) otherwise; near -1 and +1."""
        check_is_fitted(self)
        return self._function(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of the largest decision value; ties go to the first class."""
        decision = self.decision_function(X)
        return self.classes_[(decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)]

    @property
    def loo_predictions_(self) -> NDArray[Any]:
        """The class of every training row as predicted without it, in closed form."""
        decision = self._problem.Y - self.loo_residuals_
        return self.classes_[(decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)]

    def _summary(self) -> Summary:
        return summarize_classifier(self)

    def _routes(self, shape: Shape) -> tuple[Route, ...]:
        if self.alpha == "loo":
            return surface_routes(self, shape)
        return routes(shape, self.solver, least_squares=self.alpha == 0)
