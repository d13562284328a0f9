"""`mercer independent`: answers, exit codes and messages; `mercer compare --tolerance`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from mercer.cli.app import app


def invoke(*arguments: Any) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    n = 150
    age = rng.normal(40.0, 10.0, n)
    city = rng.choice(["Rome", "Oslo"], n)
    income = age / 10.0 + (city == "Oslo") * 2.0 + 0.5 * rng.normal(size=n)
    rent = income + 0.3 * rng.normal(size=n)
    shoe = age / 10.0 + 0.5 * rng.normal(size=n)
    frame = pd.DataFrame({"age": age, "city": city, "income": income, "rent": rent, "shoe": shoe})
    frame.loc[5, "age"] = np.nan
    path = tmp_path_factory.mktemp("independent") / "people.csv"
    frame.to_csv(path, index=False)
    return path


def test_dependent_and_conditionally_independent(table: Path) -> None:
    assert invoke("independent", table, "--x", "age", "--y", "city").exit_code == 0
    marginal = invoke("independent", table, "--x", "income", "--y", "shoe")
    assert marginal.exit_code == 1 and "dependent" in marginal.stdout
    given = invoke("independent", table, "--x", "income", "--y", "shoe", "--given", "age,city", "--alpha", "0.01")
    assert given.exit_code == 0, given.stdout
    assert "no dependence found" in given.stdout and "of the variance is left" in given.stdout
    assert invoke("independent", table, "--x", "income", "--y", "rent", "--given", "age").exit_code == 1


def test_json(table: Path) -> None:
    found = json.loads(invoke("independent", table, "--x", "income", "--y", "shoe", "--given", "age", "--json").stdout)
    assert found["dependent"] is False and found["rows"] == 150 and 0 < found["pvalue"] <= 1
    assert len(found["regressions"]) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--x", "age", "--y", "height"], "--y 'height': "),
        (["--x", "age", "--y", "age"], "named in --x already"),
        (["--x", "age", "--y", "city", "--alpha", "2"], "--alpha must lie between 0 and 1"),
        (["--x", ",", "--y", "city"], "need at least one column"),
    ],
)
def test_bad_input(table: Path, arguments: list[str], message: str) -> None:
    found = invoke("independent", table, *arguments)
    assert found.exit_code == 64
    assert message in " ".join(found.output.split())


def test_a_tolerance_allows_small_differences(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    paths = []
    for shift in (0.0, 0.4):
        paths.append(tmp_path / f"{shift}.csv")
        pd.DataFrame({"a": rng.normal(shift, 1.0, 400), "b": rng.normal(size=400)}).to_csv(paths[-1], index=False)
    plain = invoke("compare", *paths)
    assert plain.exit_code == 1 and "effect size" in plain.stdout
    assert invoke("compare", *paths, "--tolerance", "0.2").exit_code == 0
    assert invoke("compare", *paths, "--tolerance", "1.5").exit_code == 64
    assert "effect_size" in json.loads(invoke("compare", *paths, "--json").stdout)
