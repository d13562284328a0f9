"""`mercer fit` passes through few files and converts its rows to vectors few times."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import walk
from mercer.inputs import as_vectors


def test_calls_are_counted_by_file_and_function() -> None:
    X = np.zeros((2, 2))
    found = walk.walk(lambda: [as_vectors(X, "X") for _ in range(3)])
    assert found.functions["inputs/vectors.py:as_vectors"] == 3
    assert "inputs/vectors.py" in found.files


def test_mercer_fit_passes_through_77_files_at_most(tmp_path: Path) -> None:
    found = walk.quietly(walk.actions(str(tmp_path))["mercer fit"])
    assert "workflow/training.py" in found.files and "report/document/training_report.py" in found.files  # it ran to its end
    assert len(found.files) <= 77, found  # 74 without order and groups, weights of rows, and the map of missing cells


@pytest.mark.parametrize(
    ("name", "most"), [("k(X)", 12), ("KernelRidge.fit", 24), ("SVC.fit", 24), ("GaussianProcessRegressor.fit", 30)]
)
def test_the_design_page_shows_the_walks(name: str, most: int, tmp_path: Path) -> None:
    """`python -m benchmarks.walk --page` writes the page. Compiled loops are loaded after some seconds of work only."""
    shown = walk.on_page(walk.PAGE.read_text(encoding="utf-8"))[name]
    found = {file for file in walk.quietly(walk.actions(str(tmp_path))[name]).files if "/_compiled" not in file}
    assert found == {file for file in shown if "/_compiled" not in file} and len(found) <= most


def test_mercer_fit_converts_120_rows_fewer_than_60_times(tmp_path: Path) -> None:
    assert 0 < walk.conversions(str(tmp_path)) < 60
