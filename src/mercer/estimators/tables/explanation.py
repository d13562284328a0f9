"""Shapley values of the columns of a table for the predictions of a table model.

The prediction is a weighted mean of members, and Shapley values of a sum are sums of Shapley values. A member is explained
by the best method that it allows: in closed form if its kernel is a product over columns and its target is not transformed,
by all subsets of columns if these are few, and otherwise by random orders of the columns, with standard errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.arrays import Floats
from mercer.errors import CapabilityError
from mercer.estimators.tables.fitting import Member
from mercer.explanations.columns import BACKGROUND, BACKGROUND_SEED, SHOWN, ColumnExplanation
from mercer.inputs import Rows
from mercer.kernels.column_terms import column_terms
from mercer.numeric.shapley import product_shapley

if TYPE_CHECKING:
    from mercer.estimators.tables.base import TableEstimator

#: Kernel values of one explanation, at most.
KERNEL_VALUES = 100_000_000

#: Numbers of products held at a time.
NUMBERS_AT_A_TIME = 2**22

#: Rows of the background if subsets are many, and the smallest and largest number of orders.
FEW_BACKGROUND, FEWEST_ORDERS, MOST_ORDERS = 25, 20, 1000

EXACT, SUBSETS, ORDERS = "closed form", "all subsets of columns", "random orders of columns"


@dataclass(frozen=True)
class Shares:
    """Contributions of one member by table column (d,), its value with no column known, and standard errors."""

    contributions: Floats
    base: float
    errors: Floats
    how: str
    background: int


def explain_rows(
    model: TableEstimator, names: Sequence[str], inputs: dict[str, Rows], target: Any, background: dict[str, Rows] | None
) -> list[ColumnExplanation]:
    """Return the Shapley values of the columns for every encoded row; `background` is encoded rows, or None."""
    count = len(next(iter(inputs.values())))
    scores = model.scores(inputs)  # (n, t)
    return [
        _one(model, names, {rule: table.data[i : i + 1] for rule, table in inputs.items()}, scores[i], target, background)
        for i in range(count)
    ]


def _one(
    model: TableEstimator, names: Sequence[str], row: dict[str, Any], scores: Floats, target: Any,
    background: dict[str, Rows] | None,
) -> ColumnExplanation:  # fmt: skip
    output, label = model.output(scores, target)
    contributions, variance, base = np.zeros(len(names)), np.zeros(len(names)), 0.0
    ways: dict[str, int] = {}
    parts: dict[int, float] = {}
    rows_size = 0.0
    for member in model.members_:
        groups = [model.places(member.scaling, name) for name in names]
        rest = _background(member, background)
        found = _member(member, row[member.scaling], rest, groups, output)
        contributions += member.weight * found.contributions
        variance += (member.weight * found.errors) ** 2
        base += member.weight * found.base
        ways[found.how] = found.background
        examples, size = _examples(member, row[member.scaling], output)
        rows_size += member.weight * size
        for place, value in examples.items():
            parts[place] = parts.get(place, 0.0) + member.weight * value
    order = sorted(parts, key=lambda place: (-abs(parts[place]), place))[:SHOWN]
    against = "; ".join(f"mean over {rows} training rows, {how}" for how, rows in ways.items())
    return ColumnExplanation(
        tuple(names), contributions, float(scores[output]), base, tuple((place, parts[place]) for place in order), label,
        against, np.sqrt(variance) if variance.any() else None, rows_size,
    )  # fmt: skip


def _background(member: Member, given: dict[str, Rows] | None) -> Any:
    """Return rows that replace unknown cells: those given, or some that the member holds."""
    if given is not None:
        return given[member.scaling].data
    X = member.model.X
    if len(X) <= BACKGROUND:
        return X
    return X[np.sort(np.random.default_rng(BACKGROUND_SEED).choice(len(X), size=BACKGROUND, replace=False))]


def _member(member: Member, x: Any, rest: Any, groups: list[list[int]], output: int) -> Shares:
    if member.transform.is_linear and member.local is None:
        try:
            return _closed(member, x, rest, groups, output)
        except CapabilityError:
            pass  # the kernel is not a product over columns
    d, n = sum(bool(group) for group in groups), len(member.model.X)
    rows = KERNEL_VALUES // max(1, n)
    if d <= 16 and 2**d * FEW_BACKGROUND <= rows:
        return _subsets(member, x, rest[: max(FEW_BACKGROUND, int(rows // 2**d))], groups, output)
    return _orders(member, x, rest, groups, output, rows)


def _closed(member: Member, x: Any, rest: Any, groups: list[list[int]], output: int) -> Shares:
    """Return shares from products over matrix columns, those of one table column taken together."""
    model, transform = member.model, member.transform
    width = x.shape[1]
    owner = {place: j for j, group in enumerate(groups) for place in group}
    scale = float(transform.spread[output])
    a = scale * model.dual[:, output]
    contributions = np.zeros(len(groups))
    base = scale * float(model.intercept[output]) + float(transform.center[output])
    new, others = Rows(x, "x"), Rows(rest, "background")
    for term in column_terms(model.kernel, range(width)):
        owners = sorted({owner[int(place)] for place in term.factors})
        if not owners:
            base += term.weight * float(a.sum())
            continue
        step = max(1, NUMBERS_AT_A_TIME // (len(rest) * len(owners)))
        for low in range(0, len(model.X), step):
            part = slice(low, min(len(model.X), low + step))
            known = Rows(model.X[part], "X_fit_")
            p = np.ones((len(owners), len(known)))
            q = np.ones((len(owners), len(known), len(rest)))
            for place, kernel in term.factors.items():
                j = owners.index(owner[int(place)])
                p[j] *= np.asarray(kernel(known, new), dtype=np.float64)[:, 0]
                q[j] *= np.asarray(kernel(known, others), dtype=np.float64)
            weights = term.weight * a[part] / len(rest)
            contributions[owners] += product_shapley(np.ascontiguousarray(p.T), q, weights)
            base += float(weights @ q.prod(axis=0).sum(axis=1))
    return Shares(contributions, base, np.zeros(len(groups)), EXACT, len(rest))


def _values(member: Member, rows: Any, output: int) -> Floats:  # -> (r,)
    return np.asarray(member.transform.backward(member.function(rows))[:, output])


def _subsets(member: Member, x: Any, rest: Any, groups: list[list[int]], output: int) -> Shares:
    """Return shares from v(S) for all subsets S of the columns, by the definition of Shapley values."""
    players = [j for j, group in enumerate(groups) if group]
    d, B = len(players), len(rest)
    values = np.empty(2**d)
    at_once = max(1, 2**17 // B)
    for low in range(0, 2**d, at_once):
        subsets = range(low, min(2**d, low + at_once))
        rows = np.concatenate([_mixed(x, rest, groups, players, subset) for subset in subsets])
        values[low : low + len(subsets)] = _values(member, rows, output).reshape(len(subsets), B).mean(axis=1)
    sizes = np.array([subset.bit_count() for subset in range(2**d)])
    share = np.array([factorial(s) * factorial(d - 1 - s) / factorial(d) for s in range(d)])
    contributions = np.zeros(len(groups))
    everything = np.arange(2**d)
    for place, j in enumerate(players):
        without = everything[(everything >> place) & 1 == 0]
        contributions[j] = float(share[sizes[without]] @ (values[without | (1 << place)] - values[without]))
    return Shares(contributions, float(values[0]), np.zeros(len(groups)), SUBSETS, B)


def _mixed(x: Any, rest: Any, groups: list[list[int]], players: list[int], subset: int) -> Any:
    rows = rest.copy()
    known = [place for bit, j in enumerate(players) if subset >> bit & 1 for place in groups[j]]
    rows[:, known] = x[:, known]
    return rows


def _orders(member: Member, x: Any, rest: Any, groups: list[list[int]], output: int, budget: int) -> Shares:
    """Return shares from random orders of the columns, each order and its reverse with one background row."""
    players = [j for j, group in enumerate(groups) if group]
    rng = np.random.default_rng(BACKGROUND_SEED)
    pairs = int(np.clip(budget // (2 * (len(players) + 1)), FEWEST_ORDERS, MOST_ORDERS // 2))
    gains = np.zeros((pairs, len(groups)))
    starts = np.empty(pairs)
    for i in range(pairs):
        order = rng.permutation(players)
        start = rest[i % len(rest)]
        for sequence in (order, order[::-1]):
            rows = np.repeat(start[None, :], len(players) + 1, axis=0)
            for step, j in enumerate(sequence, 1):
                rows[step:, groups[j]] = x[0, groups[j]]
            values = _values(member, rows, output)
            gains[i, sequence] += np.diff(values) / 2.0
            starts[i] = values[0]
    spread = gains.std(axis=0, ddof=1) / np.sqrt(pairs)
    return Shares(gains.mean(axis=0), float(starts.mean()), spread, f"{2 * pairs} {ORDERS}", min(pairs, len(rest)))


def _examples(member: Member, x: Any, output: int) -> tuple[dict[int, float], float]:
    """Return what training rows of the member add to the prediction, in units of the target, and their absolute sum."""
    parts = member.model.dual[:, output] * np.asarray(member.model.kernel(member.model.X, x), dtype=np.float64)[:, 0]
    scale = float(member.transform.spread[output])
    if not member.transform.is_linear:  # by the slope of the transform at the prediction
        f = member.model.predict(x)
        step = 1e-4 * np.eye(f.shape[1])[output]
        scale = float((member.transform.backward(f + step) - member.transform.backward(f - step))[0, output] / 2e-4)
    order, numbers = np.argsort(-np.abs(parts), kind="stable")[: 4 * SHOWN], member.model.numbers()
    return {int(numbers[i]): scale * float(parts[i]) for i in order}, abs(scale) * float(np.abs(parts).sum())
