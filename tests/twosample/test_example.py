"""The example prints what its text says: which feature map sees which difference."""

from __future__ import annotations

import importlib.util
import sys

import pytest


@pytest.fixture(scope="module")
def example(project_root):
    spec = importlib.util.spec_from_file_location("two_samples", project_root / "examples" / "two_samples.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_map_sees_what_it_should(example):
    table = example.table()
    means, squares, every, default = example.MAPS
    for difference, blind in (("other mean", ()), ("other variance", (means,)), ("other shape", (means, squares))):
        for name in (means, squares, every, default):
            assert (table[difference][name] > 0.1) == (name in blind), (difference, name)
    assert min(table["none"].values()) > 0.1


def test_it_runs_and_draws(example, tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(sys, "argv", ["two_samples.py", "--out", str(tmp_path)])
    example.main()
    printed = capsys.readouterr().out
    assert "which columns?" in printed and "a circle" in printed
    assert {path.name for path in tmp_path.iterdir()} == {"witness.png", "plane.png", "columns.png"}
