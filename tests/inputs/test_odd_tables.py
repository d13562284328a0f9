"""Tables at the edge: read by a rule or refused by name, alike in the listing and in the fit."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from tests.inputs.odd_tables import MAKERS, odd_table, runs

from mercer.errors import MercerError
from mercer.inputs.reading import list_table, read_table


def outcome(path: Path, read: Any) -> str:
    try:
        found = read(path, memory=64_000_000)
    except MercerError as error:
        assert str(error)
        return type(error).__name__
    return f"{len(found) if read is read_table else found.rows} rows"


@pytest.mark.parametrize("number", range(1000, 1000 + 2 * len(MAKERS)))
def test_the_listing_and_the_fit_accept_the_same_files(number: int, tmp_path: Path) -> None:
    path = odd_table(tmp_path, number)
    assert outcome(path, read_table) == outcome(path, list_table)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="children are forked and their memory is measured")
def test_no_foreign_error_no_hang_and_no_more_memory_than_planned(tmp_path: Path) -> None:
    """300 tables, each listed and fitted: `make show-odd`."""
    bad = [
        f"{verdict}: {what}" for _, what, verdict, _ in runs(300, 0, tmp_path) if verdict not in ("read", "refused by name")
    ]
    assert not bad, "\n".join(bad)
