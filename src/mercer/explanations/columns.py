"""Exact Shapley values of columns, for kernels that are sums of products over columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.errors import InputError, describe, plural
from mercer.explanations.outputs import Output, check_linear, expand, rows_of
from mercer.inputs import Rows, as_rows, count, is_frame, take
from mercer.kernels.column_terms import Column, ColumnTerm, column_terms
from mercer.numeric.shapley import product_shapley
from mercer.numeric.tiles import row_blocks

#: Rows of the model that are the background if none is given, and the seed that draws them.
BACKGROUND, BACKGROUND_SEED = 100, 0

#: Numbers held at a time for products over columns.
NUMBERS_AT_A_TIME = 2**22

#: Columns and examples printed by default.
SHOWN = 10


@dataclass(frozen=True, eq=False)
class ColumnExplanation:
    """One decision as a sum over columns: base + contributions.sum() == value.

    Attributes
    ----------
    names : the columns
    contributions : (d,) array, the Shapley value of each column
    value : the decision value; positive values support `label`
    base : the value if no column is known: the mean over the background, or the baseline
    examples : tuple of (row of the model, contribution), largest first; all rows and the intercept add up to value
    label : what was explained, such as "class 'spam'"
    against : "background of 100 rows" or "baseline"
    errors : (d,) array of standard errors if the values were sampled, None if they are exact
    rows_size : sum of the absolute contributions of all rows, of which `example_shares` are shares
    """

    names: tuple[str, ...]
    contributions: Floats
    value: float
    base: float
    examples: tuple[tuple[int, float], ...]
    label: str
    against: str
    errors: Floats | None = None
    rows_size: float = 0.0

    def example_shares(self) -> tuple[tuple[int, float], ...]:
        """Return (row, share) of `examples`: contributions as signed shares of the absolute contributions of all rows.

        With a small penalty the contributions of single rows are large and cancel, so that only their shares can be read.
        """
        size = max(self.rows_size, sum(abs(value) for _, value in self.examples)) or 1.0
        return tuple((row, value / size) for row, value in self.examples)

    def top(self, n: int = SHOWN) -> tuple[tuple[str, float], ...]:
        """Return the n columns with the largest contributions of either sign."""
        order = np.argsort(-np.abs(self.contributions), kind="stable")[:n]
        return tuple((self.names[j], float(self.contributions[j])) for j in order)

    def __str__(self) -> str:
        head = (
            f"{self.label}: {self.value:.4g} = {self.base:.4g} ({self.against}) + {self.contributions.sum():+.4g} (columns)"
        )
        width = max((len(name) for name, _ in self.top()), default=0)
        lines = [f"  {name:<{width}} {value:+.4g}" for name, value in self.top()]
        rows = ", ".join(f"{row} ({100 * share:+.2g} %)" for row, share in self.example_shares()[:5])
        return "\n".join([head, *lines, f"  most influential rows: {rows}"])


def explain_columns(model: Any, rows: Any, target: Any, background: Any) -> list[ColumnExplanation]:
    """Return the Shapley values of the columns of every row.

    Interventional: v(S) = mean_b f(x_S, b_-S) over background rows b. Baseline: v(S) = sum_i a_i prod_{j in S} k_j, where
    absent columns have the factor 1. The values of sums of products add up; nothing is sampled.
    """
    columns, known = _columns(rows), Rows(rows_of(model), "X_fit_")
    rest = _background(background, known)
    terms = [ColumnProduct(term, known, rest) for term in column_terms(model.kernel_, columns)]
    names, against = (
        _names(model, columns),
        "baseline" if rest is None else f"mean over a background of {plural(len(rest), 'row')}",
    )
    width = sum(len(term.columns) for term in terms)
    blocks = row_blocks(count(rows), max(1, NUMBERS_AT_A_TIME // (len(known) * max(1, width))))
    return [
        ColumnExplanation(names, against=against, **parts)
        for block in blocks
        for parts in _explained(model, take(rows, block), target, terms, columns)
    ]


def _explained(
    model: Any, rows: Any, target: Any, terms: list[ColumnProduct], columns: list[Column]
) -> Iterator[dict[str, Any]]:
    """Iterate over the fields of the explanations of a block of rows, whose kernel values are computed together."""
    together = as_rows(rows, "x")
    factors = [term.factors(together) for term in terms]
    for i in range(count(rows)):
        new = take(rows, slice(i, i + 1))
        expansion = expand(model, new, target)
        contributions, base = np.zeros(len(columns)), expansion.function.intercept
        for term, p in zip(terms, factors, strict=True):
            shares, none = term.shares(expansion.function.dual, p[i])
            base += none
            for column, share in shares.items():
                contributions[columns.index(column)] += share
        size = float(np.abs(contributions).sum()) + abs(base)
        examples, rows_size = _examples(expansion, new)
        check_linear(expansion, base + float(contributions.sum()), size, type(model).__name__)
        yield {
            "contributions": contributions, "value": expansion.value, "base": base, "examples": examples,
            "label": expansion.label, "rows_size": rows_size,
        }  # fmt: skip


class ColumnProduct:
    """One product over columns, with its factors between training rows and background."""

    def __init__(self, term: ColumnTerm, known: Rows, rest: Rows | None) -> None:
        self.weight, self.kernels, self.columns = term.weight, list(term.factors.values()), list(term.factors)
        self.known, self.rest = known, rest
        self._held: Floats | None = None  # (m, n, B)

    def factors(self, new: Rows) -> Floats:  # (r rows) -> (r, n, m)
        """Return the factors between new rows and training rows."""
        found = np.empty((len(new), len(self.known), len(self.kernels)))
        for j, kernel in enumerate(self.kernels):
            found[:, :, j] = kernel(new, self.known)
        return found

    def shares(self, coefficients: Floats, p: Floats) -> tuple[dict[Column, float], float]:  # (n,), (n, m)
        """Return the Shapley values of the columns at one row with the factors p, and the value if no column is known."""
        a = self.weight * coefficients
        if not self.columns:
            return {}, float(a.sum())
        total, none = np.zeros(len(self.columns)), 0.0
        for part, q in self._background():
            weights = a[part] / q.shape[2]
            total += product_shapley(p[part], q, weights)
            none += float(weights @ q.prod(axis=0).sum(axis=1))
        return dict(zip(self.columns, total.tolist(), strict=True)), none

    def _background(self) -> Iterator[tuple[slice, Floats]]:
        """Iterate over blocks of training rows and their factors (m, r, B) with the background; a single block is kept."""
        n, m, B = len(self.known), len(self.columns), 1 if self.rest is None else len(self.rest)
        step = max(1, NUMBERS_AT_A_TIME // (B * m))
        if self._held is None and n <= step:
            self._held = self._against(slice(0, n))
        for part in row_blocks(n, step):
            yield part, self._against(part) if self._held is None else self._held

    def _against(self, part: slice) -> Floats:
        if self.rest is None:
            return np.ones((len(self.columns), part.stop - part.start, 1))
        rows = self.known.take(part)
        return np.stack([np.asarray(k(rows, self.rest), dtype=np.float64) for k in self.kernels])


def _examples(expansion: Output, new: Any) -> tuple[tuple[tuple[int, float], ...], float]:
    """Return the rows with the largest contributions, and the sum of the absolute contributions of all rows."""
    function = expansion.function
    parts = function.dual * np.asarray(function.kernel(function.X, new), dtype=np.float64)[:, 0]
    order = np.argsort(-np.abs(parts), kind="stable")[:SHOWN]
    return tuple((int(i), float(parts[i])) for i in order), float(np.abs(parts).sum())


def _columns(rows: Any) -> list[Column]:
    if is_frame(rows):
        return [str(name) for name in rows.columns]
    return list(range(int(rows.shape[1])))


def _background(background: Any, known: Rows) -> Rows | None:
    if isinstance(background, str):
        if background != "baseline":
            raise InputError(f'explain: background is "baseline" or a collection of rows; got {describe(background)}.')
        return None
    if background is not None:
        return Rows(background, "background")
    if len(known) <= BACKGROUND:
        return known
    return known.take(np.sort(np.random.default_rng(BACKGROUND_SEED).choice(len(known), size=BACKGROUND, replace=False)))


def _names(model: Any, columns: list[Column]) -> tuple[str, ...]:
    known = vars(model).get("feature_names_in_")
    return tuple(str(name) for name in (known if known is not None and len(known) == len(columns) else columns))
