"""A constant that tunes speed names the benchmark row that measures it; the row exists."""

from __future__ import annotations

import fnmatch
import re
from pathlib import Path

from benchmarks.rows import load_rows

SOURCE = Path(__file__).parents[2] / "src" / "mercer"


def test_every_row_that_a_constant_names_exists() -> None:
    known = [row.name for row in load_rows()]
    named = {(path.name, row) for path in SOURCE.rglob("*.py") for row in re.findall(r"Row: ([\w*-]+)\.", path.read_text())}
    assert len(named) > 20
    assert [pair for pair in sorted(named) if not fnmatch.filter(known, pair[1])] == []
