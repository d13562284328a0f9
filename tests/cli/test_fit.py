"""`mercer fit`: what it writes, what it says, and that a failure leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import mercer
from mercer.cli.app import app
from mercer.persist import load, load_with_notes
from mercer.workflow.training import by_number

FILES = ["metrics.json", "model.mercer", "predictions.png", "surface.png"]


def invoke(*arguments: Any) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def table(path: Path, n: int = 60, delimiter: str = ",", **columns: Any) -> Path:
    """Write a table: two numbers of very different size, a constant, and the target `y`, or what is given."""
    rng = np.random.default_rng(0)
    small, large = rng.normal(size=n), 1e4 * rng.normal(size=n)
    data = {"small": small, "large": large, "constant": np.ones(n), "y": np.sin(small) + large / 2e4, **columns}
    lines = [delimiter.join(data), *(delimiter.join(map(str, row)) for row in zip(*data.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    folder = tmp_path_factory.mktemp("fit")
    data = table(folder / "data.csv", 80)
    return folder, invoke("fit", data, "--target", "y", "--out", folder / "new" / "out", "--seed", 3)


def test_a_fit_writes_all_its_results(fitted: tuple[Path, Any]) -> None:
    folder, result = fitted
    assert result.exit_code == 0, result.stderr
    assert sorted(os.listdir(folder)) == ["data.csv", "new"]  # and nothing else
    assert sorted(os.listdir(folder / "new" / "out")) == FILES
    assert (folder / "new" / "out" / "surface.png").read_bytes().startswith(b"\x89PNG")
    assert result.stderr == ""


def test_the_summary_answers_is_it_good(fitted: tuple[Path, Any]) -> None:
    said = fitted[1].stdout
    for word in ("regression", "held-out error", "the mean alone", "linear ridge", "90 % intervals", "alpha", "Gaussian",
                 "time, memory", "model.mercer", "mercer predict"):  # fmt: skip
        assert word in said


def test_metrics_are_those_of_the_saved_model(fitted: tuple[Path, Any]) -> None:
    folder, _ = fitted
    metrics = json.loads((folder / "new" / "out" / "metrics.json").read_text())
    pipeline, notes = load_with_notes(folder / "new" / "out" / "model.mercer")
    assert notes["columns"] == metrics["columns"] == ["small", "large", "constant"]
    assert metrics["rows"] == {"fitted": 64, "held_out": 16, "not_used": 0, "missing_values": 0}
    assert metrics["length_scale"] == pipeline[-1].best_length_scale_ and metrics["alpha"] == pipeline[-1].best_alpha_
    held_out = metrics["held_out"]
    assert held_out["value"] < held_out["linear"] < held_out["simple"]
    # the same rows, split by hand: the saved pipeline scales the columns as in training
    from sklearn.model_selection import train_test_split

    data = np.loadtxt(folder / "data.csv", delimiter=",", skiprows=1)
    _, test = train_test_split(np.arange(80), test_size=0.2, random_state=3)
    pipeline[0].__dict__.pop("feature_names_in_")
    errors = pipeline.predict(data[test, :3]) - data[test, 3]
    assert held_out["value"] == pytest.approx(np.sqrt(np.mean(errors**2)), rel=1e-9)
    bounds = pipeline[-1].predict_interval(pipeline[0].transform(data[test, :3]))
    assert held_out["covered"] == np.mean((bounds[:, 0] <= data[test, 3]) & (data[test, 3] <= bounds[:, 1]))


def test_the_model_takes_data_frames_in_python(fitted: tuple[Path, Any]) -> None:
    import pandas

    folder, _ = fitted
    frame = pandas.read_csv(folder / "data.csv")
    model = load(folder / "new" / "out" / "model.mercer")
    assert model.predict(frame[["small", "large", "constant"]]).shape == (80,)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["large", "small", "constant"]])


def test_the_same_seed_gives_the_same_result(fitted: tuple[Path, Any], tmp_path: Path) -> None:
    folder, _ = fitted
    result = invoke("fit", folder / "data.csv", "--target", "y", "--out", tmp_path / "out", "--seed", 3, "--json")
    before = json.loads((folder / "new" / "out" / "metrics.json").read_text())
    again = json.loads(result.stdout)
    for name in ("seconds", "model_bytes"):
        before.pop(name)
        again.pop(name)
    assert again == before


def test_text_makes_classes(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=100)
    labels = np.where(x + 0.2 * rng.normal(size=100) > 0, "über", "under")
    data = table(tmp_path / "d.csv", 100, small=x, y=labels)
    result = invoke("fit", data, "--target", "y", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.stderr
    assert "classification (the target holds text, 2 classes)" in result.stdout
    assert sorted(os.listdir(tmp_path / "out")) == FILES
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    # leave-one-out accuracy is an honest one: some labels are noise
    assert 0.8 < metrics["leave_one_out"]["score"] < 1.0
    assert metrics["held_out"]["value"] > 0.7 > metrics["held_out"]["simple"]


@pytest.mark.parametrize(
    ("target", "task", "found"),
    [([0, 1], "auto", "classification"), ([0, 1], "regression", "regression"), (range(30), "auto", "regression"),
     ([0.5, 1], "auto", "regression"), ([0.5, 1.5], "classification", "classification")],
)  # fmt: skip
def test_the_task_is_found_or_taken(target: Any, task: str, found: str, tmp_path: Path) -> None:
    from mercer.workflow.columns import ask, read_table

    path = table(tmp_path / "d.csv", y=np.resize(list(target), 60))
    question = ask(path, read_table(path), "y", drop=(), task=task, drop_missing=False)
    assert question.task == found
    if found == "classification" and task == "auto":
        assert question.y.dtype.kind == "i" and "--task regression" in question.reason
    if list(target) == [0.5, 1.5]:
        assert set(question.y) == {"0.5", "1.5"}


def test_other_formats_are_the_same_table(tmp_path: Path) -> None:
    table(tmp_path / "a.csv")
    table(tmp_path / "b.tsv", delimiter="\t")
    table(tmp_path / "c.csv", delimiter=";")
    rows = np.loadtxt(tmp_path / "a.csv", delimiter=",", skiprows=1)
    names = ["small", "large", "constant", "y"]
    pyarrow.parquet.write_table(pyarrow.table(dict(zip(names, rows.T, strict=True))), tmp_path / "d.parquet")
    found = []
    for name in ("a.csv", "b.tsv", "c.csv", "d.parquet"):
        result = invoke("fit", tmp_path / name, "--target", "y", "--out", tmp_path / "out", "--json", "--alpha", 0.1)
        found.append(json.loads(result.stdout)["held_out"])
    assert found.count(found[0]) == 4


def test_options_reach_the_fit(tmp_path: Path) -> None:
    data = table(tmp_path / "d.csv", 80)
    result = invoke(
        "fit", data, "--target", "y", "--out", tmp_path / "out", "--json",
        "--kernel", "Linear().on('small') + Gaussian(1.0)", "--alpha", 0.1, "--alpha", 1.0,
        "--drop", "constant", "--rows", 30, "--coverage", 0.5, "--test-size", 0.25,
    )  # fmt: skip
    metrics = json.loads(result.stdout)
    assert metrics["columns"] == ["small", "large"]
    assert metrics["kernel"].startswith("Linear().on(0) + Gaussian(")
    assert metrics["alpha"] in (0.1, 1.0)
    assert metrics["rows"] == {"fitted": 30, "held_out": 20, "not_used": 30, "missing_values": 0}
    assert metrics["held_out"]["coverage"] == 0.5
    assert "30 rows drawn with seed 0; 30 are not used" in result.stderr


def test_columns_of_a_kernel_are_numbered() -> None:
    kernel = mercer.Gaussian(1.0).on("b") * mercer.Linear().on("a", 2)
    assert by_number(kernel, ("a", "b", "c")) == mercer.Gaussian(1.0).on(1) * mercer.Linear().on(0, 2)
    with pytest.raises(ValueError, match="the column 'd'"):
        by_number(mercer.Gaussian(1.0).on("d"), ("a", "b"))


def test_what_does_not_fit_the_memory_is_fitted_on_fewer_rows(tmp_path: Path) -> None:
    from mercer.numeric.memory import parse_bytes
    from mercer.workflow.columns import Question
    from mercer.workflow.training import Settings, affordable, make_model, split

    X = np.random.default_rng(0).normal(size=(6000, 2))
    question = Question(("a", "b"), "y", X, X[:, 0], "regression", "", 0)
    settings = Settings("Gaussian(1.0)", None, 0.2, 0, 0.9, "40 MB", 10_000)
    parts, plan = affordable(make_model(question, settings), question, split(question, settings), 0)
    assert 1000 <= len(parts.train) < 4800 == len(parts.train) + parts.n_unused
    assert plan.bytes <= parse_bytes("40 MB")
    assert not set(parts.train) & set(parts.test)


def test_rows_with_missing_values(tmp_path: Path) -> None:
    small = np.arange(60.0)
    small[[3, 7]] = np.nan
    data = table(tmp_path / "d.csv", small=small)
    result = invoke("fit", data, "--target", "y", "--out", tmp_path / "out")
    assert result.exit_code == 64 and "2 of 60 rows have missing or infinite values (small 2)" in result.stderr
    assert "--drop-missing" in result.stderr
    result = invoke("fit", data, "--target", "y", "--out", tmp_path / "out", "--drop-missing", "--json")
    assert json.loads(result.stdout)["rows"]["missing_values"] == 2
    assert "2 rows with missing values are left out" in result.stderr


def test_without_a_target_the_columns_are_listed(tmp_path: Path) -> None:
    data = table(tmp_path / "d.csv", 60, name=["a", ""] * 30)
    result = invoke("fit", data)
    assert result.exit_code == 64
    lines = result.stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["small", "numbers"], ["large", "numbers"], ["constant", "numbers"], ["y", "numbers"], ["name", "text"]
    ]  # fmt: skip
    assert lines[-1].endswith("(30 missing)")
    assert "--target" in result.stderr and result.stderr.count("\n") == 1


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


def test_quiet_is_quiet(tmp_path: Path) -> None:
    result = invoke("fit", table(tmp_path / "d.csv"), "--target", "y", "--out", tmp_path / "out", "--quiet", "--rows", 20)
    assert result.exit_code == 0 and result.stdout == "" and result.stderr == ""


# -- one line that says what to do ------------------------------------------------------------------------------------


BAD = {
    "missing target": ("a,b\n1,2\n", ["--target", "c"], "there is no column 'c'. There are: 'a', 'b'."),
    "misspelled target": ("speed,size\n1,2\n", ["--target", "sped"], "Did you mean 'speed'?"),
    "text column": ("a,b,c\n1,x,2\n", ["--target", "c"], "1 column does not hold numbers: 'b'. Leave it out: --drop b"),
    "decimal commas": ("a;b\n1,5;2\n", ["--target", "b"], "decimal commas are read as text"),
    "empty file": ("", ["--target", "c"], "the file is empty"),
    "names only": ("a,b\n", ["--target", "b"], "no rows below it"),
    "one row": ("a,b\n1,2\n", ["--target", "b"], "1 row; at least 10 are needed"),
    "wrong delimiter": ("a:b\n1:2\n", ["--target", "b"], "The file has one column, 'a:b': is its delimiter a comma"),
    "one column": ("a\n1\n", ["--target", "a"], "no column is left to predict 'a' from"),
    "dropped target": ("a,b\n1,2\n", ["--target", "b", "--drop", "b"], "both the target and dropped"),
    "unknown drop": ("a,b\n1,2\n", ["--target", "b", "--drop", "c"], "there is no column 'c'"),
    "too large": ("a,b\n" + "1e200,1\n2e200,2\n" * 9, ["--target", "b", "--task", "regression"], "beyond 1e+150"),
    "nothing to fit": ("a,b\n" + "1,2\n3,4\n" * 6, ["--target", "b", "--test-size", "0.99"], "leaves too few rows"),
    "constant target": ("a,b\n" + "1,2\n" * 12, ["--target", "b"], "the same value in every row"),
    "a name per row": ("a,b\n" + "".join(f"{i},n{i}\n" for i in range(12)), ["--target", "b"], "too many for classes"),
    "text regression": ("a,b\n" + "1,x\n1,y\n" * 9, ["--target", "b", "--task", "regression"], "holds text"),
    "task": ("a,b\n1,2\n", ["--target", "b", "--task", "guess"], "--task must be one of auto, regression, classification"),
    "test size": ("a,b\n1,2\n", ["--target", "b", "--test-size", "3"], "--test-size must be a fraction between 0 and 1"),
    "coverage": ("a,b\n1,2\n", ["--target", "b", "--coverage", "90"], "--coverage must be a fraction"),
    "rows": ("a,b\n1,2\n", ["--target", "b", "--rows", "1"], "--rows must be at least 2"),
    "seed": ("a,b\n1,2\n", ["--target", "b", "--seed", "-1"], "--seed must be"),
    "memory": ("a,b\n1,2\n", ["--target", "b", "--memory", "lots"], "cannot read 'lots'"),
    "kernel": ("a,b\n1,2\n", ["--target", "b", "--kernel", "rbf"], "write 'Gaussian.from_gamma(0.5)'"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line_and_leaves_nothing(name: str, tmp_path: Path) -> None:
    text, options, message = BAD[name]
    (tmp_path / "d.csv").write_text(text)
    result = invoke("fit", tmp_path / "d.csv", *options, "--out", tmp_path / "out")
    assert result.exit_code == 64 and result.stdout == ""
    assert result.stderr.startswith("Error: ") and message in result.stderr and result.stderr.count("\n") == 1
    assert os.listdir(tmp_path) == ["d.csv"]


@pytest.mark.parametrize("file", ["d.npy", "d.txt", "d.xlsx", "none.csv"])
def test_files_that_are_no_tables(file: str, tmp_path: Path) -> None:
    np.save(tmp_path / "d.npy", np.eye(3))
    (tmp_path / "d.txt").write_text("a\nb\n")
    (tmp_path / "d.xlsx").write_bytes(b"PK")
    result = invoke("fit", tmp_path / file, "--target", "y")
    assert result.exit_code == 64 and result.stderr.count("\n") == 1 and file in result.stderr


def test_a_place_where_nothing_can_be_written_is_found_before_the_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mercer.workflow.training.train", lambda *_: pytest.fail("the fit was started"))
    data = table(tmp_path / "d.csv")
    for out in (data, data / "below", "/proc/nowhere"):
        result = invoke("fit", data, "--target", "y", "--out", out)
        assert result.exit_code == 64 and "--out" in result.stderr and result.stderr.count("\n") == 1
    assert os.listdir(tmp_path) == ["d.csv"]


@pytest.mark.parametrize("place", ["mercer.workflow.training.train", "mercer.persist.save", "mercer.cli.pictures.draw"])
@pytest.mark.parametrize("existing", [True, False])
def test_an_interruption_leaves_nothing_half_written(
    place: str, existing: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    data, out = table(tmp_path / "d.csv"), tmp_path / "out"
    if existing:
        out.mkdir()
        (out / "metrics.json").write_text("old")
    monkeypatch.setattr(place, interrupt)
    result = invoke("fit", data, "--target", "y", "--out", out)
    assert result.exit_code == 130 and result.stderr == "Interrupted.\n"
    assert sorted(os.listdir(tmp_path)) == (["d.csv", "out"] if existing else ["d.csv"])
    if existing:
        assert os.listdir(out) == ["metrics.json"] and (out / "metrics.json").read_text() == "old"


def test_results_replace_older_ones(tmp_path: Path) -> None:
    data, out = table(tmp_path / "d.csv"), tmp_path / "out"
    out.mkdir()
    (out / "metrics.json").write_text("old")
    (out / "mine.txt").write_text("mine")
    assert invoke("fit", data, "--target", "y", "--out", out, "--quiet").exit_code == 0
    assert sorted(os.listdir(out)) == sorted([*FILES, "mine.txt"])
    assert json.loads((out / "metrics.json").read_text())["target"] == "y"


# -- in a process of its own ----------------------------------------------------------------------------------------------


def test_a_small_fit_does_not_wait_for_a_compiler(tmp_path: Path) -> None:
    code = (
        f"import sys; sys.argv = ['mercer', 'fit', {str(table(tmp_path / 'd.csv'))!r}, '--target', 'y', '--quiet']\n"
        "from mercer.cli import main\n"
        "try: main()\n"
        "except SystemExit as leave: print(leave.code)\n"
        "print([m for m in ('numba', 'llvmlite', 'duckdb') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert result.stdout.split("\n")[:2] == ["0", "[]"], result.stderr
    assert sorted(os.listdir(tmp_path / "d-mercer")) == FILES


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for a child there")
def test_ctrl_c_ends_a_running_fit(tmp_path: Path) -> None:
    data = table(tmp_path / "d.csv", 2500)
    command = [sys.executable, "-m", "mercer.cli", "fit", str(data), "--target", "y"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, encoding="utf-8") as process:
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob(".mercer-*")) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert said.endswith("Interrupted.\n") and "Traceback" not in said
    assert os.listdir(tmp_path) == ["d.csv"]


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGTERM there")
def test_sigterm_cleans_up_like_ctrl_c(tmp_path: Path) -> None:
    data = table(tmp_path / "d.csv", 2500)
    command = [sys.executable, "-m", "mercer.cli", "fit", str(data), "--target", "y"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, encoding="utf-8") as process:
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob(".mercer-*")) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        process.terminate()
        _, said = process.communicate(timeout=60)
    assert process.returncode == 143, said
    assert said.endswith("Terminated.\n") and "Traceback" not in said
    assert os.listdir(tmp_path) == ["d.csv"]


# -- what is there already, and what names may hold ------------------------------------------------------------------------


def test_another_model_is_replaced_only_by_force(tmp_path: Path) -> None:
    data, out = table(tmp_path / "d.csv"), tmp_path / "out"
    assert invoke("fit", data, "--target", "y", "--out", out, "--quiet").exit_code == 0
    again = invoke("fit", data, "--target", "y", "--out", out)
    assert again.exit_code == 0 and "replaced the model of 'y' from d.csv" in again.stderr
    before = (out / "model.mercer").read_bytes()
    refused = invoke("fit", data, "--target", "small", "--out", out)
    assert refused.exit_code == 64 and "holds a model of 'y' from d.csv" in refused.stderr and "--force" in refused.stderr
    assert (out / "model.mercer").read_bytes() == before
    assert invoke("fit", data, "--target", "small", "--out", out, "--force", "--quiet").exit_code == 0


@pytest.mark.parametrize("seed", ["4294967296", "-1", "99999999999999999999"])
def test_a_seed_beyond_the_range_is_bad_input(tmp_path: Path, seed: str) -> None:
    result = invoke("fit", table(tmp_path / "d.csv"), "--target", "y", f"--seed={seed}")
    assert result.exit_code == 64 and "bug" not in result.stderr and "--seed" in result.stderr


def test_control_characters_do_not_reach_the_terminal(tmp_path: Path) -> None:
    evil = "\x1b]0;owned\x07\x9b2J"
    labels = np.array([f"{evil}a", "b"])[np.arange(60) % 2]
    data = table(tmp_path / f"d{evil}.csv", **{f"x{evil}": np.arange(60), "label": labels})
    fits = ["--target", "label", "--out", tmp_path / f"out{evil}"]
    for arguments in (fits, [], ["--target", f"no{evil}"], ["--drop", evil]):
        result = invoke("fit", data, *arguments)
        assert "\x1b" not in result.output + result.stderr and "\x9b" not in result.output + result.stderr
        assert "\\x1b" in result.output + result.stderr


def test_many_columns_are_read_in_proportion() -> None:
    """The number of comparisons of names, and not the time: names are looked up, never searched for."""
    from mercer.inputs.tables import Table, _names
    from mercer.workflow.columns import matrix, refuse_unknown

    class Name(str):
        compared = 0

        def __eq__(self, other: object) -> bool:
            Name.compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    names = [Name(f"x{i}") for i in range(3000)]
    table_ = Table({name: np.zeros(2) for name in names})
    refuse_unknown(Path("d.csv"), table_, [Name(name) for name in names])
    matrix(Path("d.csv"), table_, [Name(name) for name in names])
    _names(Path("d.csv"), names)
    assert Name.compared < 20 * len(names)
