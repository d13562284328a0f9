"""Classification by least squares on coded labels, with closed-form leave-one-out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin

from mercer.arrays import Array, Floats
from mercer.errors import InputError
from mercer.estimators.base import DEFAULT_KERNEL, TrainingSet, check_is_fitted
from mercer.estimators.progress import Meter
from mercer.estimators.ridge.kernel_ridge import RidgeFacts, read_alpha
from mercer.estimators.ridge.kernel_ridge_cv import Tuned, explore, store_choice, surface_routes, tuned
from mercer.estimators.ridge.problem import RidgeData, SolvedRidge
from mercer.estimators.ridge.routes import chunk_routes, fit_ridge, gathered, ridge_routes
from mercer.estimators.ridge.summary import summarize_classifier
from mercer.estimators.summary import Summary
from mercer.grams.chunks.rows import ChunkedRows
from mercer.inputs import widened
from mercer.inputs.chunks import Chunk, ReadTargets
from mercer.inputs.labels import classes_of, read_chunk_labels, read_labels
from mercer.planning import Route, Shape
from mercer.registry import estimator
from mercer.selection.scoring import ACCURACY
from mercer.selection.surface import choose_point, read_splits


@estimator
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
    solver, n_components, memory, verbose : as in KernelRidge.

    >>> import numpy as np
    >>> from mercer import KernelRidgeClassifier
    >>> X = np.array([[0.0], [1.0], [4.0], [5.0]])
    >>> KernelRidgeClassifier(alpha=0.1).fit(X, ["a", "a", "b", "b"]).predict([[0.4], [4.6]]).tolist()
    ['a', 'b']
    """

    _stored: ClassVar[dict[str, str]] = {
        "classes_": "labels (C,)",
        "dual_coef_": "absent | float (n, *functions(C))",
        "intercept_": "float (*functions(C))",
    }

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
        n_components: int | None = None,
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
        self.n_components = n_components
        self.memory = memory
        self.verbose = verbose

    rule = "best"  # the surface takes the best point

    _takes_chunks = True

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelRidgeClassifier:
        """Fit to rows X with class labels y."""
        return self._fit(X, y, sample_weight)

    def _read(self, X: Any, reset: bool) -> Any:
        rows = super()._read(X, reset)
        return widened(rows) if reset and self.alpha == "loo" else rows

    def _read_y(self, y: Any, n: int) -> Array:
        return read_labels(type(self).__name__, y, n)

    def _chunk_targets(self) -> ReadTargets:
        return partial(read_chunk_labels, type(self).__name__)

    def _shape(self, X: Any, y: Any = None) -> Shape:
        shape = super()._shape(X)
        classes = 2 if y is None else len(np.unique(np.asarray(y)))
        return replace(shape, n_targets=classes if classes > 2 else 1)

    def _solve(self, data: TrainingSet, route: Route, meter: Meter) -> Tuned | SolvedRidge:
        if data.chunked:
            return self._solve_chunks(data, route, meter)
        classes = classes_of(type(self).__name__, data.y, data.weights)
        Y = coded(classes, data.y)
        if self.alpha == "loo":
            splits = read_splits(self.cv, data.X, data.y, None, classifier=True)
            part = RidgeData(data.rows, Y, data.weights, self.fit_intercept, splits)
            surface = explore(self, data.kernel, part, ACCURACY, route, meter)
            return tuned(surface, choose_point(surface, "best"), part, route, meter, self.n_components)
        alpha = read_alpha(self.alpha, Y[:, :1] if Y.ndim == 2 else Y)
        problem = RidgeData(data.rows, Y, data.weights, self.fit_intercept).problem(
            data.kernel, alpha, n_components=self.n_components, memory=self.memory
        )
        return SolvedRidge(problem, fit_ridge(problem, route.solver, meter))

    def _solve_chunks(self, data: TrainingSet, route: Route, meter: Meter) -> SolvedRidge:
        """The same on chunks: a pass finds the classes, then labels are coded as they are read."""
        classes = _classes_of_chunks(type(self).__name__, data.X)
        rows = data.X.read_as(partial(read_coded, type(self).__name__, classes))
        Y = np.empty((0,) if len(classes) == 2 else (0, len(classes)))
        alpha = read_alpha(self.alpha, Y[:, :1] if Y.ndim == 2 else Y)
        problem = RidgeData(rows, Y, None, self.fit_intercept).problem(
            data.kernel, alpha, n_components=self.n_components, memory=self.memory
        )
        if route.solver == "cg":
            problem = gathered(problem)
        return SolvedRidge(problem, fit_ridge(problem, route.solver, meter), classes=classes)

    def _store(self, data: TrainingSet, solution: Tuned | SolvedRidge) -> None:
        if isinstance(solution, SolvedRidge) and solution.classes is not None:
            self.classes_ = solution.classes
        else:
            self.classes_ = classes_of(type(self).__name__, data.y, data.weights)
        self._keep(solution.ridge if isinstance(solution, Tuned) else solution)
        if isinstance(solution, Tuned):
            store_choice(self, solution)

    def decision_function(self, X: Any) -> Floats:
        """Return the fitted class functions, (n,) for two classes, (n, classes) otherwise; near -1 and +1."""
        check_is_fitted(self)
        return self._function(X)

    def predict(self, X: Any) -> Array:
        """Return the class of the largest decision value; ties go to the first class."""
        decision = self.decision_function(X)
        return self.classes_[(decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)]

    @property
    def loo_predictions_(self) -> Array:
        """The class of every training row as predicted without it, in closed form."""
        decision = self._problem.Y - self.loo_residuals_
        return self.classes_[(decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)]

    def _summary(self) -> Summary:
        return summarize_classifier(self)

    def _routes(self, shape: Shape) -> Iterable[Route]:
        if self.alpha == "loo":
            return surface_routes(self, shape)
        return ridge_routes(shape, self.solver, self.alpha == 0, self.n_components, self.memory)

    def _chunk_routes(self, shape: Shape, rows: ChunkedRows) -> tuple[Route, ...]:
        if self.alpha == "loo":
            raise InputError('KernelRidgeClassifier: alpha="loo" needs all rows at once; on chunks give a number > 0.')
        passes = 1  # to find the classes
        if rows.once:
            raise InputError("KernelRidgeClassifier finds the classes in a pass of its own, and an iterator is read once.")
        return chunk_routes(shape, rows, self._given_kernel(), self.solver, self.alpha, self.n_components, passes)


def _classes_of_chunks(what: str, rows: ChunkedRows) -> Array:
    """The classes that occur in the chunks, sorted; rows of weight 0 do not count."""
    found = [labels for labels in rows.map(_labels) if labels is not None]
    return classes_of(what, np.concatenate(found))


def _labels(chunk: Chunk) -> Array:
    return np.unique(chunk.y if chunk.weights is None else chunk.y[chunk.weights > 0])


def coded(classes: Array, labels: Array) -> Floats:  # (C,), (n,) -> (n,) or (n, C)
    """Labels as -1 and +1, one column per class; two classes share one."""
    Y = np.where(labels[:, None] == classes, 1.0, -1.0)
    return Y[:, 1] if len(classes) == 2 else Y


def read_coded(what: str, classes: Array, y: Any, n: int, name: str) -> Floats:
    """The coded labels of one chunk."""
    return coded(classes, read_chunk_labels(what, y, n, name))
