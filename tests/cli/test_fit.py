"""`mercer fit`: what it writes, what it says, and what its options do."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.tables import QUICK, invoke, table

import mercer
from mercer.inputs.reading import read_table
from mercer.persist import load_with_notes
from mercer.workflow.question import nearly_numbers, repeated_ids

FILES = ["metrics.json", "model.mercer", "report.html"]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    folder = tmp_path_factory.mktemp("fit")
    data = table(folder / "data.csv", 80, name=[f"r{i}{'abcdefg'[i % 7]}" for i in range(80)])
    options = ("--id", "name", "--out", folder / "new" / "out", "--seed", 3)
    return folder, invoke("fit", data, "--target", "y", *options)


def test_a_fit_writes_all_its_results(fitted: tuple[Path, Any]) -> None:
    folder, result = fitted
    assert result.exit_code == 0, result.stderr
    assert sorted(os.listdir(folder)) == ["data.csv", "new"]  # and nothing else
    assert sorted(os.listdir(folder / "new" / "out")) == FILES
    assert result.stderr == ""


def test_the_summary_answers_is_it_good(fitted: tuple[Path, Any]) -> None:
    said = fitted[1].stdout
    for word in ("regression", "held-out RMSE", "the mean", "linear ridge", "gradient boosting", "90 % intervals",
                 "constant: constant", "time, memory", "model.mercer", "mercer predict"):  # fmt: skip
        assert word in said


def test_metrics_are_those_of_the_saved_model(fitted: tuple[Path, Any]) -> None:
    from sklearn.model_selection import train_test_split

    folder, _ = fitted
    metrics = json.loads((folder / "new" / "out" / "metrics.json").read_text())
    model, notes = load_with_notes(folder / "new" / "out" / "model.mercer")
    assert notes["columns"] == [column["name"] for column in metrics["columns"]] == ["small", "large", "constant"]
    assert notes["id"] == metrics["id"] == "name"
    assert metrics["columns"][2]["left_out"] == "constant"
    assert metrics["rows"] == {"fitted": 64, "held_out": 16, "in_model": 80}
    assert {mercer.parse(member["kernel"]).certificate().status for member in metrics["model"]} == {"valid"}
    # the same rows, split by hand; the saved model has all of them
    train, test = train_test_split(np.arange(80), test_size=16, random_state=3)
    whole = read_table(folder / "data.csv")
    assert all(len(member.model.dual) == 80 for member in model.members_)
    assert np.mean((model.predict(whole[notes["columns"]]) - whole["y"].to_numpy()) ** 2) < 0.2 * np.var(
        whole["y"].to_numpy()
    )
    fit = whole[np.sort(train)]
    model = mercer.TableRegressor(random_state=3).fit(fit[notes["columns"]], fit["y"].to_numpy())
    data = whole[np.sort(test)]
    X, y = data[notes["columns"]], data["y"].to_numpy()
    error = float(np.sqrt(np.mean((model.predict(X) - y) ** 2)))
    assert metrics["held_out"]["RMSE"]["value"] == pytest.approx(error, rel=1e-9)
    assert error < metrics["rivals"]["baseline"]["RMSE"]["value"]
    bounds = model.predict_interval(X, 0.9)
    assert metrics["intervals"]["covered"] == np.mean((bounds[:, 0] <= y) & (y <= bounds[:, 1]))


def test_the_model_takes_data_frames_in_python(fitted: tuple[Path, Any]) -> None:
    import pandas

    folder, _ = fitted
    frame = pandas.read_csv(folder / "data.csv")
    model = mercer.load(folder / "new" / "out" / "model.mercer")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.predict(frame[["large", "small", "constant"]]).shape == (80,)  # by name, whatever the order
        assert model.predict(frame).shape == (80,)


def test_the_same_seed_gives_the_same_result(fitted: tuple[Path, Any], tmp_path: Path) -> None:
    folder, _ = fitted
    options = ("--id", "name", "--out", tmp_path / "out", "--seed", 3, "--json")
    again = json.loads(invoke("fit", folder / "data.csv", "--target", "y", *options).stdout)
    before = json.loads((folder / "new" / "out" / "metrics.json").read_text())
    for name in ("seconds", "peak_bytes", "model_bytes", "command"):
        before.pop(name, None)
        again.pop(name, None)
    assert again == before


def test_a_mixed_table_is_taken_as_it_is(tmp_path: Path) -> None:
    """Numbers, categories, dates, text and holes, as they stand in a file; nothing is left out but what says nothing."""
    rng = np.random.default_rng(1)
    n = 60
    x, city = rng.normal(size=n), rng.choice(["Rome", "Oslo", "Bonn"], n)
    labels = np.where(x + (city == "Rome") + 0.1 * rng.normal(size=n) > 0.3, "über", "under")
    columns = {
        "x": ["NA" if i % 11 == 0 else f"{v:.4f}" for i, v in enumerate(x)],
        "city": city,
        "day": [f"2026-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(n)],
        "words": [f"note {rng.integers(1e6)} of {c}" for c in city],
        "nothing": [""] * n,
        "id": np.arange(n),
        "label": ["" if i == 5 else label for i, label in enumerate(labels)],
    }
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    (tmp_path / "d.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    result = invoke("fit", tmp_path / "d.csv", "--target", "label", "--out", tmp_path / "out", "--json")
    assert result.exit_code == 0, result.stderr
    metrics = json.loads(result.stdout)
    kinds = {column["name"]: (column["kind"], column["left_out"]) for column in metrics["columns"]}
    assert kinds == {
        "x": ("number", None), "city": ("category", None), "day": ("date", None), "words": ("text", None),
        "nothing": ("number", "all missing"), "id": ("number", "identifier"),
    }  # fmt: skip
    assert "1 of 60 rows have no 'label' and were left out" in result.stderr
    assert metrics["task"] == "classification" and "2 classes" in metrics["reason"]
    assert metrics["held_out"]["accuracy"]["value"] > 0.6
    assert set(metrics["held_out"]) >= {"accuracy", "log-loss", "AUC"}
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Sets of classes" in page and 'data-name="mean size"' in page


@pytest.mark.parametrize(
    ("target", "task", "found"),
    [([0, 1], "auto", "classification"), ([0, 1], "regression", "regression"), (range(30), "auto", "regression"),
     ([0.5, 1], "auto", "regression"), ([0.5, 1.5], "classification", "classification")],
)  # fmt: skip
def test_the_task_is_found_or_taken(target: Any, task: str, found: str, tmp_path: Path) -> None:
    from mercer.workflow.question import ask

    path = table(tmp_path / "d.csv", y=np.resize(list(target), 60))
    question = ask("d.csv", read_table(path), "y", task=task)
    assert question.task == found
    if found == "classification" and task == "auto":
        assert question.y.dtype.kind == "i" and "--task regression" in question.reason
    if list(target) == [0.5, 1.5]:
        assert set(question.y) == {"0.5", "1.5"}


def test_options_reach_the_fit(tmp_path: Path) -> None:
    data = table(tmp_path / "d.csv", 80)
    result = invoke(
        "fit", data, "--target", "y", "--out", tmp_path / "out", "--json",
        "--kernel", "Linear().on('small') + Gaussian(1.0).on('small', 'large')", "--memory", "1 GB",
        "--drop", "constant", "--sql", "SELECT * FROM data WHERE large IS NOT NULL", "--rows", 40, "--coverage", 0.5,
        "--holdout", 0.25,
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    metrics = json.loads(result.stdout)
    assert [column["name"] for column in metrics["columns"]] == ["small", "large"]
    assert [member["kernel"] for member in metrics["model"]] == ["Linear().on(0) + Gaussian(length_scale=1.0).on(0, 1)"]
    assert metrics["rows"] == {"fitted": 30, "held_out": 10, "in_model": 40}
    assert metrics["intervals"]["coverage"] == 0.5
    assert "left out by --drop: 'constant'" in result.stderr


def test_standard_input_is_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = invoke("fit", "-", "--target", "y", *QUICK, input=table(tmp_path / "d.csv").read_bytes())
    assert result.exit_code == 0, result.stderr
    assert "standard input: y from 2 columns" in result.stdout
    assert sorted(os.listdir(tmp_path)) == ["d.csv", "stdin-mercer"]


def test_rows_with_missing_cells_are_left_out_when_asked(tmp_path: Path) -> None:
    small = np.arange(60.0)
    small[[3, 7]] = np.nan
    data = table(tmp_path / "d.csv", small=small)
    out = ("--out", tmp_path / "out", "--json", "--kernel", "Laplacian('median').on('small')")
    assert json.loads(invoke("fit", data, "--target", "y", *out).stdout)["rows"]["fitted"] == 48
    result = invoke("fit", data, "--target", "y", "--drop-missing", *out)
    assert json.loads(result.stdout)["rows"] == {"fitted": 46, "held_out": 12, "in_model": 58}
    assert "2 rows with missing cells were left out by --drop-missing" in result.stderr


def test_without_a_target_the_columns_are_listed(tmp_path: Path) -> None:
    data = table(tmp_path / "d.csv", 60, name=["a", ""] * 30, day=["2026-11-16", "2026-11-17T09:30"] * 30)
    result = invoke("fit", data)
    assert result.exit_code == 0 and result.stderr == ""
    *lines, blank, last = result.stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["small", "numbers"], ["large", "numbers"], ["constant", "numbers"], ["y", "numbers"], ["name", "categories"],
        ["day", "dates"],
    ]  # fmt: skip
    assert lines[4].endswith("30 missing") and lines[2].endswith("constant: a fit leaves it out")
    assert "2026-11-16, 2026-11-17T09:30" in lines[5]
    assert blank == "" and last == f"60 rows. Say which column to predict, e.g.: mercer fit {data} --target y"


def test_a_listing_describes_a_sample_of_the_whole_table(tmp_path: Path) -> None:
    label = np.repeat(["sick", "well"], 2500)
    result = invoke("fit", table(tmp_path / "d.csv", 5000, label=label))
    assert "5,000 rows (2,000 of them, drawn from the whole table, are described)" in result.stdout
    assert "sick, well" in result.stdout and "--target label" in result.stdout


@pytest.mark.parametrize(
    ("columns", "target"),
    [
        ("id,species,note,when", "species"),  # dates and text are no targets; a name that says so
        ("id,size,weight,when", "weight"),  # the last that can be one
        ("id,when", "when"),  # nothing can: the last
    ],
)
def test_the_suggested_target_is_plausible(columns: str, target: str, tmp_path: Path) -> None:
    cells = {
        "id": np.arange(40), "species": np.repeat(["a", "b"], 20), "size": np.sin(np.arange(40)),
        "weight": np.cos(np.arange(40)), "note": np.array([f"text no {i} {'x' * i}" for i in range(40)]),
        "when": np.array([f"2026-01-{1 + i % 28:02}" for i in range(40)]),
    }  # fmt: skip
    names = columns.split(",")
    lines = [columns, *(",".join(str(cells[name][i]) for name in names) for i in range(40))]
    (tmp_path / "d.csv").write_text("\n".join(lines))
    assert invoke("fit", tmp_path / "d.csv").stdout.rstrip().endswith(f"--target {target}")


def test_progress_goes_to_whoever_watches() -> None:
    from mercer.estimators.progress import watched

    seen: list[tuple[str, int, int]] = []
    X = np.random.default_rng(0).normal(size=(40, 2))
    with watched(lambda *step: seen.append(step)):
        mercer.KernelRidgeCV().fit(X, X[:, 0])
    assert any(label.startswith("KernelRidgeCV") and (done, total) == (10, 10) for label, done, total in seen)
    told = len(seen)
    mercer.KernelRidgeCV().fit(X, X[:, 0])
    assert len(seen) == told  # nobody watches any more


def test_an_id_that_repeats_is_noted() -> None:
    assert repeated_ids("id", np.array([1, 2, 3])) == []
    (note,) = repeated_ids("id", np.array(["a", "b", "a", "a", "c", "c"]))
    assert note == (
        "the column 'id' does not name every row: 3 rows repeat an earlier value, such as a (3 rows); if rows with one "
        "value belong together, use --group id"
    )
    assert "1 row repeats an earlier value, such as 27 (2 rows)" in repeated_ids("id", np.array([27.0, 27.0]))[0]


def test_wrong_cells_among_numbers_are_noted() -> None:
    cells = np.array([*"0123456789", "1e3", None, "n.a.", *["-7.5"] * 10], dtype=object)
    assert nearly_numbers("size", cells) == [
        "the column 'size' is read as words because 1 cell of 22 is no number: 'n.a.'; correct or empty it"
    ]
    for words in (np.arange(5.0), np.array(["a", "1"] * 20, dtype=object), cells[:11], np.array([None, None])):
        assert nearly_numbers("size", words) == []


def test_quiet_is_quiet(tmp_path: Path) -> None:
    result = invoke("fit", table(tmp_path / "d.csv"), "--target", "y", "--out", tmp_path / "out", "--quiet", *QUICK)
    assert result.exit_code == 0 and result.stdout == "" and result.stderr == ""


def test_results_replace_older_ones(tmp_path: Path) -> None:
    data, out = table(tmp_path / "d.csv"), tmp_path / "out"
    out.mkdir()
    (out / "metrics.json").write_text("old")
    (out / "mine.txt").write_text("mine")
    assert invoke("fit", data, "--target", "y", "--out", out, "--quiet", *QUICK).exit_code == 0
    assert sorted(os.listdir(out)) == sorted([*FILES, "mine.txt"])
    assert json.loads((out / "metrics.json").read_text())["target"] == "y"
    again = invoke("fit", data, "--target", "y", "--out", out, *QUICK)
    assert again.exit_code == 0 and "replaced the model of 'y' from d.csv" in again.stderr
    before = (out / "model.mercer").read_bytes()
    refused = invoke("fit", data, "--target", "small", "--out", out)
    assert refused.exit_code == 64 and "holds a model of 'y' from d.csv" in refused.stderr and "--force" in refused.stderr
    assert (out / "model.mercer").read_bytes() == before
    assert invoke("fit", data, "--target", "small", "--out", out, "--force", "--quiet", *QUICK).exit_code == 0
