"""Fitted scikit-learn models read in: the same coefficients, so that predictions agree to rounding.

scikit-learn's models do not hold their training targets (a Gaussian process does). Leave-one-out residuals and probabilities
of the models read here therefore raise an error that names the ways to calibrate on other rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from mercer.arrays import Floats
from mercer.errors import InputError
from mercer.estimators.gp.model import ReadProcess
from mercer.estimators.logistic.kernel_logistic import KernelLogisticRegression
from mercer.estimators.ridge.kernel_ridge import KernelRidge
from mercer.estimators.ridge.kernel_ridge_classifier import KernelRidgeClassifier
from mercer.estimators.svm.model import ReadMachine
from mercer.grams.dual_function import DualFunction
from mercer.kernels.base import Kernel
from mercer.kernels.stationary import Gaussian


def is_fitted(model: Any) -> bool:
    """Return whether an estimator of scikit-learn is fitted."""
    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):  # TypeError: no estimator, such as "passthrough"
        return False
    return True


def read_in(given: Any, translated: Any, kernels: Callable[[Any], Kernel], X: Any = None) -> Any:
    """Return the translated estimator with the coefficients of the given one; `kernels` translates a kernel object."""
    if type(given).__name__ in MACHINES:
        return _machine(given, translated, X)
    found: Any = READERS[type(given).__name__](given, translated, kernels)
    return found


def split_white(kernel: Any, kernels: Callable[[Any], Kernel]) -> tuple[Kernel, float]:
    """Return the kernel of a Gaussian process without its white noise, and the variance of that noise."""
    parts = _terms(kernel)
    kept = [kernels(part) for part in parts if type(part).__name__ != "WhiteKernel"]
    if not kept:
        raise InputError("from_sklearn: a Gaussian process of a WhiteKernel alone has nothing to learn.")
    total = kept[0]
    for part in kept[1:]:
        total = total + part
    return total, sum(float(part.noise_level) for part in parts if type(part).__name__ == "WhiteKernel")


def _terms(kernel: Any) -> list[Any]:
    return [*_terms(kernel.k1), *_terms(kernel.k2)] if type(kernel).__name__ == "Sum" else [kernel]


def _columns(model: Any) -> tuple[int, Any]:
    return int(vars(model).get("n_features_in_", 0)), vars(model).get("feature_names_in_")


def _machine(given: Any, translated: Any, X: Any) -> Any:
    dual = given.dual_coef_.toarray() if sp.issparse(given.dual_coef_) else given.dual_coef_
    classes = vars(given).get("classes_")
    vectors, columns = given.support_vectors_, _columns(given)
    if callable(given.kernel):
        known = _rows_of_machine(given, X)
        vectors, columns = known[given.support_], (known.shape[1], None)
    return translated.with_coefficients(
        translated.kernel,
        ReadMachine(
            given.support_, vectors, dual, np.asarray(given.intercept_, dtype=np.float64),
            np.atleast_1d(given.n_support_) if classes is not None else np.array([len(given.support_)]),
            tuple(given.shape_fit_), *columns, classes=classes,
            class_weight=None if classes is None else np.asarray(given.class_weight_, dtype=np.float64),
        ),
    )  # fmt: skip


def _rows_of_machine(given: Any, X: Any) -> Any:  # -> (n, d)
    """Return the training rows of a machine with a kernel of the user, which scikit-learn keeps no support vectors of."""
    name, n = type(given).__name__, int(given.shape_fit_[0])
    if X is None:
        raise InputError(
            f"from_sklearn: a fitted {name} with a function as its kernel keeps no support vectors; give the rows it was "
            "fitted to: from_sklearn(model, X)."
        )
    rows = X if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[0] != n:
        raise InputError(f"from_sklearn: this {name} was fitted to {n} rows; X has shape {rows.shape}.")
    return rows


def _ridge(given: Any, translated: Any, kernels: Callable[[Any], Kernel]) -> Any:
    alpha = np.asarray(given.alpha, dtype=np.float64)
    function = DualFunction(translated.kernel, given.X_fit_, given.dual_coef_, 0.0, alpha)  # type: ignore[arg-type]
    return translated.with_coefficients(function, *_columns(given))


def _process(given: Any, translated: Any, kernels: Callable[[Any], Kernel]) -> Any:
    kernel, white = (Gaussian(1.0), 0.0) if given.kernel_ is None else split_white(given.kernel_, kernels)
    targets = np.asarray(given.y_train_, dtype=np.float64)
    Y, solved = (np.asarray(part, dtype=np.float64).reshape(len(targets), -1) for part in (targets, given.alpha_))
    center, scale = (np.broadcast_to(np.asarray(part, dtype=np.float64), Y.shape[1:]).copy() for part in _units(given))
    noise = np.asarray(given.alpha, dtype=np.float64)[()] + white
    found = ReadProcess(given.X_train_, Y, solved, noise, center, scale, targets.ndim == 1, *_columns(given))
    return translated.with_coefficients(kernel, found)


def _units(given: Any) -> tuple[Any, Any]:
    """Return the mean and the standard deviation that a Gaussian process subtracts from and divides y by."""
    inside = vars(given)
    return inside["_y_train_mean"], inside["_y_train_std"]


def _pca(given: Any, translated: Any, kernels: Callable[[Any], Kernel]) -> Any:
    values, vectors = (np.asarray(part, dtype=np.float64) for part in (given.eigenvalues_, given.eigenvectors_))
    return translated.with_coefficients(translated.kernel, given.X_fit_, values, vectors, *_columns(given))


def _nystroem(given: Any, translated: Any, kernels: Callable[[Any], Kernel]) -> Any:
    return translated.with_coefficients(
        translated.kernel, given.components_, given.normalization_, given.component_indices_, *_columns(given)
    )


MACHINES = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")

READERS: dict[str, Callable[[Any, Any, Callable[[Any], Kernel]], Any]] = {
    "KernelRidge": _ridge,
    "GaussianProcessRegressor": _process,
    "KernelPCA": _pca,
    "Nystroem": _nystroem,
}


# -- landmarks and a linear model ----------------------------------------------------------------------------------------


def on_landmarks(nystroem: Any, kernel: Kernel, linear: Any) -> Any:
    """Return Nystroem features and a linear model on them as one model on the landmarks; None if there is none.

    w'N k(S, x) + b with the normalization N is the expansion with the coefficients N'w on the landmarks S.
    """
    module, columns = type(linear).__module__, _columns(nystroem)
    if not module.startswith(("sklearn.linear_model", "sklearn.svm")) or "coef_" not in vars(linear):
        return None
    coef = np.asarray(linear.coef_, dtype=np.float64)
    alpha = float(vars(linear).get("alpha", np.nan)) if np.ndim(vars(linear).get("alpha", np.nan)) == 0 else np.nan
    if is_regressor(linear):
        function = _expansion(nystroem, kernel, coef, linear.intercept_, alpha)
        return KernelRidge(kernel, alpha=1.0).with_coefficients(function, *columns)
    if not is_classifier(linear):
        return None
    classes = linear.classes_
    two = len(classes) == 2
    function = _expansion(nystroem, kernel, coef.ravel() if two else coef, np.ravel(linear.intercept_), alpha)
    if type(linear).__name__ != "LogisticRegression":
        return KernelRidgeClassifier(kernel).with_coefficients(function, *columns, classes)
    if not two and linear.solver == "liblinear":  # one against the rest, whose probabilities are no softmax
        return None
    return KernelLogisticRegression(kernel, C=float(linear.C)).with_coefficients(function, *columns, classes)


def _expansion(nystroem: Any, kernel: Kernel, coef: Floats, intercept: Any, alpha: float) -> DualFunction:
    dual = nystroem.normalization_.T @ coef.T  # (m,) or (m, t)
    b = np.asarray(intercept, dtype=np.float64)
    shaped = np.broadcast_to(b.reshape(-1) if dual.ndim == 2 else b.reshape(-1)[:1].reshape(()), dual.shape[1:])
    return DualFunction(kernel, nystroem.components_, dual, shaped.copy()[()], 0.0 if np.isnan(alpha) else alpha)
