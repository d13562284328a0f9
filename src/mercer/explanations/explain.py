"""`explain`: a prediction as a sum of contributions of columns, letters and substrings, or nodes and subgraphs."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from mercer.errors import CapabilityError, InputError, describe
from mercer.explanations.columns import ColumnExplanation, explain_columns
from mercer.explanations.graphs import GraphExplanation, Places, term_nodes
from mercer.explanations.outputs import check_linear, check_model, expand, rows_of
from mercer.explanations.strings import Contributions, StringExplanation, term_letters
from mercer.inputs import Graph, Rows, is_frame, looks_like_vectors
from mercer.kernels.base import Kernel


@runtime_checkable
class ExplainsColumns(Protocol):
    """A model that explains its own predictions by columns."""

    def explain_columns(self, X: Any, target: Any, background: Any) -> list[ColumnExplanation]:
        """Return the explanation of every row of X."""
        ...


def explain(
    model: Any, x: Any, *, target: Any = None, background: Any = None
) -> StringExplanation | GraphExplanation | ColumnExplanation | list[ColumnExplanation]:
    """Return the contribution of every column of x to a prediction; of every letter or node on strings or graphs.

    On vectors and tables these are exact Shapley values of the columns, for kernels that are sums of products over
    columns (Gaussian, with one length scale or one per column, Laplacian, kernels on single columns, linear kernels): with
    v(S) = mean_b f(x_S, b_-S) over background rows b. They add up to f(x) minus the mean of f over the background.

    f(x) - b = sum_i a_i k(x_i, x) = <w, phi(x)> with w = sum_i a_i phi(x_i). If the features are substrings, this is a
    sum over the occurrences of substrings in x; each occurrence is divided equally among its letters. The contributions of
    the letters add up to the decision value minus the intercept exactly. On graphs the features are labels, colors, paths
    and graphlets, which occur at nodes; the result has a picture, `svg()`.

    Parameters
    ----------
    model : a fitted model with `kernel_`, `X_fit_`, `dual_coef_`: ridge, SVC, SVR, means, perceptron, Gaussian process;
        or a TableRegressor or TableClassifier, whose contributions are exact if kernels and the number of columns allow it,
        and have standard errors otherwise
        Its kernel: Spectrum, Mismatch, GappedSpectrum, WeightedDegree, constants, their sums, multiples, normalized(); on
        graphs all kernels but RandomWalk.
    x : one string, one list of tokens, one graph in any form that kernels on graphs take; one
        vector or several, or a table: several rows are explained in turn, and the answer is a list
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
        own = model.explain_columns(x, target, background)
        return own[0] if len(own) == 1 else own
    check_model(model)
    new = _one(model, x)
    if not _counts(model):
        by_row = explain_columns(model, new, target, background)
        return by_row[0] if len(by_row) == 1 else by_row
    if background is not None:
        raise InputError("explain: background= applies to columns only; strings and graphs are explained by their features.")
    expansion = expand(model, new, target)
    function = expansion.function
    kept = function.dual != 0  # rows with coefficient 0 add nothing
    rows = Rows(function.X, "X_fit_").take(kept.nonzero()[0]) if not kept.all() else Rows(function.X, "X_fit_")
    letters: Contributions | None = None
    places = Places()
    terms = zip(function.kernel.summands(rows), function.kernel.summands(Rows(new, "x")), strict=True)
    for known, here in terms:
        _check_term(known.kernel, function.kernel)
        if known.kernel.domains == {"graphs"}:
            part = term_nodes(known, here, function.dual[kept], places)
        else:
            part = term_letters(known, here, function.dual[kept])
        letters = part if letters is None else letters.plus(part, known.kernel)
    assert letters is not None  # a kernel has at least one term
    found = letters.total + function.intercept
    check_linear(expansion, found, letters.size + abs(function.intercept), type(model).__name__)
    if isinstance(letters.text, Graph):
        intercept, parts = function.intercept + letters.base, places.parts(letters)
        return GraphExplanation(letters.text, letters.contributions, found, intercept, parts, expansion.label)
    return StringExplanation(
        text=letters.text,
        contributions=letters.contributions,
        value=found,
        intercept=function.intercept + letters.base,
        substrings=letters.substrings(),
        label=expansion.label,
    )


def _counts(model: Any) -> bool:
    """Return whether the kernel counts features of strings or graphs, and is not about columns of a table."""
    domains = model.kernel_.domains
    return bool(domains & {"strings", "graphs"}) and domains <= {"strings", "graphs", "any"}


def _one(model: Any, x: Any) -> Any:
    """Return a collection with x as its only row."""
    if "vectors" in model.kernel_.views or looks_like_vectors(rows_of(model)):
        return x if is_frame(x) else np.atleast_2d(np.asarray(x, dtype=np.float64))
    if "table" in model.kernel_.views:
        if not is_frame(x) or (_counts(model) and len(x) != 1):
            raise InputError("explain: the model uses columns of a table; give one row as a table, X.iloc[[0]].")
        return x
    known = rows_of(model)
    if len(known) and isinstance(next(iter(known)), str) and not isinstance(x, str):
        raise InputError(
            f"explain: x is {describe(x)}, and the model was fitted to strings; give one string. "
            "For several: [explain(model, x) for x in X]."
        )
    return [x]


def _check_term(term: Kernel, whole: Kernel) -> None:
    if term.occurrences("") is None:
        inside = "" if term is whole else f" (a term of {whole})"
        raise CapabilityError(
            f"explain: {term}{inside} has no features with a name and a position in x. These kernels have: Spectrum, "
            "Mismatch, GappedSpectrum, WeightedDegree, all on graphs except RandomWalk, and their sums, multiples and "
            "normalized()."
        )
