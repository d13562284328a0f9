"""`from_sklearn`: translation of scikit-learn's kernels and estimators that have a counterpart in mercer."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from mercer.arrays import Floats
from mercer.errors import InputError, describe, warn
from mercer.estimators.features.nystroem import Nystroem
from mercer.estimators.gp.gaussian_process import GaussianProcessRegressor
from mercer.estimators.pca.kernel_pca import KernelPCA
from mercer.estimators.ridge.kernel_ridge import KernelRidge
from mercer.estimators.svm.one_class_svm import OneClassSVM
from mercer.estimators.svm.svc import SVC, NuSVC
from mercer.estimators.svm.svr import SVR, NuSVR
from mercer.kernels.base import Kernel
from mercer.kernels.frequencies import Periodic
from mercer.kernels.functions import Function, Precomputed
from mercer.kernels.stationary import Gaussian, Laplacian, Matern, RationalQuadratic
from mercer.kernels.vectors import Constant, Linear, Polynomial, Tanh
from mercer.translation.fitted import is_fitted, on_landmarks, read_in, split_white


class TranslationWarning(UserWarning):
    """Something of a scikit-learn estimator has no exact counterpart."""


def from_sklearn(estimator_or_kernel: Any, X: Any = None) -> Any:
    """Return the mercer estimator or kernel that corresponds to one of scikit-learn.

    Kernels of `sklearn.gaussian_process.kernels`; SVC, NuSVC, SVR, NuSVR, OneClassSVM, KernelRidge, KernelPCA, Nystroem and
    GaussianProcessRegressor; pipelines that hold them. A fitted estimator gives a fitted one with the same coefficients and
    predictions, an unfitted one an unfitted one. `gamma="scale"` and similar values depend on data: give a fitted estimator,
    or X. A fitted pipeline that ends in Nystroem and a linear model becomes one model on the landmarks. A fitted support
    vector machine with a kernel of your own keeps no support vectors; give the rows it was fitted to, X.

    >>> from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern
    >>> from sklearn.svm import SVC
    >>> from_sklearn(ConstantKernel(2.0) * RBF(1.5) + Matern(2.0, nu=2.5))
    2.0 * Gaussian(length_scale=1.5) + Matern(nu=2.5, length_scale=2.0)
    >>> from_sklearn(SVC(C=10.0, gamma=0.5))
    SVC(C=10.0, kernel=Gaussian(length_scale=1.0))
    """
    given = estimator_or_kernel
    if isinstance(given, Kernel):
        return given
    name = type(given).__name__
    if not type(given).__module__.startswith("sklearn."):
        raise InputError(f"from_sklearn takes a kernel or an estimator of scikit-learn; got {describe(given)}.")
    if name in KERNELS:
        return KERNELS[name](given)
    if name == "Pipeline":
        return _pipeline(given)
    if name not in ESTIMATORS:
        raise InputError(
            f"from_sklearn: {name} has no counterpart here. Translated are {', '.join(sorted(ESTIMATORS))}, pipelines of "
            f"them, and the kernels {', '.join(sorted(KERNELS))}."
        )
    translated = ESTIMATORS[name](given, X)
    return read_in(given, translated, from_sklearn, X) if is_fitted(given) else translated


def _pipeline(given: Any) -> Any:
    """Return the pipeline of translated steps; the others are copied, with what they have learned if it is fitted."""
    steps, copied = given.steps, copy.deepcopy if is_fitted(given.steps[-1][1]) else clone
    translated = [(label, _step(step, copied)) for label, step in steps]
    if copied is copy.deepcopy and len(steps) > 1 and type(steps[-2][1]).__name__ == "Nystroem":
        whole = on_landmarks(steps[-2][1], translated[-2][1].kernel_, steps[-1][1])
        if whole is not None:
            translated = [*translated[:-2], (steps[-1][0], whole)]
    return Pipeline(translated, verbose=given.verbose) if len(translated) > 1 else translated[0][1]


def _step(step: Any, copied: Callable[[Any], Any]) -> Any:
    known = type(step).__module__.startswith("sklearn.") and type(step).__name__ in (*ESTIMATORS, "Pipeline")
    return from_sklearn(step) if known else step if isinstance(step, str) else copied(step)


# -- kernels of Gaussian processes ---------------------------------------------------------------------------------------


def _scale(kernel: Any) -> Any:
    scale = np.atleast_1d(kernel.length_scale)
    return float(scale[0]) if len(scale) == 1 else tuple(float(v) for v in scale)


def _matern(kernel: Any) -> Kernel:
    return Gaussian(_scale(kernel)) if np.isinf(kernel.nu) else Matern(float(kernel.nu), length_scale=_scale(kernel))


def _sine(kernel: Any) -> Kernel:
    warn(
        "from_sklearn: ExpSineSquared of several columns is not a kernel; Periodic is a product over the columns, "
        "which is the same for one column.",
        TranslationWarning,
    )
    return Periodic(float(kernel.length_scale), period=float(kernel.periodicity))


def _sum(kernel: Any) -> Kernel:
    return from_sklearn(kernel.k1) + from_sklearn(kernel.k2)


def _product(kernel: Any) -> Kernel:
    left, right = from_sklearn(kernel.k1), from_sklearn(kernel.k2)
    for factor, other in ((left, right), (right, left)):
        if isinstance(factor, Constant):
            return factor.value * other
    return left * right


def _power(kernel: Any) -> Kernel:
    base, power = from_sklearn(kernel.kernel), float(kernel.exponent)
    if isinstance(base, Gaussian) and power > 0:  # any positive power of a Gaussian is a Gaussian
        scale = np.atleast_1d(base.length_scale) / power**0.5
        return Gaussian(float(scale[0]) if len(scale) == 1 else tuple(scale.tolist()))
    return base**power


def _white(kernel: Any) -> Kernel:
    raise InputError(
        "from_sklearn: WhiteKernel is no kernel on objects but the noise of the targets: GaussianProcessRegressor(noise=…), "
        "or alpha of KernelRidge. Translate the estimator that holds it."
    )


def _compound(kernel: Any) -> Kernel:
    raise InputError("from_sklearn: CompoundKernel returns several matrices, so it is not a kernel; translate its parts.")


def _pairwise(kernel: Any) -> Kernel:
    options = dict(kernel.pairwise_kernels_kwargs or {})
    if callable(kernel.metric):
        return _of_pairs(kernel.metric, {"gamma": float(kernel.gamma), **options})
    return named(kernel.metric, float(kernel.gamma), options)


KERNELS: dict[str, Callable[[Any], Kernel]] = {
    "RBF": lambda kernel: Gaussian(_scale(kernel)),
    "Matern": _matern,
    "RationalQuadratic": lambda k: RationalQuadratic(float(k.length_scale), shape=float(k.alpha)),
    "ExpSineSquared": _sine,
    "DotProduct": lambda kernel: Linear() + float(kernel.sigma_0) ** 2 if kernel.sigma_0 else Linear(),
    "ConstantKernel": lambda kernel: Constant(float(kernel.constant_value)),
    "Sum": _sum,
    "Product": _product,
    "Exponentiation": _power,
    "WhiteKernel": _white,
    "CompoundKernel": _compound,
    "PairwiseKernel": _pairwise,
}


# -- kernels by name -----------------------------------------------------------------------------------------------------


def named(name: Any, gamma: float | None, options: dict[str, Any]) -> Kernel:
    """Return the kernel of a name in scikit-learn; gamma None means that it is not known without data."""
    if name in ("linear", "precomputed", "cosine"):
        return {"linear": Linear(), "precomputed": Precomputed(), "cosine": Linear().normalized()}[name]
    degree, offset = int(options.get("degree", 3)), float(options.get("coef0", 0.0))
    if name not in ("rbf", "laplacian", "poly", "polynomial", "sigmoid"):
        raise InputError(f"from_sklearn: the kernel {name!r} has no counterpart; a function of your own is Function(f).")
    if gamma is None:
        warn(
            f"from_sklearn: gamma of kernel={name!r} is a number only beside data: translate the fitted estimator, or give "
            "them, from_sklearn(estimator, X). The median distance of the training rows takes its place.",
            TranslationWarning,
        )
        return {"rbf": Gaussian("median"), "laplacian": Laplacian("median")}.get(name) or named(name, 1.0, options)
    if name == "rbf":
        return Gaussian.from_gamma(gamma)
    if name == "laplacian":
        return Laplacian(1.0 / gamma)
    if name == "sigmoid":
        return Tanh(gamma, offset=offset)
    # (gamma <x, z> + c)^p = gamma^p (<x, z> + c / gamma)^p
    kernel = Polynomial(degree, offset=offset / gamma)
    return kernel if gamma == 1.0 else gamma**degree * kernel


def _of_pairs(function: Any, options: Any) -> Kernel:
    """Return the kernel of a function of two rows, f(x, z, **options), as outside support vector machines."""

    @wraps(function)
    def values(X: Any, Z: Any) -> Floats:  # (n, d), (m, d) -> (n, m)
        found = [function(x, z, **dict(options or {})) for x in X for z in Z]
        return np.asarray(found, dtype=np.float64).reshape(len(X), len(Z))

    return Function(values)


def _needs_none(kernel: Any) -> bool:
    """Whether a kernel does not use gamma."""
    return callable(kernel) or kernel in ("linear", "cosine", "precomputed")


def _gamma(estimator: Any, X: Any, default: str) -> float | None:
    """Return the value of gamma; None if it depends on data that were not given."""
    rule = estimator.gamma if estimator.gamma is not None else default
    if not isinstance(rule, str):
        return float(rule)
    fitted = vars(estimator).get("_gamma")
    if fitted is not None and rule != "columns":
        return float(fitted)
    width = X.shape[1] if X is not None else vars(estimator).get("n_features_in_")
    if width is not None and rule in ("auto", "columns"):
        return 1.0 / float(width)
    if X is None:
        return None
    variance = float(X.multiply(X).mean() - X.mean() ** 2) if sp.issparse(X) else float(np.var(X))
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


# -- estimators ----------------------------------------------------------------------------------------------------------


def _svm(kind: Any, *parameters: str) -> Callable[[Any, Any], Any]:
    def translate(model: Any, X: Any) -> Any:
        options = {"degree": model.degree, "coef0": model.coef0}
        gamma = None if _needs_none(model.kernel) else _gamma(model, X, "scale")
        kernel = Function(model.kernel) if callable(model.kernel) else named(model.kernel, gamma, options)
        return kind(kernel, **{key: value for key, value in model.get_params(deep=False).items() if key in parameters})

    return translate


def _ridge(model: Any, X: Any) -> Any:
    kernel = model.kernel
    if not isinstance(kernel, str) and type(kernel).__name__ in KERNELS:
        return KernelRidge(from_sklearn(kernel), alpha=model.alpha)
    return KernelRidge(_pairs_or_named(model, X), alpha=model.alpha)


def _pca(model: Any, X: Any) -> Any:
    return KernelPCA(_pairs_or_named(model, X), n_components=model.n_components)


def _pairs_or_named(model: Any, X: Any) -> Kernel:
    """Return the kernel of a model that takes a name or a function of two rows."""
    if callable(model.kernel):
        return _of_pairs(model.kernel, model.kernel_params)
    gamma = None if _needs_none(model.kernel) else _gamma(model, X, "columns")
    options = {"degree": 3 if model.degree is None else model.degree, "coef0": 1.0 if model.coef0 is None else model.coef0}
    return named(model.kernel, gamma, options)


def _nystroem(model: Any, X: Any) -> Any:
    kernel = _pairs_or_named(model, X)
    return Nystroem(kernel, n_components=model.n_components, random_state=model.random_state)


def _gaussian_process(model: Any, X: Any) -> Any:
    """Return a process with zero mean and no priors, as in scikit-learn; noise is alpha, or learned for a WhiteKernel."""
    kernel = model.kernel
    translated, white = (Gaussian(1.0), 0.0) if kernel is None else split_white(kernel, from_sklearn)
    learned = model.optimizer is not None and kernel is not None
    noise: Any = "fit" if white and learned else np.asarray(model.alpha, dtype=np.float64)[()] + white
    return GaussianProcessRegressor(
        translated,
        noise=noise,
        mean="zero",
        normalize_y=bool(model.normalize_y),
        n_restarts=int(model.n_restarts_optimizer),
        priors=None,
        optimizer="bfgs" if learned else None,
    )


CLASSIFIED = ("tol", "class_weight", "decision_function_shape", "break_ties", "max_iter", "random_state")

ESTIMATORS: dict[str, Callable[[Any, Any], Any]] = {
    "SVC": _svm(SVC, "C", *CLASSIFIED),
    "NuSVC": _svm(NuSVC, "nu", *CLASSIFIED),
    "SVR": _svm(SVR, "C", "epsilon", "tol", "max_iter"),
    "NuSVR": _svm(NuSVR, "nu", "C", "tol", "max_iter"),
    "OneClassSVM": _svm(OneClassSVM, "nu", "tol", "max_iter"),
    "KernelRidge": _ridge,
    "KernelPCA": _pca,
    "Nystroem": _nystroem,
    "GaussianProcessRegressor": _gaussian_process,
}
