"""`KernelDiscriminant`: projections in feature space that separate classes, and the classifier they make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from mercer.arrays import Array, Floats, Indices
from mercer.errors import InputError, check_number, check_whole
from mercer.estimators.base import DEFAULT_KERNEL, DualModel, TrainingSet, check_is_fitted
from mercer.estimators.progress import Meter
from mercer.estimators.projections.routes import coordinate_routes, coordinates
from mercer.estimators.summary import Summary
from mercer.grams.coordinates import Coordinates
from mercer.inputs import like
from mercer.inputs.labels import classes_of, encode, read_labels
from mercer.linalg.generalized import generalized_eigenpairs
from mercer.numeric.memory import format_bytes
from mercer.planning import Route, Shape
from mercer.registry import estimator

#: Penalties that "auto" compares, as shares of the total variance.
ALPHAS = tuple(10.0 ** (power / 2.0) for power in range(-14, 1))

#: The share of within-class variance that a direction keeps at least: rounding, where classes are apart without overlap.
LEAST_WITHIN = 1e-12


@dataclass(frozen=True)
class Separation:
    """What a fit finds: functions of the rows, the class means of their values, and how alpha was chosen."""

    dual: Floats  # (a, q)
    intercept: Floats  # (q,)
    anchors: Any
    means: Floats  # (C, q)
    ratio: Floats  # (q,) between-class variance as a share of the total
    alpha: float
    errors: Floats  # (alphas,) leave-one-out errors; none for a given alpha


@estimator
class KernelDiscriminant(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, DualModel):
    """Fisher's discriminant in feature space: directions w of largest w' S_b w / w' (S_w + penalty I) w.

    S_b and S_w are the scatter matrices of feature vectors between and within classes. `transform` projects on the
    directions, at unit within-class variance; `predict` takes the nearest class mean there, with the shares of the classes
    as priors. For the linear kernel and alpha = 0 both are linear discriminant analysis.

    Parameters
    ----------
    kernel : Kernel or str, default Gaussian(length_scale="median")
    n_components : int, optional
        Directions that `transform` returns; all of them, one fewer than classes, by default. `predict` uses all.
    alpha : float or "auto", default "auto"
        The penalty as a share of the total scatter, the sum of ||phi(x) - mean||^2. "auto" takes the one of least
        leave-one-out error of the ridge regression of class scores, which has the same directions.
    memory : bytes or text such as "4 GB", optional
        If the Gram matrix does not fit, 1,000 landmarks stand for the rows.
    random_state : int or None
        Seed of the landmarks.

    Attributes
    ----------
    classes_, priors_ (C,), means_ (C, q) class means of the projections, alpha_, alphas_ and loo_errors_ (of "auto"),
    explained_variance_ratio_ (q,) shares of the between-class variance, dual_coef_, intercept_, X_fit_, kernel_, route_.

    >>> import numpy as np
    >>> from mercer import KernelDiscriminant, Linear
    >>> X = np.array([[0.0, 0.0], [1.0, 0.2], [0.2, 1.0], [4.0, 0.1], [5.0, 0.0], [4.2, 1.0]])
    >>> model = KernelDiscriminant(Linear()).fit(X, ["a", "a", "a", "b", "b", "b"])
    >>> model.predict([[0.5, 0.5], [4.5, 0.5]]).tolist(), model.transform(X).shape
    (['a', 'b'], (6, 1))
    """

    _stored: ClassVar[dict[str, str]] = {
        "classes_": "labels (C,)",
        "dual_coef_": "float (n, q)",
        "intercept_": "float (q,)",
        "means_": "float (C, q)",
        "priors_": "float (C,) > 0",
        "alpha_": "float",
        "alphas_": "float (A,)",
        "loo_errors_": "float (A,)",
        "explained_variance_ratio_": "float (q,)",
        "_n_features_out": "size p",
    }

    def __init__(
        self,
        kernel: Any = DEFAULT_KERNEL,
        n_components: int | None = None,
        *,
        alpha: float | str = "auto",
        memory: int | float | str | None = None,
        random_state: int | None = 0,
        verbose: bool | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.alpha = alpha
        self.memory = memory
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelDiscriminant:
        """Find the directions that separate the classes y of the rows X; a weight counts as that many copies."""
        fitted: KernelDiscriminant = self._fit(X, y, sample_weight)
        return fitted

    def _check_parameters(self) -> None:
        if self.n_components is not None:
            check_whole("KernelDiscriminant", "n_components", self.n_components, 1)
        if self.alpha != "auto":
            check_number("KernelDiscriminant", "alpha", self.alpha, 'a number >= 0 or "auto"', lambda a: a >= 0.0)

    def _read_y(self, y: Any, n: int) -> Array:
        return read_labels("KernelDiscriminant", y, n)

    def _solve(self, data: TrainingSet, route: Route, meter: Meter) -> tuple[Array, Floats, Separation]:
        weights = data.counted
        classes = classes_of("KernelDiscriminant", data.y, weights)
        most = len(classes) - 1
        if self.n_components is not None and self.n_components > most:
            raise InputError(
                f"KernelDiscriminant: {len(classes)} classes have {most} directions; n_components is {self.n_components}."
            )
        if np.count_nonzero(weights) <= len(classes):
            raise InputError(
                f"KernelDiscriminant: {np.count_nonzero(weights)} rows for {len(classes)} classes have no scatter within "
                "classes; the number of rows must be more than the number of classes."
            )
        counted = weights > 0
        codes = np.zeros(data.n, dtype=np.intp)
        codes[counted] = encode("KernelDiscriminant", data.y[counted], classes)
        found = coordinates(data.kernel, data.rows, weights, route.solver, self.random_state)
        if len(found.values) == 0:
            raise InputError("KernelDiscriminant: all rows are equal for the kernel, so no direction separates classes.")
        sizes = np.bincount(codes, weights, minlength=len(classes)).astype(np.float64)
        return classes, sizes, self._separated(found, codes, weights, sizes)

    def _separated(self, found: Coordinates, codes: Indices, weights: Floats, sizes: Floats) -> Separation:
        scores = np.eye(len(sizes))[codes] / np.sqrt(sizes)  # one column per class, of unit length
        if self.alpha == "auto":
            errors = np.array([loo_error(found, scores, weights, share * found.total) for share in ALPHAS])
            alpha = ALPHAS[int(np.argmin(errors))]
        else:
            errors, alpha = np.empty(0), float(self.alpha)
        M = found.Z.T @ (scores * weights[:, None])  # class means, times the roots of their sizes
        q = min(len(sizes) - 1, len(found.values))
        ratio, W = generalized_eigenpairs(M @ M.T, found.values + alpha * found.total, q)
        ratio = np.clip(ratio, 0.0, 1.0)
        within = np.maximum(1.0 - ratio, LEAST_WITHIN)  # w' (S_w + penalty I) w, where w' (S_t + penalty I) w = 1
        W = W * np.sqrt(float(weights.sum()) / within)
        means = (M / np.sqrt(sizes)).T @ W
        signs = np.where(
            np.sqrt(np.arange(1.0, len(sizes) + 1.0)) @ means < 0, -1.0, 1.0
        )  # later classes tend to be positive
        W, means = W * signs, means * signs
        return Separation(*found.projection(W), found.anchors, means, ratio / within, alpha, errors)

    def _store(self, data: TrainingSet, solution: tuple[Array, Floats, Separation]) -> None:
        self.classes_, sizes, found = solution
        self.priors_ = sizes / sizes.sum()
        self.X_fit_, self.dual_coef_, self.intercept_ = found.anchors, found.dual, found.intercept
        self.means_, self.alpha_, self.loo_errors_ = found.means, found.alpha, found.errors
        self.alphas_ = np.array(ALPHAS[: len(found.errors)])
        total = float(found.ratio.sum())
        self.explained_variance_ratio_ = found.ratio / total if total > 0 else np.zeros_like(found.ratio)
        q = found.dual.shape[1]
        self._n_features_out = q if self.n_components is None else min(self.n_components, q)

    def _check_loaded(self) -> None:
        if self._n_features_out > self.dual_coef_.shape[1]:
            raise InputError(
                f"KernelDiscriminant: {self._n_features_out} directions of {self.dual_coef_.shape[1]} are asked for."
            )

    def transform(self, X: Any) -> Array:
        """Return the projections of rows, (n, directions), with unit within-class variance and mean 0 in training."""
        check_is_fitted(self)
        new = self._read(X, reset=False)
        return like(self.dual_function().predict(new)[:, : self._n_features_out], new)

    def decision_function(self, X: Any) -> Floats:
        """Return log posterior odds, (n,) for two classes, or unnormalized log posteriors, (n, classes)."""
        joint = self._joint(X)
        return joint[:, 1] - joint[:, 0] if len(self.classes_) == 2 else joint

    def predict(self, X: Any) -> Array:
        """Return the most probable class of every row."""
        joint = self._joint(X)
        return self.classes_[joint.argmax(axis=1)]

    def predict_proba(self, X: Any) -> Floats:
        """Return class probabilities, (n, classes), under normal classes of equal covariance in feature space."""
        return np.asarray(softmax(self._joint(X), axis=1))

    def _joint(self, X: Any) -> Floats:  # -> (n, C)
        check_is_fitted(self)
        P = self._decision(X)
        return np.log(self.priors_) + P @ self.means_.T - 0.5 * np.einsum("cq,cq->c", self.means_, self.means_)

    def _routes(self, shape: Shape) -> tuple[Route, ...]:
        return coordinate_routes(shape.n)

    def _summary(self) -> Summary:
        how = "leave-one-out" if len(self.loo_errors_) else "given"
        named = [f"{name} ({share:.3g})" for name, share in zip(self.classes_, self.priors_, strict=True)]
        shares = ", ".join(f"{share:.3g}" for share in self.explained_variance_ratio_[:8])
        lines = (
            ("kernel", str(self.kernel_)),
            ("classes", ", ".join(named[:8])),
            ("directions", f"{self._n_features_out}, shares {shares}"),
            ("alpha", f"{self.alpha_:.3g} of the total scatter ({how})"),
            ("route", f"{self.route_.solver}: {self.route_.reason}"),
            ("memory of the fit", format_bytes(self.route_.bytes)),
        )
        return Summary(repr(self), lines, {"alpha": self.alpha_, "n_components": self._n_features_out})


def loo_error(found: Coordinates, scores: Floats, weights: Floats, penalty: float) -> float:
    """Return the leave-one-out error of ridge regression with an intercept on class scores, in closed form.

    A row of weight w counts as w copies, of which one is left out; a row of less than one copy is left out as a whole.
    """
    total = float(weights.sum())
    shrunk = found.Z / (found.values + penalty)
    mean = (weights / total) @ scores
    residuals = scores - mean - shrunk @ (found.Z.T @ (weights[:, None] * scores))
    leverage = 1.0 / total + np.einsum("ij,ij->i", found.Z, shrunk)
    left = residuals / np.maximum(1.0 - np.minimum(weights, 1.0) * leverage, 1e-10)[:, None]
    return float(weights @ np.einsum("ic,ic->i", left, left) / len(scores[0]))
