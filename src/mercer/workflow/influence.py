"""Which training rows speak loudest: f(x) is a sum over them, and each adds a_i k(x_i, x)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.estimators.tables.members import Member

#: New rows at which the parts are measured, at most.
MEASURED = 200


@dataclass(frozen=True)
class Influence:
    """One training row: its place in the training table, and the share of all parts that is its."""

    row: int
    share: float


def influences(members: tuple[Member, ...], new: dict[str, Any], most: int = 10) -> list[Influence]:
    """The training rows that add most to the predictions at new rows, as shares of what all rows add.

    The part of row i is the mean over new rows of |a_i k(x_i, x)|, summed over the members by their weights; a member that
    has landmarks holds some of the rows only.
    """
    total: dict[int, float] = {}
    whole = 0.0
    for member in members:
        model = member.model
        Z = new[member.scaling][:MEASURED]
        values = np.asarray(model.kernel(Z, model.X))
        parts = np.abs(values).mean(axis=0) * np.abs(model.dual).mean(axis=1)  # (n,)
        scale = member.weight * float(np.mean(member.transform.spread))
        whole += scale * float(parts.sum())
        order = np.argsort(-parts, kind="stable")[: 4 * most]
        for i, place in zip(order.tolist(), model.numbers()[order].tolist(), strict=True):
            total[place] = total.get(place, 0.0) + scale * float(parts[i])
    best = sorted(total, key=lambda row: (-total[row], row))[:most]
    return [Influence(row, total[row] / whole if whole > 0 else 0.0) for row in best]
