"""The result of a fit on a table: its columns, the candidates with their errors, and the chosen ones."""

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
    note: str  # why it was left out; empty for used columns


@record()
@dataclass(frozen=True)
class Attempt:
    """One state of a candidate: its held-out error with standard error, and its weight in the final mean."""

    label: str
    scaling: str
    transform: str
    error: float  # root mean squared error, or log-loss
    standard_error: float
    complete: bool  # False if it was stopped after its first fold
    weight: float


@record()
@dataclass(frozen=True)
class TableResult:
    """Summary of a fit; `print(model.result_)` shows it."""

    task: str
    measure: str
    rows: int
    searched: int  # rows of the search; the chosen models are fitted on all rows
    folds: int
    columns: tuple[ColumnNote, ...]
    attempts: tuple[Attempt, ...]
    error: float  # of the mean of the chosen models, on held-out rows
    baseline: float  # the same measure for a constant prediction
    route: str
    seconds: float
    notes: tuple[str, ...]

    @property
    def chosen(self) -> tuple[Attempt, ...]:
        """Attempts with a positive weight in the final mean."""
        return tuple(attempt for attempt in self.attempts if attempt.weight > 0)

    @property
    def judged_by(self) -> str:
        """Description of the held-out rows: folds, or leave-one-out if there are as many folds as rows."""
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
            *[f"  {column.name!r} has {_cells(column.holes)}" for column in used if column.holes],
            f"held-out {self.measure} {self.error:.4g}, a constant has {self.baseline:.4g} ({self.judged_by})",
            *[_line(attempt, width) for attempt in self.attempts],
            f"final fit: {self.route}",
            *[f"note: {note}" for note in self.notes],
        ]
        return "\n".join(lines)


def _line(attempt: Attempt, width: int) -> str:
    share = (
        f"chosen, weight {attempt.weight:.2f}" if attempt.weight else ("" if attempt.complete else "stopped after one fold")
    )
    where = attempt.scaling + (f", {attempt.transform}" if attempt.transform == "yeo-johnson" else "")
    return f"  {attempt.label:<{width}} {where:<22} {attempt.error:.4g} +- {attempt.standard_error:.2g}  {share}".rstrip()


def _cells(count: int) -> str:
    return f"{count:,} missing cell{'s' if count != 1 else ''}"
