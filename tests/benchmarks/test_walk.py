"""`mercer fit` passes through few files and converts its rows to vectors few times."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks import walk
from mercer.inputs import as_vectors


def test_calls_are_counted_by_file_and_function() -> None:
    X = np.zeros((2, 2))
    found = walk.walk(lambda: [as_vectors(X, "X") for _ in range(3)])
    assert found.functions["inputs/vectors.py:as_vectors"] == 3
    assert "inputs/vectors.py" in found.files


def test_mercer_fit_passes_through_79_files_at_most(tmp_path: Path) -> None:
    found = walk.quietly(walk.actions(str(tmp_path))["mercer fit"])
    assert "workflow/training.py" in found.files and "report/document/training_report.py" in found.files  # it ran to its end
    assert len(found.files) <= 79, found  # 75 without order, groups, predictions through features and merged copies


def test_mercer_fit_converts_120_rows_fewer_than_60_times(tmp_path: Path) -> None:
    assert 0 < walk.conversions(str(tmp_path)) < 60
