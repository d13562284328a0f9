"""Warnings point at the line outside mercer that caused them, however deep in the package they are issued."""

from __future__ import annotations

import ast
import inspect
import warnings
from pathlib import Path

import numpy as np
import pytest

import mercer
from mercer.errors import warn


def test_the_line_is_that_of_the_caller() -> None:
    X = np.zeros((6, 2))
    calls = (
        lambda: warn("direct"),
        lambda: mercer.KernelRidge().fit(X, np.arange(6.0)),  # all rows are equal
        lambda: mercer.Gaussian("median").resolve(X),
        lambda: mercer.SVC(max_iter=1).fit(np.arange(12.0).reshape(6, 2), [0, 1, 0, 1, 0, 1]),
    )
    for call in calls:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            call()
        assert seen, inspect.getsource(call)
        assert all(entry.filename == __file__ for entry in seen), [(e.filename, e.lineno) for e in seen]


def test_the_category_is_kept() -> None:
    with pytest.warns(DeprecationWarning, match="old"):
        warn("old", DeprecationWarning)


def test_no_module_counts_frames() -> None:
    """`stacklevel` is used in one place: a number elsewhere is wrong as soon as a function is moved."""
    root = Path(mercer.__file__).parent
    found = [
        str(path.relative_to(root))
        for path in sorted(root.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.keyword) and node.arg == "stacklevel"
    ]
    assert found == ["errors.py"]
