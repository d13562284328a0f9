"""Two-sample tests of tables with mixed columns, and the columns that differ."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.arrays import Floats
from mercer.errors import CapabilityError, InputError
from mercer.inputs import append
from mercer.inputs.frames import CATEGORY, DATE, NUMBER, ORDERED, Column, noted, read_columns
from mercer.inputs.tables import Table
from mercer.kernels.base import Kernel
from mercer.kernels.tables.frame import column_factor, column_product
from mercer.twosample import mmd_test
from mercer.twosample.result import MMDTestResult
from mercer.workflow.ordered_tables import in_order

#: Rows of each table that are compared, at most; drawn by the seed.
MOST_ROWS = 2000

#: The similarity of two typical rows is e^-c: values of c for the products and for the sums over columns.
REACH_PRODUCT, REACH_SUM = (0.5, 2.0, 6.0), (1.0, 4.0)

#: Relabelings of the test, and of the search for columns.
RELABELINGS, COLUMN_RELABELINGS = 999, 999


@dataclass(frozen=True)
class ColumnChange:
    """One column: whether it differs, its share of the difference, and a description of the change."""

    name: str
    kind: str
    pvalue: float  # corrected for the number of columns and for the joint test
    share: float  # of MMD^2; NaN if the shares of columns are not defined
    change: str


@dataclass(frozen=True, eq=False)
class Comparison:
    """The result of a comparison of two tables.

    There is one verdict from two tests, of all columns together and of single columns. Each has half of the level, so that
    the tables differ if one column does, and the chance of a false alarm is at most the level.
    """

    names: tuple[str, str]
    rows: tuple[int, int]  # of the tables
    used: tuple[int, int]  # compared
    level: float
    result: MMDTestResult
    columns: tuple[ColumnChange, ...]  # those that differ first
    tables: tuple[list[Column], list[Column]]  # the rows compared
    notes: tuple[str, ...]
    tolerance: float = 0.0  # share of variance between the tables that is allowed

    @property
    def differ(self) -> bool:
        """Whether the tables differ at the level, and the whole interval of the effect size is above the tolerance."""
        beyond = self.tolerance == 0 or self.result.effect_interval().low > self.tolerance
        return self.pvalue <= self.level and beyond

    @property
    def pvalue(self) -> float:
        """The p-value of the verdict: the smaller one of the joint test and of the columns, corrected for their number."""
        joint = self.result.pvalue
        return joint if len(self.columns) == 1 else min(_doubled(joint), self.columns[0].pvalue)

    @property
    def changed(self) -> tuple[ColumnChange, ...]:
        """The columns that differ; none if the tables do not."""
        return tuple(column for column in self.columns if column.pvalue <= self.level) if self.differ else ()

    def to_dict(self) -> dict[str, Any]:
        """The facts by name."""
        return {
            "differ": self.differ,
            "pvalue": self.pvalue,
            "joint_pvalue": self.result.pvalue,
            "level": self.level,
            "mmd2": self.result.mmd2,
            "effect_size": self.result.effect_size,
            "tolerance": self.tolerance,
            "kernel": repr(self.result.kernel),
            "relabelings": self.result.monte_carlo.drawn,
            "tables": [
                {"name": name, "rows": rows, "compared": used}
                for name, rows, used in zip(self.names, self.rows, self.used, strict=True)
            ],
            "columns": [
                {"name": c.name, "kind": c.kind, "differs": c in self.changed, "pvalue": c.pvalue, "share": c.share,
                 "change": c.change}
                for c in self.columns
            ],
            "notes": list(self.notes),
        }  # fmt: skip


def compare_tables(
    first: Table,
    second: Table,
    names: tuple[str, str],
    *,
    level: float = 0.05,
    seed: int = 0,
    reference: bool = False,
    tolerance: float = 0.0,
    order: str | None = None,
) -> Comparison:
    """Test whether two tables come from one source, on their common columns.

    With `reference` the second table must have the columns of the first. The kernels are products and sums over columns, at
    several reaches, aggregated at one level; scales come from both tables together, so that no level is spent on them.
    With `order`, rows are sorted by that column and relabeled in blocks.
    """
    sorting: list[str] = []
    if order is not None:
        first, _, more = in_order(first, order, names[0], repeats=True)
        second, _, rest = in_order(second, order, names[1], repeats=True)
        sorting = more + rest
    shared, notes = _common(first, second, names, reference)
    notes = sorting + notes
    rows = (len(first), len(second))
    rng = np.random.default_rng(seed)
    A, B = _some(first[shared], rng, order), _some(second[shared], rng, order)
    how = "drawn by the seed" if order is None else "evenly spaced"
    for name, whole, part in zip(names, rows, (A, B), strict=True):
        if len(part) < whole:
            notes.append(f"{len(part):,} of the {whole:,} rows of {name} are compared, {how}")
    pooled = noted(read_columns(append(A, B), "the tables"))
    usable = [column for column in pooled if not column.note]
    notes += [f"{c.name!r} is not compared: {c.note}" for c in pooled if c.note]
    if not usable:
        raise InputError(f"{names[0]} and {names[1]}: no column is left to compare: {'; '.join(notes)}.")
    kept = [column.name for column in usable]
    result = mmd_test(
        A[kept], B[kept], _kernels(usable), RELABELINGS, seed, level=level, blocks=None if order is None else "auto"
    )
    notes += [text.replace("give blocks='auto'", "name that column with --order") for text in result.warnings]
    if result.block > 1:
        notes.append(f"blocks of {result.block} neighboring rows were relabeled, because rows depend on their neighbors")
    left, right = _halves(usable, len(A))
    columns = _changes(result, usable, left, right)
    return Comparison(names, rows, (len(A), len(B)), level, result, columns, (left, right), tuple(notes), tolerance)


def _doubled(pvalue: float) -> float:
    """Return the p-value of one of two tests that share a level equally (Bonferroni)."""
    return min(1.0, 2 * pvalue)


def _common(first: Table, second: Table, names: tuple[str, str], reference: bool) -> tuple[list[str], list[str]]:
    lacking = [name for name in first.columns if name not in second.columns]
    extra = [name for name in second.columns if name not in first.columns]
    shared = [name for name in first.columns if name in second.columns]
    if lacking and reference:
        raise InputError(f"{names[1]} has no column {lacking[0]!r}, which the reference {names[0]} has.")
    if not shared:
        raise InputError(f"{names[0]} and {names[1]} have no column in common; compare tables with the same columns.")
    notes = []
    if lacking:
        notes.append(f"only {names[0]} has {_listed(lacking)}")
    if extra:
        notes.append(f"only {names[1]} has {_listed(extra)}")
    return shared, notes


def _some(table: Table, rng: np.random.Generator, order: str | None) -> Table:
    if len(table) <= MOST_ROWS:
        return table
    if order is not None:
        return table[np.linspace(0, len(table) - 1, MOST_ROWS).astype(int)]
    return table[np.sort(rng.choice(len(table), MOST_ROWS, replace=False))]


def _kernels(columns: list[Column]) -> list[Kernel]:
    """Return products over columns, which detect changed relations, and sums, which detect a change of one column."""
    d = len(columns)
    found: list[Kernel] = [column_product(columns, reach=d / reach) for reach in REACH_PRODUCT]
    if d > 1:
        for reach in REACH_SUM:
            terms = [(1.0 / d) * column_factor(column, 1.0 / reach).on(column.name) for column in columns]
            total = terms[0]
            for term in terms[1:]:
                total = total + term
            found.append(total)
    return found


def _halves(columns: list[Column], m: int) -> tuple[list[Column], list[Column]]:
    def cut(column: Column, part: slice) -> Column:
        return replace(column, cells=column.cells[part], holes=column.holes[part])

    return [cut(c, slice(0, m)) for c in columns], [cut(c, slice(m, None)) for c in columns]


def _changes(
    result: MMDTestResult, columns: list[Column], left: list[Column], right: list[Column]
) -> tuple[ColumnChange, ...]:
    pvalues = {columns[0].name: result.pvalue}  # of a single column there is one test
    if len(columns) > 1:
        pvalues = {reason.name: _doubled(reason.pvalue) for reason in result.explain(COLUMN_RELABELINGS).reasons}
    try:
        found = result.columns()
        total = float(np.maximum(found.shares, 0.0).sum())
        shares = {
            n: max(s, 0.0) / total if total > 0 else 0.0 for n, s in zip(found.names, found.shares.tolist(), strict=True)
        }
    except CapabilityError:
        shares = {}
    changes = [
        ColumnChange(c.name, c.kind, pvalues[c.name], shares.get(c.name, float("nan")), _change(a, b))
        for c, a, b in zip(columns, left, right, strict=True)
    ]
    return tuple(sorted(changes, key=lambda change: (change.pvalue, -np.nan_to_num(change.share), change.name)))


def _change(a: Column, b: Column) -> str:
    """Describe the difference of two columns in words."""
    words = []
    here, there = a.observed(), b.observed()
    if len(here) and len(there):
        if a.kind == NUMBER:
            words.append(f"mean {np.mean(here):.4g} → {np.mean(there):.4g}")
            words.append(f"deviation {np.std(here):.3g} → {np.std(there):.3g}")
        elif a.kind in (CATEGORY, ORDERED):
            words.append(_level_change(list(here), list(there)))
        elif a.kind == DATE:
            words.append(f"from {_day(min(here))} … {_day(max(here))} to {_day(min(there))} … {_day(max(there))}")
        else:
            words.append(f"{np.mean([len(str(x)) for x in here]):.3g} → {np.mean([len(str(x)) for x in there]):.3g} letters")
    if a.holes.any() or b.holes.any():
        words.append(f"missing {100 * a.holes.mean():.3g} % → {100 * b.holes.mean():.3g} %")
    return ", ".join(words)


def _level_change(here: list[Any], there: list[Any]) -> str:
    """Return the level whose share changed most."""
    levels = dict.fromkeys([*here, *there])
    before = {level: here.count(level) / len(here) for level in list(levels)[:1000]}
    after = {level: there.count(level) / len(there) for level in before}
    most = max(before, key=lambda level: abs(before[level] - after[level]))
    return f"{most} {100 * before[most]:.3g} % → {100 * after[most]:.3g} %"


def _day(value: Any) -> str:
    return str(np.datetime64(value, "D"))


def _listed(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def histogram(values: Floats, edges: Floats) -> Floats:
    """Return the shares of values between edges; values outside count in the first and last interval."""
    counts = np.histogram(np.clip(values, edges[0], edges[-1]), bins=edges)[0]
    return counts / max(1, len(values))
