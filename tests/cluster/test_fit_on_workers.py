"""`mercer fit --scheduler`: workers give what one process gives, and what goes wrong is one line and an exit code."""

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
import pytest

import mercer
from mercer.errors import install_command
from mercer.inputs.reading import read_table
from mercer.numeric.threads import one_thread
from mercer.workflow.cluster import train_on_chunks
from mercer.workflow.question import FileQuestion, FitSettings
from tests.cli.tables import invoke

distributed = pytest.importorskip("distributed")

FILES = ["metrics.json", "model.mercer", "report.html"]
QUICK = ("--kernel", "Gaussian(1.5)")


def written(folder: Path, n: int, files: int = 3, **more: Any) -> Path:
    """A table in some files of a folder."""
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=n), 100.0 + 20.0 * rng.normal(size=n)
    city = rng.choice(["Rome", "Oslo"], n)
    y = np.sin(2 * a) + b / 50 + (city == "Rome") + 0.1 * rng.normal(size=n)
    columns = {"a": a, "b": b, "city": city, "y": y, "label": np.where(y > np.median(y), "high", "low"), **more}
    folder.mkdir()
    for number, rows in enumerate(np.array_split(np.arange(n), files)):
        cells = zip(*(np.asarray(column)[rows].tolist() for column in columns.values()), strict=True)
        lines = [",".join(columns), *(",".join(map(str, row)) for row in cells)]
        (folder / f"part{number}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("workers") / "table", 400)


def test_workers_give_the_digits_of_one_process(client: Any, data: Path) -> None:
    wish, settings = FileQuestion(str(data), "y", ["label"]), FitSettings(kernel="Gaussian('median')")
    with one_thread():
        here = train_on_chunks(wish, settings, rows=50)
        there = train_on_chunks(wish, settings, rows=50, client=client)
    np.testing.assert_array_equal(there.predictions, here.predictions)
    np.testing.assert_array_equal(there.intervals, here.intervals)
    np.testing.assert_array_equal(there.final.scores(there.judged.inputs), here.final.scores(here.judged.inputs))
    assert there.elsewhere is not None and here.elsewhere is not None
    assert (there.elsewhere.workers, there.elsewhere.threads, there.elsewhere.passes) == (2, 2, here.elsewhere.passes)


@pytest.fixture(scope="module")
def fitted(client: Any, data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    folder = tmp_path_factory.mktemp("results") / "out"
    options = ("--drop", "label", "--out", folder, *QUICK)
    return folder, invoke("fit", data, "--target", "y", "--scheduler", client.scheduler.address, *options)


def test_the_command_writes_what_it_always_writes(fitted: tuple[Path, Any], data: Path) -> None:
    folder, result = fitted
    assert result.exit_code == 0, result.stderr
    assert sorted(os.listdir(folder)) == FILES and os.listdir(folder.parent) == ["out"]
    assert result.stderr == "Note: left out by --drop: 'label'.\n"
    for words in ("held-out RMSE", "the mean", "linear ridge", "gradient boosting", "90 % intervals",
                  "cluster            2 workers", "passes over 3 chunks", "limited to         Gaussian(length_scale=1.5)",
                  "the saved model is fitted to all"):  # fmt: skip
        assert words in result.stdout, words
    metrics = json.loads((folder / "metrics.json").read_text())
    assert metrics["cluster"]["workers"] == 2 and metrics["rows"]["in_model"] == 400
    page = (folder / "report.html").read_text()
    assert "2 workers, 2 threads" in page and "candidates are limited to" in page
    assert metrics["held_out"]["RMSE"]["value"] < 0.5 * metrics["rivals"]["baseline"]["RMSE"]["value"]


def test_the_model_predicts_as_any_other(fitted: tuple[Path, Any], data: Path) -> None:
    folder, _ = fitted
    new = data / "part0.csv"
    result = invoke("predict", folder, new, "--interval", "0.9")
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == "prediction,lower,upper" and len(lines) == 1 + len(read_table(new))
    model = mercer.load(folder / "model.mercer")
    found = model.predict(read_table(new)[["city", "b", "a"]])
    np.testing.assert_allclose([float(line.split(",")[0]) for line in lines[1:]], found, rtol=1e-8)
    result = invoke("explain", folder, new, "--row", "2")
    assert result.exit_code == 0 and "training rows that decide most" in result.stdout


def test_classes_by_workers(client: Any, data: Path, tmp_path: Path) -> None:
    options = ("--drop", "y", "--out", tmp_path / "out", "--json", *QUICK)
    result = invoke("fit", data, "--target", "label", "--scheduler", client.scheduler.address, *options)
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["held_out"]["accuracy"]["value"] > 0.8
    result = invoke("predict", tmp_path / "out", data / "part1.csv", "--probabilities")
    assert result.stdout.splitlines()[0] == "prediction,probability of high,probability of low"


# -- what goes wrong -------------------------------------------------------------------------------------------------------


def refused(data: Path, scheduler: str, out: Path, *options: Any) -> str:
    """What is said where nothing is written: one line, exit code 64."""
    result = invoke("fit", data, "--target", "y", "--scheduler", scheduler, "--out", out, *options)
    assert result.exit_code == 64, result.stderr
    assert len(result.stderr.splitlines()) == 1 and result.stdout == ""
    assert not out.exists() and list(out.parent.iterdir()) == []
    return str(result.stderr)


def test_addresses_without_a_scheduler(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import mercer.cli.scheduler as scheduler

    monkeypatch.setattr(scheduler, "ANSWER", 1)
    out = tmp_path / "results" / "out"
    out.parent.mkdir()
    assert "tcp://127.0.0.1:9: cannot connect" in refused(data, "tcp://127.0.0.1:9", out)
    assert "cannot connect" in refused(data, "pigeon://127.0.0.1:8786", out)
    assert "cannot connect" in refused(data, "not an address", out)


def test_a_scheduler_without_workers(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import mercer.cli.scheduler as scheduler

    monkeypatch.setattr(scheduler, "WORKERS", 1)
    out = tmp_path / "results" / "out"
    out.parent.mkdir()
    with distributed.LocalCluster(n_workers=0, dashboard_address=None, silence_logs=50) as cluster:
        said = refused(data, cluster.scheduler_address, out)
    assert "it has no workers after 1 s; start some" in said


def test_workers_of_another_version(client: Any, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import mercer.cli.scheduler as scheduler

    ours = scheduler.version("mercer")  # type: ignore[attr-defined]
    out = tmp_path / "results" / "out"
    out.parent.mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(distributed.Client, "run", lambda *_, **__: {"tcp://one": "9.9"})
        said = refused(data, client.scheduler.address, out)
        assert f"worker tcp://one has mercer 9.9, and this is mercer {ours}" in said
        patch.setattr(distributed.Client, "run", lambda *_, **__: {"tcp://one": KeyError()})
        assert "has no mercer" in refused(data, client.scheduler.address, out)


def test_what_workers_cannot_do_is_refused(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "results" / "out"
    out.parent.mkdir()
    for option, value in (("--sql", "SELECT 1"), ("--rows", 100), ("--time", 5), ("--delimiter", ";")):
        assert f"{option} is not taken together with --scheduler" in refused(data, "tcp://127.0.0.1:9", out, option, value)


def test_without_the_extra(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    result = invoke("fit", data, "--target", "y", "--scheduler", "local", "--out", tmp_path / "out")
    assert result.exit_code == 69
    assert install_command("dask") in result.stderr and len(result.stderr.splitlines()) == 1


def test_an_error_on_a_worker_is_said_as_here(client: Any, tmp_path: Path) -> None:
    a = np.arange(200).astype(object)
    a[150] = "NA"
    data = written(tmp_path / "table", 200, a=a)
    out = tmp_path / "results" / "out"
    out.parent.mkdir()
    said = refused(data, client.scheduler.address, out, *QUICK)
    assert "the column 'a' has 1 missing cell," in said and "--drop-missing" in said


def test_a_model_of_another_target_stays(client: Any, data: Path, fitted: tuple[Path, Any]) -> None:
    folder, _ = fitted
    before = (folder / "model.mercer").read_bytes()
    result = invoke("fit", data, "--target", "a", "--scheduler", client.scheduler.address, "--out", folder)
    assert result.exit_code == 64 and "--force" in result.stderr
    assert (folder / "model.mercer").read_bytes() == before


def command(*arguments: Any) -> Any:
    """The command in a process of its own."""
    source = Path(mercer.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(source), os.environ.get("PYTHONPATH", "")])}
    words = [sys.executable, "-m", "mercer.cli", *map(str, arguments)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def tasks(dask_scheduler: Any) -> int:
    """How many tasks a scheduler knows."""
    return len(dask_scheduler.tasks)


def test_an_interrupt_cancels_the_tasks_and_leaves_nothing(client: Any, tmp_path: Path) -> None:
    data = written(tmp_path / "table", 20_000)
    out = tmp_path / "results" / "out"
    out.parent.mkdir()
    running = command("fit", data, "--target", "y", "--scheduler", client.scheduler.address, "--out", out)
    try:
        deadline = time.monotonic() + 300
        while not client.run_on_scheduler(tasks) and running.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        assert running.poll() is None, running.communicate()
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=300)
    finally:
        running.kill()
    assert (running.returncode, said.splitlines()[-1]) == (130, "Interrupted.")
    assert list(out.parent.iterdir()) == []
    deadline = time.monotonic() + 60
    while client.run_on_scheduler(tasks) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert client.run_on_scheduler(tasks) == 0


@pytest.mark.slow
def test_worker_processes_of_this_machine(data: Path, tmp_path: Path) -> None:
    running = command(
        "fit", data, "--target", "y", "--drop", "label", "--scheduler", "local", "--out", tmp_path / "out", *QUICK
    )
    said, errors = running.communicate(timeout=580)
    assert running.returncode == 0, errors
    assert "workers" in said and sorted(os.listdir(tmp_path / "out")) == FILES
    assert errors == "Note: left out by --drop: 'label'.\n"


def test_lost_workers_are_said_and_no_bug_of_ours(client: Any) -> None:
    from concurrent.futures import CancelledError

    from distributed.comm import CommClosedError

    from mercer.cli.scheduler import connected
    from mercer.errors import InputError, MercerError

    for lost in (CancelledError(), CommClosedError("gone")):
        said = pytest.raises(MercerError, match=r"the workers of tcp://.* were lost")
        with said as error, connected(client.scheduler.address):
            raise lost
        assert not isinstance(error.value, InputError)  # 70, not 64
