"""What a fit on a table found: columns, what was tried, with which error, and what was chosen."""

from __future__ import annotations

from dataclasses import dataclass

from mercer.registry import record


@record()
@dataclass(frozen=True)
class ColumnNote:
    """One column of the training table."""

    name: str
    kind: str
    holes: int
    note: str  # why it was left out; empty for columns that were used


@record()
@dataclass(frozen=True)
class Attempt:
    """One state of one candidate: its held-out error with standard error, and its share of the final mean."""

    label: str
    scaling: str
    transform: str
    error: float  # root mean squared error, or log-loss
    standard_error: float
    complete: bool  # False where it was given up after its first fold
    weight: float


@record()
@dataclass(frozen=True)
class TableResult:
    """Everything a report needs; `print(model.result_)` shows it."""

    task: str
    measure: str
    rows: int
    searched: int  # rows of the search; the chosen models are fitted on all
    folds: int
    columns: tuple[ColumnNote, ...]
    attempts: tuple[Attempt, ...]
    error: float  # of the mean of the chosen ones, on held-out rows
    baseline: float  # the same measure for a constant prediction
    route: str
    seconds: float
    notes: tuple[str, ...]

    @property
    def chosen(self) -> tuple[Attempt, ...]:
        """The members of the final mean."""
        return tuple(attempt for attempt in self.attempts if attempt.weight > 0)

    @property
    def judged_by(self) -> str:
        """What the errors of the attempts are of; leave-one-out has as many folds as rows."""
        if self.folds == self.searched:
            return f"leave-one-out of {self.searched:,} rows"
        return f"{self.folds} folds of {self.searched:,} rows"

    def __str__(self) -> str:
        used = [column for column in self.columns if not column.note]
        kinds = {kind: sum(column.kind == kind for column in used) for kind in sorted({column.kind for column in used})}
        width = max([30, *[len(attempt.label) for attempt in self.attempts]])
        lines = [
            f"{self.task} on {self.rows:,} rows and {len(used)} of {len(self.columns)} columns "
            f"({', '.join(f'{count} {kind}' for kind, count in kinds.items())}), {self.seconds:.1f} s",
            *[f"  left out: {column.name!r}, {column.note}" for column in self.columns if column.note],
            *[f"  {column.name!r} has {column.holes:,} missing cells" for column in used if column.holes],
            f"held-out {self.measure} {self.error:.4g}, a constant has {self.baseline:.4g} ({self.judged_by})",
            *[_line(attempt, width) for attempt in self.attempts],
            f"final fit: {self.route}",
            *[f"note: {note}" for note in self.notes],
        ]
        return "\n".join(lines)


def _line(attempt: Attempt, width: int) -> str:
    share = (
        f"chosen, weight {attempt.weight:.2f}" if attempt.weight else ("" if attempt.complete else "given up after one fold")
    )
    where = attempt.scaling + (f", {attempt.transform}" if attempt.transform == "yeo-johnson" else "")
    return f"  {attempt.label:<{width}} {where:<22} {attempt.error:.4g} +- {attempt.standard_error:.2g}  {share}".rstrip()
