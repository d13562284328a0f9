"""The test of independence of columns of a table, for the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer.errors import InputError
from mercer.independence import ci_test, joint_hsic_test
from mercer.inputs.tables import Table


@dataclass(frozen=True)
class ColumnDependence:
    """The result of a test of columns."""

    question: str
    pvalue: float
    statistic: float
    rows: int
    regressions: tuple[str, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the result by names."""
        return {
            "question": self.question,
            "pvalue": self.pvalue,
            "statistic": self.statistic,
            "rows": self.rows,
            "regressions": list(self.regressions),
            "notes": list(self.notes),
        }


def dependence_of_columns(table: Table, x: list[str], y: list[str], given: list[str], seed: int) -> ColumnDependence:
    """Test columns x and y for independence, given others if there are any."""
    if not x or not y:
        raise InputError("--x and --y need at least one column each.")
    parts = [table[names] for names in (x, y, given) if names]
    question = f"{' and '.join(x)} and {' and '.join(y)}" + f" given {', '.join(given)}" * bool(given)
    if not given:
        joint = joint_hsic_test(parts, random_state=seed, n_permutations=999)
        notes = tuple(f"{name} is constant and was ignored." for name in joint.ignored)
        return ColumnDependence(question, joint.pvalue, joint.statistic, joint.n_rows, (), notes)
    found = ci_test(*parts, random_state=seed)
    reports = [f"{name} given {', '.join(given)}" for name in (", ".join(x), ", ".join(y))]
    texts = tuple(
        f"  {name}: {100 * one.unexplained:.3g} % of the variance is left"
        for name, one in zip(reports, found.regressions, strict=True)
    )
    return ColumnDependence(question, found.pvalue, found.statistic, found.n_rows, texts, found.warnings)
