"""A small table that is shipped with the package: where it lies, what it is, and under which license it was given."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.inputs.delimited import read_header, read_text
from mercer.inputs.tables import Table

FOLDER = Path(__file__).resolve().parent / "data"


@dataclass(frozen=True)
class Dataset:
    """A table with its origin. `path` is a CSV file, for `mercer fit` and for any other program."""

    name: str
    description: str
    source: str
    license: str
    target: str  # the column that examples predict
    path: Path
    table: Table  # columns by name; every estimator on tables takes it

    def split(self, target: str | None = None) -> tuple[Table, Array]:
        """The columns to learn from and the target, (n,), for the rows whose target is known."""
        from mercer.inputs.cells import missing_cells

        wanted = self.target if target is None else target
        if wanted not in self.table.columns:
            raise InputError(f"{self.name} has no column {wanted!r}; it has {', '.join(map(repr, self.table.columns))}.")
        y = self.table[wanted].to_numpy()
        known = (~missing_cells(y)).nonzero()[0]
        return self.table[[name for name in self.table.columns if name != wanted]][known], y[known]


def shipped(file: str, **facts: Any) -> Dataset:
    """The dataset of a CSV file in the folder of data."""
    path = FOLDER / file
    return Dataset(path=path, table=Table(read_text(path, file, read_header(path, file))), **facts)
