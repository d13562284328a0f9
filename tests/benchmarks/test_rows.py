"""The declared rows, small; the command; the constants."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmarks import __main__ as command
from benchmarks import machine, results
from benchmarks.exponential import candidates
from benchmarks.machine import Constants
from benchmarks.outcome import run_row
from benchmarks.row import Row
from benchmarks.rows import ON_REQUEST, gram, load_rows, startup

ROWS = load_rows()
Make = Callable[..., Row]


def by_name(name: str) -> Row:
    return next(row for row in ROWS if row.name == name)


def test_rows_can_be_found_and_say_what_they_are() -> None:
    assert len(ROWS) >= 27
    assert len({row.name for row in ROWS}) == len(ROWS)
    for row in ROWS:
        assert row.group
        assert row.module.startswith("benchmarks.rows.")
        assert row.title
        assert " " not in row.name, "a name is one word of a command"


def test_the_targets_of_the_first_issue_are_there() -> None:
    bounds = {row.name: row.claims[0].at_least or row.claims[0].at_most for row in ROWS if row.group == "gram"}
    for d, least32, least64 in ((10, 3.0, 2.0), (100, 3.0, 2.0), (784, 1.0, 1.0)):
        assert bounds[f"gaussian-gram-d{d}-float32"] == least32
        assert bounds[f"gaussian-gram-d{d}-float64"] == least64
        for kind in ("sum-of-three", "sum-of-three-related"):
            assert bounds[f"{kind}-d{d}-float32"] == bounds[f"{kind}-d{d}-float64"] == 0.7
    assert bounds["laplacian-gram-d10-float32"] == bounds["laplacian-gram-d100-float64"] == 3.0
    assert [claim.text for claim in by_name("import").claims] == ["seconds <= 0.3", "numba or matplotlib loaded <= 0"]


@pytest.mark.parametrize("dtype", gram.DTYPES)
@pytest.mark.parametrize(
    "make",
    [
        lambda dtype: gram.gaussian(10, dtype, 1.0, n=300),
        lambda dtype: gram.gaussian(10, dtype, 1.0, n=300, width=0.25),
        lambda dtype: gram.laplacian(10, dtype, 1.0, n=300),
        lambda dtype: gram.sum_of_three(10, dtype, related=False, n=300),
        lambda dtype: gram.sum_of_three(10, dtype, related=True, n=300),
    ],
    ids=["gaussian", "narrow", "laplacian", "sum", "related"],
)
def test_gram_rows_agree_when_small(make, dtype: str, constants: Constants) -> None:
    row = make(dtype)
    X = row.data()
    assert np.array_equal(X, row.data()), "the data come from a fixed seed"
    assert X.dtype == dtype
    record = run_row(dataclasses.replace(row, memory=False, repeats=1), constants)
    assert record["peers"][0]["agrees"], record["peers"][0]
    assert record["limit"]["seconds"] > 0


def test_related_length_scales_are_powers_of_the_root_of_two() -> None:
    def steps(scales: tuple[float, ...]) -> list[float]:
        return [2.0 * np.log2(scale / scales[0]) for scale in scales[1:]]

    assert np.allclose(steps(gram.RELATED), np.round(steps(gram.RELATED)))
    assert all(abs(step - round(step)) > 0.2 for step in steps(gram.UNRELATED))


def test_importing_is_measured_in_a_fresh_interpreter() -> None:
    found = startup.in_fresh_interpreter(startup.AFTER_SKLEARN)
    assert found.seconds > 0
    assert startup.loaded(None, found.value) == {"numba or matplotlib loaded": 0.0}


@pytest.mark.parametrize(("dtype", "low"), [("float32", -80.0), ("float64", -700.0)])
def test_the_yardstick_is_an_exponential(dtype: str, low: float) -> None:
    values = np.linspace(low, 0.0, 10_001, dtype=dtype)
    exact = np.exp(values.astype(np.longdouble))
    for run in candidates(dtype).values():
        out = np.empty_like(values)
        run(values, out, np.empty_like(values))
        assert np.max(np.abs(out / exact - 1.0)) < 4 * np.finfo(dtype).eps


def test_constants_are_positive_and_survive_a_file() -> None:
    found = machine.measure(scale=0.01, repeats=1)
    assert all(found.gemm[t] > 0 and found.exp[t] > 0 for t in machine.DTYPES)
    assert min(found.read, found.write, found.copy, found.touch) > 0
    assert machine.Constants.from_dict(found.as_dict()) == found


def test_the_machine_is_described_without_names() -> None:
    import platform

    described = machine.describe()
    assert described["threads"] >= 1
    assert platform.node() not in str(described) or not platform.node()
    assert machine.versions(["numpy", "no-such-package-anywhere"]).keys() == {"numpy"}


# -- choosing rows -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "group", "long", "chosen"),
    [
        ([], None, False, "a b"),
        ([], None, True, "a-long"),
        ([], "gp", False, "c"),
        (["a-long"], None, False, "a-long"),
        (["c", "a*"], None, False, "a a-long c"),
        (["a*"], "gram", True, "a a-long"),
    ],
)
def test_choosing(names: list[str], group: str | None, long: bool, chosen: str, tiny: Make) -> None:
    declared = [
        tiny(name="a", group="gram"),
        tiny(name="a-long", group="gram", long=True),
        tiny(name="b", group="other"),
        tiny(name="c", group=next(iter(ON_REQUEST))),
    ]
    assert " ".join(row.name for row in command.choose(declared, names, group, long)) == chosen


def test_a_wrong_name_is_answered_with_a_near_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--row", "gaussian-gram-d10-float33"]) == 2
    assert "did you mean gaussian-gram-d10-float32" in capsys.readouterr().err
    assert command.main(["--group", "nothing"]) == 2
    assert f"there are {', '.join(sorted({row.group for row in ROWS}))}" in capsys.readouterr().err


def test_the_list_runs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--list"]) == 0
    printed = capsys.readouterr().out
    assert all(row.name in printed for row in ROWS)


@pytest.mark.slow
def test_a_run_from_command_to_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tiny: Make, constants: Constants
) -> None:
    rows = [tiny(name="a", group="gram", repeats=1), tiny(name="b", group="other", tolerance=0.1, repeats=1)]
    monkeypatch.setattr(command, "load_rows", lambda: rows)
    monkeypatch.setattr(machine, "measure", lambda: constants)
    assert command.main(["--row", "a"], tmp_path) == 0
    assert "`a`" in capsys.readouterr().out
    assert sorted(file.name for file in tmp_path.iterdir()) == ["gram.json", "gram.md"]
    [run] = results.load("gram", tmp_path)["runs"].values()
    assert run["command"] == "python -m benchmarks --row a"
    assert command.main([], tmp_path) == 1, "results that differ are an error"
    assert "`b`" in (tmp_path / "other.md").read_text(encoding="utf-8")
    assert command.main(["--no-save"], tmp_path / "nowhere") == 1
    assert not (tmp_path / "nowhere").exists()


def test_the_results_on_file_are_of_declared_rows() -> None:
    """Rows that were renamed leave a stale line behind: rename it in the results as well."""
    declared = {row.name for row in ROWS}
    for path in results.FOLDER.glob("*.json"):
        assert set(results.load(path.stem)["rows"]) <= declared
