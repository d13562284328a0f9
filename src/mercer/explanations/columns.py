"""Exact Shapley values of columns: what each column of a row adds to a prediction, for products over columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.errors import InputError, describe
from mercer.explanations.expansion import Expansion, check_linear, expand
from mercer.inputs import Rows, as_rows, count, is_frame, take
from mercer.kernels.column_terms import Column, ColumnTerm, column_terms
from mercer.numeric.shapley import product_shapley

Array = NDArray[np.float64]

#: Rows of the model that stand for "any row" where no background is given, drawn by this seed.
BACKGROUND, BACKGROUND_SEED = 100, 0

#: Numbers of products that are held at a time.
NUMBERS_AT_A_TIME = 2**22

#: Columns and examples that are printed unless asked otherwise.
SHOWN = 10


@dataclass(frozen=True, eq=False)
class ColumnExplanation:
    """One decision as a sum over columns: base + contributions.sum() == value.

    Attributes
    ----------
    names : the columns
    contributions : (d,) array, the Shapley value of each column
    value : the decision value; positive speaks for `label`
    base : the value where no column is known: the mean over the background, or the baseline
    examples : tuple of (row of the model, what it adds), the largest first; all rows and the intercept add up to value
    label : what was explained, such as "class 'spam'"
    against : "background of 100 rows" or "baseline"
    """

    names: tuple[str, ...]
    contributions: Array
    value: float
    base: float
    examples: tuple[tuple[int, float], ...]
    label: str
    against: str

    def top(self, n: int = SHOWN) -> tuple[tuple[str, float], ...]:
        """The n columns that add most, for or against."""
        order = np.argsort(-np.abs(self.contributions), kind="stable")[:n]
        return tuple((self.names[j], float(self.contributions[j])) for j in order)

    def __str__(self) -> str:
        head = (
            f"{self.label}: {self.value:.4g} = {self.base:.4g} ({self.against}) + {self.contributions.sum():+.4g} (columns)"
        )
        width = max((len(name) for name, _ in self.top()), default=0)
        lines = [f"  {name:<{width}} {value:+.4g}" for name, value in self.top()]
        rows = ", ".join(f"{row} ({value:+.3g})" for row, value in self.examples[:5])
        return "\n".join([head, *lines, f"  rows that decide most: {rows}"])


def explain_columns(model: Any, new: Any, target: Any, background: Any) -> ColumnExplanation:
    """The Shapley values of the columns of one row; `new` is the collection that holds only it.

    Interventional: v(S) = mean_b f(x_S, b_-S) over background rows b. Baseline: v(S) = sum_i a_i prod_{j in S} k_j, where
    absent columns count 1. Sums of products add up; nothing is sampled.
    """
    expansion = expand(model, new, target)
    kept = np.flatnonzero(expansion.coefficients)
    known, a = Rows(expansion.X, "X_fit_").take(kept), expansion.coefficients[kept]
    columns = _columns(expansion, new)
    rest = _background(background, expansion)
    contributions, base = np.zeros(len(columns)), expansion.intercept
    for term in column_terms(expansion.kernel, columns):
        shares, none = _term(term, known, a, as_rows(new, "x"), rest)
        base += none
        for column, share in shares.items():
            contributions[columns.index(column)] += share
    size = float(np.abs(contributions).sum()) + abs(base)
    check_linear(expansion, base + float(contributions.sum()), size, type(model).__name__)
    parts = a * np.asarray(expansion.kernel(known, new), dtype=np.float64)[:, 0]
    order = np.argsort(-np.abs(parts), kind="stable")[:SHOWN]
    return ColumnExplanation(
        names=_names(model, columns),
        contributions=contributions,
        value=expansion.value,
        base=base,
        examples=tuple((int(kept[i]), float(parts[i])) for i in order),
        label=expansion.label,
        against="baseline" if rest is None else f"mean over a background of {len(rest)} rows",
    )


def _term(term: ColumnTerm, known: Rows, a: Array, new: Rows, rest: Rows | None) -> tuple[dict[Column, float], float]:
    """The shares of the columns of one product, and its value where none is known."""
    if not term.factors:
        return {}, term.weight * float(a.sum())
    p = np.column_stack([np.asarray(k(known, new), dtype=np.float64)[:, 0] for k in term.factors.values()])  # (n, m)
    n, m = p.shape
    if rest is None:
        values = product_shapley(p, np.ones_like(p), term.weight * a)
        return dict(zip(term.factors, values.tolist(), strict=True)), term.weight * float(a.sum())
    total, none, B = np.zeros(m), 0.0, len(rest)
    step = max(1, NUMBERS_AT_A_TIME // (B * m))
    for low in range(0, n, step):
        part = known.take(np.arange(low, min(n, low + step)))
        q = np.stack([np.asarray(k(part, rest), dtype=np.float64) for k in term.factors.values()], axis=-1)  # (r, B, m)
        weights = np.repeat(term.weight * a[low : low + step] / B, B)
        total += product_shapley(np.repeat(p[low : low + step], B, axis=0), q.reshape(-1, m), weights)
        none += float(weights @ q.reshape(-1, m).prod(axis=1))
    return dict(zip(term.factors, total.tolist(), strict=True)), none


def _columns(expansion: Expansion, new: Any) -> list[Column]:
    if is_frame(new):
        return [str(name) for name in new.columns]
    return list(range(int(np.shape(new)[1])))


def _background(background: Any, expansion: Expansion) -> Rows | None:
    if isinstance(background, str):
        if background != "baseline":
            raise InputError(f'explain: background is "baseline" or a collection of rows; got {describe(background)}.')
        return None
    if background is not None:
        return Rows(background, "background")
    n = count(expansion.X)
    if n <= BACKGROUND:
        return Rows(expansion.X, "X_fit_")
    drawn = np.sort(np.random.default_rng(BACKGROUND_SEED).choice(n, size=BACKGROUND, replace=False))
    return Rows(take(expansion.X, drawn), "X_fit_")


def _names(model: Any, columns: list[Column]) -> tuple[str, ...]:
    known = getattr(model, "feature_names_in_", None)
    return tuple(str(name) for name in (known if known is not None and len(known) == len(columns) else columns))
