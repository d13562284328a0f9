"""The class-mean classifier: a point belongs to the class whose mean in feature space is nearest."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin

from mercer.arrays import Array, Floats
from mercer.errors import InputError, NumericalError
from mercer.estimators.base import DEFAULT_KERNEL, DualModel, TrainingSet, check_is_fitted, whole_or_nothing
from mercer.estimators.means.class_means import ClassMeans, temperature
from mercer.estimators.prediction_sets import HeldOutClasses, SetMixin
from mercer.estimators.progress import Meter
from mercer.estimators.summary import Summary
from mercer.grams.chunks.operator import diagonal
from mercer.grams.chunks.rows import ChunkedRows
from mercer.grams.differences import warn_of_cancellation
from mercer.grams.products import chunk_product_routes, from_features, product, product_routes, to_features
from mercer.inputs import append, count, take
from mercer.inputs.chunks import ReadTargets
from mercer.inputs.labels import classes_of, encode, read_chunk_labels, read_labels, stream_classes
from mercer.numeric.memory import format_bytes
from mercer.planning import Route, Shape, choose_route
from mercer.registry import estimator


@estimator
class NearestMean(ClassifierMixin, SetMixin, DualModel):
    """Classify by the nearest class mean: h(x) = sgn(||phi(x) - m_0||^2 - ||phi(x) - m_1||^2).

    By kernel sums this is sgn(<w, phi(x)> - b) with w = m_1 - m_0 and b = (||m_1||^2 - ||m_0||^2) / 2; ties go to the
    first class. With more classes the score of class c is <m_c, phi(x)> - ||m_c||^2 / 2, and the largest wins.

    Parameters
    ----------
    kernel : Kernel or str, default Gaussian(length_scale="median")
    memory : bytes or text such as "4 GB", optional
    verbose : bool or None

    Attributes
    ----------
    classes_, class_count_ (total weights), mean_norms_ (||m_c||), dual_coef_ (of w, or of every mean), intercept_ (-b,
    or -||m_c||^2 / 2), coef_ (coordinates of w in the explicit features, where that route was taken), loo_scores_
    (decision values of the training rows, each against means without it), temperature_ (probabilities are
    softmax(temperature_ * scores), most likely on loo_scores_), X_fit_, kernel_, route_.

    >>> import numpy as np
    >>> from mercer import Linear, NearestMean
    >>> X, y = np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 4.0], [6.0, 4.0]]), ["a", "a", "b", "b"]
    >>> model = NearestMean(Linear()).fit(X, y)
    >>> model.decision_function([[3.0, 2.0]]).tolist()  # half way between the means: a tie
    [0.0]
    >>> model.predict([[3.0, 2.0], [3.1, 2.0]]).tolist()
    ['a', 'b']
    """

    _stored: ClassVar[dict[str, str]] = {
        "classes_": "labels (C,)",
        "dual_coef_": "float (n, *functions(C))",
        "intercept_": "real (*functions(C))",  # infinite for a class that has no rows yet, as its norm
        "coef_": "None | float (_, *functions(C))",
        "_means": "a ClassMeans",
        "_means.sums": "float (n, C)",
        "mean_norms_": "real (C,)",
        "class_count_": "float (C,)",
        "temperature_": "real",
        "loo_scores_": "absent | real (n, *functions(C))",
    }

    coef_: Any

    def __init__(
        self, kernel: Any = DEFAULT_KERNEL, *, memory: int | float | str | None = None, verbose: bool | None = None
    ) -> None:
        self.kernel = kernel
        self.memory = memory
        self.verbose = verbose

    _takes_chunks = _gathers_chunks = True

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> NearestMean:
        """Take the mean of every class; a weight counts as that many copies of its row."""
        return self._fit(X, y, sample_weight)

    def _read_y(self, y: Any, n: int) -> Array:
        return read_labels(type(self).__name__, y, n)

    def _solve(self, data: TrainingSet, route: Route, meter: Meter) -> tuple[Array, ClassMeans]:
        classes = classes_of(type(self).__name__, data.y, data.weights)
        A = self._memberships(data.y, classes, data.weights)
        S = product(data.kernel, data.factors, data.factors, A, route.solver == "primal", meter)
        return classes, ClassMeans(S, A, np.asarray(diagonal(data.kernel, data.factors), dtype=np.float64))

    def _store(self, data: TrainingSet, solution: tuple[Array, ClassMeans]) -> None:
        self.classes_, means = solution
        self._keep(means)

    @whole_or_nothing
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> NearestMean:
        """Add a batch to the means: the same model as one fit on all batches, with the kernel of the first.

        The first call fixes the classes: those of `classes`, or those of its labels.
        """
        first, name = not hasattr(self, "kernel_"), type(self).__name__
        self._given_kernel().refuse_stream(name)
        X = self._read(X, reset=first)
        labels = read_labels(name, y, count(X))
        weights = self._read_weights(sample_weight, count(X))
        if first:
            self.classes_ = stream_classes(name, classes, labels)
            self.route_ = choose_route(self._routes(self._shape(X)), self.memory, name)
        kernel = self._resolved(X, weights) if first else self.kernel_
        A = self._memberships(labels, self.classes_, weights)
        S, diagonal = product(kernel, X, X, A, self._explicit), np.asarray(kernel.diag(X), dtype=np.float64)
        if not first:
            old = self._means
            S += product(kernel, X, self.X_fit_, old.memberships, self._explicit)
            S = np.concatenate([old.sums + product(kernel, self.X_fit_, X, A, self._explicit), S])
            A, diagonal = np.concatenate([old.memberships, A]), np.concatenate([old.diagonal, diagonal])
            X = append(self.X_fit_, X)
        self.kernel_, self.X_fit_ = kernel, X
        self._keep(ClassMeans(S, A, diagonal))
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return <w, phi(x)> - b, (n,), positive for the second class; (n, C) scores for C > 2 classes."""
        check_is_fitted(self)
        if not self._explicit:
            return self._decision(X)
        return from_features(self.kernel_, self._read(X, reset=False), self.coef_) + self.intercept_

    def predict(self, X: Any) -> Array:
        """Return the class whose mean is nearest; ties go to the first."""
        scores = self.decision_function(X)
        return self.classes_[scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(int)]

    def predict_proba(self, X: Any) -> Floats:
        """Return softmax(temperature_ * scores), calibrated on leave-one-out scores; 1/2 each at decision 0."""
        scores = self.decision_function(X)
        if np.isnan(self.temperature_):
            raise InputError(
                f"{type(self).__name__}: probabilities are calibrated on leave-one-out scores, and no class has two rows. "
                "decision_function and predict need none."
            )
        return self._probabilities(scores)

    def _probabilities(self, scores: Floats) -> Floats:  # (n,) or (n, C) -> (n, C)
        if scores.ndim == 1:
            scores = np.stack([np.zeros_like(scores), scores], axis=1)
        scores = np.where(np.isinf(scores), np.sign(scores) * 1e300, scores)  # a class that has no rows yet
        return np.asarray(softmax(np.minimum(self.temperature_ * scores, 1e300), axis=1))

    def _held_out_classes(self) -> HeldOutClasses:
        A, loo = self._means.memberships, self.loo_scores_
        kept = np.flatnonzero(A.any(axis=1) & np.isfinite(loo.reshape(len(loo), -1)).all(axis=1))
        return HeldOutClasses(self._probabilities(loo[kept]), A[kept].argmax(axis=1), take(self.X_fit_, kept))

    @property
    def _explicit(self) -> bool:
        return bool(self.route_.solver == "primal")

    def _memberships(self, labels: Array, classes: Array, weights: Array | None) -> Floats:  # (n,), (C,), (n,) -> (n, C)
        w = np.ones(len(labels)) if weights is None else weights
        A, rows = np.zeros((len(labels), len(classes))), np.flatnonzero(w > 0)
        A[rows, encode(type(self).__name__, labels[rows], classes)] = w[rows]
        return A

    def _keep(self, means: ClassMeans) -> None:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # refused by name
            loo = means.leave_one_out()
            if means.overflow(loo):
                raise NumericalError(
                    f"{type(self).__name__}: the scores of the class means overflow float64 with {self.kernel_}; scale the "
                    "columns, the kernel or the weights."
                )
        self._means = means
        eps = float(np.finfo(np.float64).eps)
        warn_of_cancellation(type(self).__name__, *means.own_distances(), eps, self.kernel_, self.X_fit_)
        self.class_count_, self.mean_norms_ = means.weights, np.sqrt(means.squared_norms)
        coefficients, intercepts = means.coefficients, -0.5 * means.squared_norms
        self.temperature_ = temperature(loo, means.memberships)
        binary = len(self.classes_) == 2
        self.dual_coef_ = coefficients[:, 1] - coefficients[:, 0] if binary else coefficients
        self.intercept_ = intercepts[1] - intercepts[0] if binary else intercepts
        self.loo_scores_ = loo[:, 1] - loo[:, 0] if binary else loo
        self.coef_ = to_features(self.kernel_, self.X_fit_, self.dual_coef_) if self._explicit else None

    def _routes(self, shape: Shape) -> tuple[Route, ...]:
        return product_routes(shape)

    def _chunk_targets(self) -> ReadTargets:
        return partial(read_chunk_labels, type(self).__name__)

    def _chunk_routes(self, shape: Shape, rows: ChunkedRows) -> tuple[Route, ...]:
        return chunk_product_routes(shape, rows.passes_before(self._given_kernel()))

    def _summary(self) -> Summary:
        loo, A = self.loo_scores_, self._means.memberships
        guess = loo.argmax(axis=1) if loo.ndim == 2 else (loo > 0).astype(int)
        scored = A.any(axis=1) & ~np.isnan(loo.reshape(len(loo), -1)).any(axis=1)
        right, w = guess == A.argmax(axis=1), A.max(axis=1)
        accuracy = float(np.average(right[scored], weights=w[scored])) if scored.any() else float("nan")
        majority = float(self.class_count_.max() / self.class_count_.sum())
        lines = (
            ("kernel", str(self.kernel_)),
            ("classes", ", ".join(f"{c} ({n:g})" for c, n in zip(self.classes_, self.class_count_, strict=True))),
            ("leave-one-out accuracy", f"{accuracy:.4g}"),
            ("the largest class alone", f"{majority:.4g}"),
            ("route", f"{self.route_.solver}: {self.route_.reason}"),
            ("memory of the fit", format_bytes(self.route_.bytes)),
        )
        return Summary(repr(self), lines, {"accuracy": accuracy, "majority": majority})
