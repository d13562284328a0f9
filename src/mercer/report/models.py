"""What a display of one ridge regression asks of an estimator."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from mercer.errors import InputError
from mercer.estimators.ridge.problem import Problem


def one_ridge(estimator: Any, display: str) -> Problem:
    """The problem that a fitted ridge regression of one target solved."""
    if not hasattr(estimator, "rkhs_norm_"):
        check_is_fitted(estimator)
    problem = getattr(estimator, "_problem", None)
    if not isinstance(problem, Problem):
        raise InputError(f"{display} draws a KernelRidge or KernelRidgeCV; got {type(estimator).__name__}.")
    if problem.Y.ndim != 1:
        raise InputError(
            f"{display} draws one target; the estimator was fitted to {problem.Y.shape[1]}. Fit them one by one."
        )
    return problem
