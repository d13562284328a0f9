"""`explain`: a prediction as a sum of contributions of columns, letters and substrings, or nodes and subgraphs."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Floats
from mercer.errors import CapabilityError, InputError, describe
from mercer.explanations.columns import ColumnExplanation, explain_columns
from mercer.explanations.model import KnownFeatures, ModelExplanation, sampled, summary
from mercer.explanations.objects import ObjectExplanation, ObjectParts, counts_features, object_parts
from mercer.explanations.outputs import check_linear, check_model, expand, rows_of, with_nonzero
from mercer.inputs import Rows, as_vectors, is_frame, looks_like_vectors


@runtime_checkable
class ExplainsColumns(Protocol):
    """A model that explains its own predictions by columns."""

    def explain_columns(self, X: Any, target: Any, background: Any) -> list[Any]:
        """Return the explanation of every row of X."""
        ...

    def explain_model(self, target: Any) -> ModelExplanation:
        """Return the features that the model uses, over all rows."""
        ...


def explain(
    model: Any, x: Any = None, *, target: Any = None, background: Any = None
) -> ObjectExplanation | ColumnExplanation | list[ColumnExplanation] | ModelExplanation:
    """Return the contribution of every column of x to a prediction; of letters, nodes or atoms on objects.

    Without x the answer is about the whole model on strings, graphs or molecules: the weights of its features, and, for
    strings, the mean contribution of every letter at every place, with a picture, `svg()`.

    On vectors and tables these are exact Shapley values of the columns, for kernels that are sums of products over
    columns (Gaussian, with one length scale or one per column, Laplacian, kernels on single columns, linear kernels): with
    v(S) = mean_b f(x_S, b_-S) over background rows b. They add up to f(x) minus the mean of f over the background.

    f(x) - b = sum_i a_i k(x_i, x) = <w, phi(x)> with w = sum_i a_i phi(x_i). If the features are substrings, this is a
    sum over the occurrences of substrings in x; each occurrence is divided equally among its letters. The contributions of
    the letters add up to the decision value minus the intercept exactly. On graphs the features are labels, colors, paths
    and graphlets, which occur at nodes, on molecules substructures, which occur at atoms; the result has a picture, `svg()`.
    `tanimoto()` divides by a number that depends on x and x_i, so that the weights of the features are those at x:
    w(x) = sum_i a_i phi(x_i) / (k(x_i, x_i) + k(x, x) - k(x_i, x)). The sum is exact all the same.

    Parameters
    ----------
    model : a fitted model with `kernel_`, `X_fit_`, `dual_coef_`: ridge, SVC, SVR, means, perceptron, Gaussian process;
        or a TableRegressor or TableClassifier, whose contributions are exact if kernels and the number of columns allow it,
        and have standard errors otherwise; a table with a single column of text or molecules is explained by letters or
        atoms
        Its kernel: Spectrum, Mismatch, GappedSpectrum, WeightedDegree, CircularSubstructures, constants, their sums,
        multiples, normalized(), tanimoto(); on graphs all kernels but RandomWalk.
    x : one string, one list of tokens, one graph or molecule in any form that kernels take; one
        vector or several, or a table: several rows are explained in turn, and the answer is a list; nothing: the model
    target : a class, or the number of a target, optional
        For more than two classes the predicted one if not given; for two classes the second: positive values support it. An
        SVC of more than two classes compares pairs: (for, against), or the predicted class against the runner-up.
    background : rows, or "baseline", optional
        For columns: the rows that replace unknown values, by default up to 100 rows of the model (support vectors of an
        SVC). "baseline": v(S) = sum_i a_i prod_{j in S} k_j, with a factor of 1 for unknown columns.

    >>> from mercer import KernelRidgeClassifier, Spectrum
    >>> strings, classes = ["gatta", "attac", "ccgga", "gccgg"], ["at", "at", "gc", "gc"]
    >>> model = KernelRidgeClassifier(Spectrum(2)).fit(strings, classes)
    >>> found = explain(model, "cattag", target="at")
    >>> print(found)
    class 'at': decision 0.818 = 0 (intercept) + 0.818 (6 letters)
      1 cattag
         +##+
      at  +0.273 (1 time)
      ta  +0.273 (1 time)
      tt  +0.273 (1 time)
      ag   0.000 (1 time)
      ca   0.000 (1 time)
      # and + mark positive, = and - negative contributions
    >>> bool(abs(found.contributions.sum() + found.intercept + model.decision_function(["cattag"])[0]) < 1e-12)
    True
    """
    if isinstance(model, ExplainsColumns):  # a mean of dual models explains itself
        if x is None:
            return model.explain_model(target)
        own = model.explain_columns(x, target, background)
        return own[0] if len(own) == 1 else own
    check_model(model)
    if x is None:
        return _whole(model, target)
    new = _one(model, x)
    if not counts_features(model.kernel_):
        by_row = explain_columns(model, new, target, background)
        return by_row[0] if len(by_row) == 1 else by_row
    if background is not None:
        raise InputError("explain: background= applies to columns only; strings and graphs are explained by their features.")
    expansion = expand(model, new, target)
    function = with_nonzero(expansion.function)
    parts = object_parts(function, Rows(function.X, "X_fit_"), Rows(new, "x"))
    found = parts.letters.total + function.intercept
    check_linear(expansion, found, parts.letters.size + abs(function.intercept), type(model).__name__)
    return parts.explanation(function.intercept, expansion.label)


def _whole(model: Any, target: Any) -> ModelExplanation:
    """Return the features of a model, from the parts of its decisions at its own rows."""
    if not counts_features(model.kernel_):
        raise CapabilityError(
            f"explain: {model.kernel_} has no named features, so the model as a whole cannot be listed; give a row: "
            "explain(model, x)."
        )
    if target is None and model.dual_function().columns()[0].shape[1] > 1:
        raise InputError("explain: the model has several outputs; choose a class or the number of a target: target=….")
    rows = Rows(rows_of(model), "X_fit_")
    expansion = expand(model, rows.take(slice(0, 1)).data, target)
    function = with_nonzero(expansion.function)
    known, weigh = Rows(function.X, "X_fit_"), KnownFeatures()

    def parts(row: int) -> tuple[ObjectParts, float]:
        return object_parts(function, known, known.take(slice(row, row + 1)), weigh), function.intercept

    return summary(parts, sampled(len(known)).tolist(), expansion.label)


def _one(model: Any, x: Any) -> Any:
    """Return a collection with x as its only row."""
    if "vectors" in model.kernel_.views or looks_like_vectors(rows_of(model)):
        return x if is_frame(x) else _vectors(x)
    if "table" in model.kernel_.views:
        if not is_frame(x) or (counts_features(model.kernel_) and len(x) != 1):
            raise InputError("explain: the model uses columns of a table; give one row as a table, X.iloc[[0]].")
        return x
    known = rows_of(model)
    if len(known) and isinstance(next(iter(known)), str) and not isinstance(x, str):
        raise InputError(
            f"explain: x is {describe(x)}, and the model was fitted to strings; give one string. "
            "For several: [explain(model, x) for x in X]."
        )
    return [x]


def _vectors(x: Any) -> Floats:
    """Return one vector or several as a dense (n, d) array of float64; sparse rows become dense."""
    if sp.issparse(x):
        return np.asarray(as_vectors(x, "x").toarray(), dtype=np.float64)
    try:
        single = np.ndim(x) < 2
    except ValueError:  # ragged, which as_vectors reports
        single = False
    return np.asarray(as_vectors([x] if single else x, "x"), dtype=np.float64)
