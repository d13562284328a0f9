"""`mercer compare`, `mercer novelty` and `mercer explain`: answers, exit codes for scripts, messages."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from mercer.cli.app import app


def invoke(*arguments: Any) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def write(path: Path, n: int, shift: float, seed: int, evil: str = "Rome") -> Path:
    rng = np.random.default_rng(seed)
    age, x = rng.normal(40 + shift, 10, n), rng.normal(size=n)
    city = rng.choice([evil, "Oslo"], n)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "city", "x", "y"])
        for i in range(n):
            writer.writerow([f"{age[i]:.2f}" if i % 10 else "", city[i], f"{x[i]:.3f}", f"{age[i] / 10 + x[i]:.3f}"])
    return path


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("compare")
    return {
        "a": write(folder / "a.csv", 100, 0.0, 0),
        "same": write(folder / "same.csv", 90, 0.0, 1),
        "moved": write(folder / "moved.csv", 90, 15.0, 2, "\x1b[2JRome"),
        "far": write(folder / "far.csv", 30, 200.0, 3),
        "model": folder / "model",
    }


def test_equal_sources_exit_with_0_and_others_with_1(tables: dict[str, Path]) -> None:
    same = invoke("compare", tables["a"], tables["same"])
    assert same.exit_code == 0 and "no difference found" in same.stdout
    moved = invoke("compare", tables["a"], tables["moved"])
    assert moved.exit_code == 1 and "they differ" in moved.stdout
    assert "mean 4" in moved.stdout and "\x1b" not in moved.stdout


def test_json_names_the_columns(tables: dict[str, Path]) -> None:
    found = invoke("compare", tables["a"], tables["moved"], "--json", "--drop", "y,city", "--reference")
    facts = json.loads(found.stdout)
    assert found.exit_code == 1 and facts["differ"] is True
    assert [(c["name"], c["differs"]) for c in facts["columns"]] == [("age", True), ("x", False)]
    assert sum(c["share"] for c in facts["columns"]) == pytest.approx(1.0)


@pytest.mark.parametrize("suffix", [".html", ".png", ".svg"])
def test_a_picture_is_written(tables: dict[str, Path], tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"found{suffix}"
    assert invoke("compare", tables["a"], tables["moved"], "--out", out).exit_code == 1
    start = out.read_bytes()[:100]
    assert start.startswith({".html": b"<!doctype html>", ".png": b"\x89PNG", ".svg": b"<?xml"}[suffix])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["compare", "{a}", "{same}", "--alpha", "2"], "--alpha must lie between 0 and 1"),
        (["compare", "{a}", "{same}", "--out", "x.txt"], "give a file that ends in .html"),
        (["compare", "{a}", "{same}", "--out", "/nowhere/x.html"], "there is no folder"),
        (["compare", "{a}", "nothing.csv"], "there is no such file"),
        (["compare", "{a}", "{same}", "--drop", "z"], "such a column"),
        (["novelty", "{a}", "{same}", "--alpha", "0"], "--alpha must lie between 0 and 1"),
        (["novelty", "{a}", "{same}", "--drop", "z"], "has no such column"),
        (["novelty", "{a}", "{same}", "--out", "x.png"], "give a file that ends in .csv"),
    ],
)
def test_bad_options_are_bad_input(tables: dict[str, Path], arguments: list[str], words: str) -> None:
    found = invoke(*[word.format(**tables) for word in arguments])
    assert found.exit_code == 64 and words in found.stderr


def test_a_reference_asks_for_its_columns(tables: dict[str, Path], tmp_path: Path) -> None:
    less = tmp_path / "less.csv"
    less.write_text("age,x\n" + "\n".join(f"{i},{i % 7}" for i in range(30)) + "\n", encoding="utf-8")
    found = invoke("compare", tables["a"], less, "--reference")
    assert found.exit_code == 64 and "has no column 'city'" in found.stderr
    other = tmp_path / "other.csv"
    other.write_text("u,v\n1,2\n2,3\n", encoding="utf-8")
    found = invoke("compare", tables["a"], other)
    assert found.exit_code == 64 and "no column in common" in found.stderr


def test_novel_rows_are_found_and_written(tables: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "scores.csv"
    found = invoke("novelty", tables["a"], tables["far"], "--drop", "y", "--out", out)
    assert found.exit_code == 1 and "novelty" in found.stdout and "age 2" in found.stdout
    rows = list(csv.DictReader(out.open(encoding="utf-8")))
    assert len(rows) == 30 and sum(int(row["novel"]) for row in rows) >= 25
    facts = json.loads(invoke("novelty", tables["a"], tables["same"], "--json").stdout)
    assert facts["novel"] is False and facts["false_alarm_level"] == 0.05


def test_an_explanation_adds_up(tables: dict[str, Path]) -> None:
    made = invoke("fit", tables["a"], "--target", "y", "--time", "1", "--out", tables["model"], "--quiet")
    assert made.exit_code == 0, made.stderr
    assert (tables["model"] / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    found = invoke("explain", tables["model"], tables["same"], "--row", 2, "--json")
    assert found.exit_code == 0, found.stderr
    facts = json.loads(found.stdout)
    total = facts["base"] + sum(column["contribution"] for column in facts["columns"])
    assert total == pytest.approx(facts["prediction"]) == pytest.approx(facts["value"])
    said = invoke("explain", tables["model"], tables["same"], "--row", 2)
    assert "training rows that decide most" in said.stdout and "closed form" in said.stderr
    for row, words in ((0, "has rows 1 to 90"), (91, "has rows 1 to 90")):
        wrong = invoke("explain", tables["model"], tables["same"], "--row", row)
        assert wrong.exit_code == 64 and words in wrong.stderr
    wrong = invoke("explain", tables["model"], tables["same"], "--row", 1, "--class", "a")
    assert wrong.exit_code == 64 and "predicts numbers" in wrong.stderr
