"""The rows, one module per group. A module here declares `ROWS`, a list of `benchmarks.row.Row`; its name is the group."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil

from benchmarks.row import Row

#: Groups whose peers live in an extra of their own. They run when named, so that a plain run never replaces their results
#: by "peer not installed".
ON_REQUEST = frozenset({"gp"})


def load_rows() -> list[Row]:
    """All declared rows, in the order of the modules' names and then of their lists."""
    rows: list[Row] = []
    for found in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{found.name}")
        rows += [dataclasses.replace(row, group=found.name, module=module.__name__) for row in module.ROWS]
    names = [row.name for row in rows]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"rows are found by name, and these names are used twice: {', '.join(twice)}.")
    return rows
