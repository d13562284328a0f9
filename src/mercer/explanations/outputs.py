"""The output of a dual model that is explained: f(x) = sum_i a_i k(x_i, x) + b for a class, a pair or a target."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Protocol, runtime_checkable

import numpy as np

from mercer.arrays import Floats
from mercer.errors import InputError, describe
from mercer.grams.dual_function import DualFunction, HasDualFunction
from mercer.inputs import Rows


@runtime_checkable
class HasDecision(Protocol):
    """A model whose outputs are decision values, not predictions."""

    def decision_function(self, X: Any) -> Any:
        """Return the decision values of rows."""


@dataclass(frozen=True)
class Output:
    """One output of a model at one object, and its function; `label` is what positive values support."""

    function: DualFunction  # of one target
    value: float  # f(x) as the model itself computes it
    label: str


def check_model(model: Any) -> None:
    """Raise InputError unless the model is a fitted dual model."""
    if not (isinstance(model, HasDualFunction) and "kernel_" in vars(model)):
        raise InputError(
            "explain takes a fitted model of the form f(x) = sum_i a_i k(x_i, x) + b (kernel_, X_fit_, dual_coef_), such as "
            f"KernelRidgeClassifier or SVC; got {describe(model)}."
        )


def expand(model: Any, new: Any, target: Any = None) -> Output:
    """Return the output of a model at one object; `new` is a collection with this object only."""
    name = type(model).__name__
    check_model(model)
    X, coefficients, intercept = _function(model)
    values = _outputs(model, new)
    if len(values) != coefficients.shape[1]:
        raise _not_linear(name, f"it has {coefficients.shape[1]} functions for {len(values)} outputs")
    column, sign, label = _choose(model, values, target)
    a, b, value = sign * coefficients[:, column], sign * intercept[column], sign * values[column]
    if not np.isfinite(a).all():
        raise InputError(f"{name}: the dual coefficients are not known (alpha = 0 in the primal); fit with alpha > 0.")
    return Output(DualFunction(model.kernel_, X, a, float(b)), float(value), label)


def with_nonzero(function: DualFunction) -> DualFunction:
    """Return a function of one target without the rows whose coefficient is 0, unless all are."""
    kept = np.flatnonzero(function.dual != 0)
    if len(kept) in (0, len(function.dual)):
        return function
    rows = Rows(function.X, "X_fit_").take(kept)
    return DualFunction(function.kernel, rows.data, function.dual[kept], function.intercept)


def check_linear(expansion: Output, found: float, size: float, name: str) -> None:
    """Raise InputError if the contributions do not add up to the output: the model is then not a sum over rows."""
    if not abs(found - expansion.value) <= 1e-6 * max(size, abs(expansion.value)):
        raise _not_linear(name, f"its value is {expansion.value:.6g}, the sum of contributions {found:.6g}")


def _not_linear(name: str, why: str) -> InputError:
    return InputError(
        f"{name}: this decision is not of the form sum_i a_i k(x_i, x) + b ({why}), so it is not a sum over features. "
        "Explain a model of this form, such as KernelRidgeClassifier."
    )


def rows_of(model: Any) -> Any:
    """Return the training rows of the dual function of a model."""
    return _function(model)[0]


def _function(model: Any) -> tuple[Any, Floats, Floats]:
    """Return the rows, the coefficients (n, t) and the intercepts (t,)."""
    found = model.dual_function()
    return (found.X, *found.columns())


def _by_pairs(model: Any) -> bool:
    """Return whether the functions of a model compare pairs of classes, as in SVC."""
    return "decision_function_shape" in vars(model) and len(model.classes_) > 2


def _outputs(model: Any, new: Any) -> Floats:  # (t,)
    """Return the outputs of the model at the one object."""
    if _by_pairs(model):  # votes are not a sum over features, decision values of pairs are
        model = copy.copy(model)
        model.decision_function_shape = "ovo"
    value = model.decision_function(new) if isinstance(model, HasDecision) else model.predict(new)
    return np.asarray(value, dtype=np.float64).reshape(-1)


def _choose(model: Any, values: Floats, target: Any) -> tuple[int, float, str]:
    """Return the number of the output, its sign, and its name."""
    if "classes_" in vars(model):
        classes = [_plain(label) for label in model.classes_]
        if _by_pairs(model):
            return _choose_pair(classes, values, target)
        if target is None:
            chosen = (1 if len(values) == 1 else int(values.argmax())) if len(classes) > 1 else 0
        elif target in classes:
            chosen = classes.index(target)
        else:
            shown = ", ".join(repr(c) for c in classes[:10])
            raise InputError(f"explain: target must be one of the classes {shown}; got {target!r}.")
        label = f"class {classes[chosen]!r}"
        return (0, 1.0 if chosen == 1 else -1.0, label) if len(values) == 1 else (chosen, 1.0, label)
    if target is None and len(values) == 1:
        return 0, 1.0, "the prediction"
    whole = isinstance(target, (int, np.integer)) and not isinstance(target, bool)
    if not whole or not 0 <= target < len(values):
        raise InputError(f"explain: the model has {len(values)} targets; choose one by number, target=0 …; got {target!r}.")
    return int(target), 1.0, f"target {int(target)}"


def _choose_pair(classes: list[Any], values: Floats, target: Any) -> tuple[int, float, str]:
    """Return the function of two classes: the given ones, or the class with most wins against the runner-up."""
    pairs = list(combinations(range(len(classes)), 2))
    if target is None:
        wins = np.zeros(len(classes))
        for (i, j), value in zip(pairs, values.tolist(), strict=True):
            wins[i if value >= 0 else j] += 1.0
            wins[[i, j]] += np.array([value, -value]) / (3.0 * (abs(value) + 1.0)) / len(classes)  # breaks ties only
        first, second = (int(c) for c in np.argsort(-wins, kind="stable")[:2])
    elif isinstance(target, tuple) and len(target) == 2 and all(c in classes for c in target) and target[0] != target[1]:
        first, second = (classes.index(c) for c in target)
    else:
        shown = ", ".join(repr(c) for c in classes[:10])
        raise InputError(
            f"explain: this model compares classes in pairs, so target is a pair (for, against) of {shown}; got {target!r}."
        )
    place = pairs.index((min(first, second), max(first, second)))
    return place, 1.0 if first < second else -1.0, f"class {classes[first]!r} against {classes[second]!r}"


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
