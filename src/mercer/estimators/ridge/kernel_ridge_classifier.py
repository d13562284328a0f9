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
from mercer.estimators.ridge.kernel_ridge import check_alpha, read_alpha
from mercer.estimators.ridge.kernel_ridge_cv import TunedRidge
from mercer.estimators.ridge.problem import RidgeData, SolvedRidge
from mercer.estimators.ridge.routes import chunk_routes, fit_ridge, gathered, ridge_routes
from mercer.grams.chunks.rows import ChunkedRows
from mercer.inputs import widened
from mercer.inputs.chunks import Chunk, ReadTargets
from mercer.inputs.labels import classes_of, read_chunk_labels, read_labels
from mercer.planning import Route, Shape
from mercer.registry import estimator
from mercer.selection.scoring import ACCURACY
from mercer.selection.surface import read_splits


@estimator
class KernelRidgeClassifier(ClassifierMixin, TunedRidge):
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

    _takes_chunks = True

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None) -> KernelRidgeClassifier:
        """Fit to rows X with class labels y; `groups` are not split where alpha="loo" chooses."""
        return self._fit(X, y, sample_weight, groups=groups)

    def _check_parameters(self) -> None:
        if not (isinstance(self.alpha, str) and self.alpha == "loo"):
            check_alpha(self.alpha)

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

    def _narrows(self, n: int) -> bool:
        return self.alpha == "loo" and super()._narrows(n)

    def _solve(self, data: TrainingSet, route: Route, meter: Meter) -> SolvedRidge:
        name = type(self).__name__
        if data.chunked:  # a pass finds the classes, then labels are coded as they are read
            classes, weights = _classes_of_chunks(name, data.X), None
            rows = data.X.read_as(partial(read_coded, name, classes))
            Y = np.empty((0,) if len(classes) == 2 else (0, len(classes)))
        else:
            classes, rows, weights = classes_of(name, data.y, data.weights), data.rows, data.weights
            Y = coded(classes, data.y)
        part = RidgeData(rows, Y, weights, self.fit_intercept)
        if self.alpha == "loo":
            part = replace(part, splits=read_splits(self.cv, data.X, data.y, data.more["groups"], classifier=True))
            return replace(self._tune(data.kernel, part, ACCURACY, route, meter), classes=classes)
        alpha = read_alpha(self.alpha, Y[:, :1] if Y.ndim == 2 else Y)
        problem = part.problem(data.kernel, alpha, n_components=self.n_components, memory=self.memory)
        if data.chunked and route.solver == "cg":
            problem = gathered(problem)
        return SolvedRidge(problem, fit_ridge(problem, route.solver, meter), classes=classes)

    def _store(self, data: TrainingSet, solution: SolvedRidge) -> None:
        self.classes_ = solution.classes
        super()._store(data, solution)

    def decision_function(self, X: Any) -> Floats:
        """Return the fitted class functions, (n,) for two classes, (n, classes) otherwise; near -1 and +1."""
        check_is_fitted(self)
        return self._function(X)

    def predict(self, X: Any) -> Array:
        """Return the class of the largest decision value; ties go to the first class."""
        found = _largest(self.decision_function(X))
        return self.classes_[found]

    @property
    def loo_predictions_(self) -> Array:
        """The class of every training row as predicted without it, in closed form."""
        loo = self.loo_residuals_
        return self.classes_[_largest(self._problem.Y - loo)]

    def _quality(self) -> tuple[list[tuple[str, str]], dict[str, Any]]:
        problem, kind = self._problem, "training accuracy" if self._loo is None else "leave-one-out accuracy"
        labels = _largest(problem.Y)
        accuracy = float(np.mean(_largest(problem.Y - (self._residuals if self._loo is None else self._loo)) == labels))
        largest = float(np.unique(labels, return_counts=True)[1].max() / problem.n)
        lines = [
            (kind, f"{accuracy:.4g}"),
            ("the largest class alone", f"{largest:.4g}"),
            ("rows, classes", f"{problem.n}, {len(self.classes_)}"),
        ]
        return lines, {"accuracy": accuracy, "accuracy_kind": kind, "largest_class": largest, "n": problem.n}

    def _routes(self, shape: Shape) -> Iterable[Route]:
        if self.alpha == "loo":
            return self._surface_routes(shape)
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


def _largest(decision: Array) -> Array:  # (n,) or (n, C) -> (n,)
    """Class numbers by decision values; ties go to the first class."""
    return (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)


def coded(classes: Array, labels: Array) -> Floats:  # (C,), (n,) -> (n,) or (n, C)
    """Labels as -1 and +1, one column per class; two classes share one."""
    Y = np.where(labels[:, None] == classes, 1.0, -1.0)
    return Y[:, 1] if len(classes) == 2 else Y


def read_coded(what: str, classes: Array, y: Any, n: int, name: str) -> Floats:
    """The coded labels of one chunk."""
    return coded(classes, read_chunk_labels(what, y, n, name))
