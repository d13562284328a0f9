"""`mercer check`: exit codes, texts, JSON, data files, and that nothing is ever evaluated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import mercer
from mercer.cli.app import app


def run(*arguments: str) -> Any:
    """Run `mercer check` in this process."""
    result = CliRunner().invoke(app, ["check", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    return result


def as_json(*arguments: str) -> dict[str, Any]:
    """Run with --json, and read it as strictly as other languages do."""
    result = run(*arguments, "--json")
    assert result.stderr == ""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    read: dict[str, Any] = json.loads(result.stdout, parse_constant=refuse)
    assert read["status"] in ("valid", "invalid", "unproven")
    assert result.exit_code == {"valid": 0, "invalid": 1, "unproven": 2}[read["status"]]
    return read


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Three columns of numbers and one of words."""
    rng = np.random.default_rng(0)
    lines = ["age,größe,height,city"]
    for (a, b, c), city in zip(rng.normal(size=(30, 3)), ["Ulm", "東京"] * 15, strict=True):
        lines.append(f"{a:.3f},{b:.3f},{c:.3f},{city}")
    path = tmp_path / "people.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


# -- the answer and its exit code --------------------------------------------------------------------------------

VALID = [
    "Linear()",
    "Gaussian(length_scale=1.5)",
    "Gaussian(length_scale='median')",
    "2.0 * Gaussian(length_scale=1.5) + Linear() ** 2",
    "Linear().exp().normalized()",
    "Bilinear([[2, 1], [1, 2]])",
    "Periodic(1.0, period=7.0) * Matern(nu=2.5)",
    "Spectrum(p=3, presence=True)",
    "VertexHistogram()",
    "Gaussian().on('age') * Linear().on(\"größe\")",
    "Tanh(scale=0.0, offset=1.0)",
    "\n  Linear()\n + Constant(2.0)\n",
]
INVALID = ["Tanh(scale=1.0, offset=-1.0)", "Tanh(scale=1.0, offset=1.0)", "Bilinear([[1, 2], [2, 1]])"]


@pytest.mark.parametrize("expression", VALID)
def test_valid_is_0_with_a_proof(expression: str) -> None:
    result = run(expression)
    assert result.exit_code == 0
    assert result.stdout.startswith("valid") and result.stderr == ""
    read = as_json(expression)
    assert read["status"] == read["certificate"]["status"] == "valid"
    assert mercer.parse(read["kernel"]) == mercer.parse(expression)


@pytest.mark.parametrize("expression", INVALID)
def test_invalid_is_1_with_a_counterexample(expression: str) -> None:
    result = run(expression)
    assert result.exit_code == 1
    assert result.stdout.startswith("invalid")
    found = as_json(expression)["certificate"]["counterexample"]
    assert found["value"] < 0 and len(found["points"]) == len(found["vector"])


def test_unproven_is_2() -> None:
    def _inner(X: Any, Z: Any) -> Any:
        return np.asarray(X) @ np.asarray(Z).T

    mercer.register("inner_for_the_command_line", _inner)
    result = run("Function(inner_for_the_command_line)")
    assert result.exit_code == 2
    assert result.stdout.startswith("unproven")


def test_a_median_without_data_is_told_where_to_get_them() -> None:
    result = run("Gaussian('median') + Tanh()")
    assert result.exit_code == 2
    assert "--data FILE" in result.stdout


# -- bad expressions --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "message", "column"),
    [
        ("Gausian()", "there is no kernel 'Gausian'", 0),
        ("Linear() + Gausian()", "there is no kernel 'Gausian'", 11),
        ("Linear() @@ 3", "cannot read this", 9),
        ("Gaussian(length_scale=-1)", "length_scale must be a finite number > 0", 0),
        ("2 * Gaussian() ** 0.5", "only whole powers", 4),
        ("Linear", "needs brackets", 0),
        ("3", "a kernel was expected", 0),
        ("Linear().fit()", "there is no method .fit()", 9),
        ("'größer' * Gausian()", "there is no kernel 'Gausian'", 11),
        ("", "the text is empty", 0),
    ],
)
def test_bad_expressions_are_64_with_the_position(expression: str, message: str, column: int) -> None:
    result = run("--", expression)
    assert result.exit_code == 64
    assert result.stdout == ""
    reason, shown, caret = result.stderr.rstrip("\n").split("\n")
    assert reason.startswith("Error: ") and message in reason
    assert shown.strip() == expression.strip()
    assert caret == " " * (column + 2) + "^"


def test_the_caret_stands_below_wide_letters() -> None:
    result = run("'数値' + Gausian()")
    assert result.stderr.rstrip("\n").split("\n")[-1] == " " * (2 + 9) + "^"  # two letters are two columns wide


def test_a_long_expression_is_shown_around_the_place() -> None:
    long = " + ".join(["Linear()"] * 40)
    result = run(f"{long} + Gausian() + {long}")
    _, shown, caret = result.stderr.rstrip("\n").split("\n")
    assert len(shown) < 140 and shown.startswith("  …") and shown.endswith("…")
    assert shown[len(caret) - 1 :].startswith("Gausian()")


def test_names_of_other_libraries_get_the_text_to_write() -> None:
    result = run("rbf")
    assert result.exit_code == 64
    assert "write 'Gaussian.from_gamma(0.5)'" in result.stderr


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os').system('touch {marker}')",
        "Linear().__class__.__base__.__subclasses__()",
        "Linear().map(__import__('os').system)",
        "Function(lambda X, Z: open('{marker}', 'w'))",
        "[open('{marker}', 'w') for x in (1,)]",
        "(x := open('{marker}', 'w'))",
        "open('{marker}', 'w').close()",
        'f\'{{open("{marker}", "w")}}\'',
        "Gaussian(length_scale=open('{marker}', 'w'))",
        "exec(\"open('{marker}', 'w')\")",
        "Linear() if open('{marker}', 'w') else Linear()",
        "import os",
        "9 ** 9 ** 9 ** 9",
        "[red]Linear()[/red]",
        "\x1b[31mLinear()",
        "Linear()\x00",
        "(" * 500 + "Linear()" + ")" * 500,
    ],
)
def test_nothing_is_evaluated(expression: str, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    result = run(expression.replace("{marker}", str(marker)))
    assert result.exit_code == 64
    assert not marker.exists()
    assert result.stdout == "" and "\x1b" not in result.stderr


# -- data --------------------------------------------------------------------------------


def test_data_resolves_the_median_and_checks_the_gram(table: Path) -> None:
    k = "Gaussian(length_scale='median').on('age', 'größe')"
    result = run(k, "--data", str(table))
    assert result.exit_code == 0
    assert "median" not in result.stdout
    assert "people.csv (all 30 rows)" in result.stdout
    read = as_json(k, "--data", str(table))
    assert read["data"]["file"] == "people.csv"
    assert read["data"]["n_rows"] == 30 and read["data"]["rows"] is None
    assert read["data"]["gram"]["status"] == "valid"
    assert read["data"]["counterexample"] is None
    resolved = mercer.parse(read["kernel"])
    assert 0.5 < resolved.get_params()["0__length_scale"] < 5.0


def test_a_counterexample_among_the_rows(table: Path) -> None:
    read = as_json("Tanh(1.0, offset=-1.0).on('age', 'height')", "--data", str(table))
    assert read["status"] == "invalid"
    assert read["data"]["gram"]["status"] == "invalid"
    assert read["data"]["counterexample"]["value"] < 0


def test_data_can_refute_what_was_unproven(tmp_path: Path) -> None:
    def _step(X: Any, Z: Any) -> Any:
        # a kernel unless a point beyond 1e6 comes in, where no search looks by itself
        X, Z = np.asarray(X), np.asarray(Z)
        return np.where((X[:, :1] > 1e6) & (Z[:, 0] > 1e6), -1.0, X @ Z.T)

    mercer.register("step_for_the_command_line", _step)
    expression = "Function(step_for_the_command_line)"
    assert run(expression).exit_code == 2
    np.save(tmp_path / "far.npy", np.array([[1.0], [2.0], [2e6]]))
    result = run(expression, "--data", str(tmp_path / "far.npy"))
    assert result.exit_code == 1
    assert result.stdout.startswith("invalid")


def test_many_rows_are_sampled_and_it_is_said(tmp_path: Path) -> None:
    np.save(tmp_path / "many.npy", np.random.default_rng(0).normal(size=(1500, 2)))
    result = run("Gaussian()", "--data", str(tmp_path / "many.npy"))
    assert result.exit_code == 0
    assert "1000 of 1500 rows, drawn with a fixed seed" in result.stdout
    rows = as_json("Gaussian()", "--data", str(tmp_path / "many.npy"))["data"]["rows"]
    assert len(set(rows)) == 1000 and rows == sorted(rows) and max(rows) < 1500


def test_every_kind_of_file(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    X = np.random.default_rng(0).normal(size=(20, 2))
    np.save(tmp_path / "a.npy", X)
    np.savez(tmp_path / "a.npz", X=X)
    np.savetxt(tmp_path / "a.csv", X, delimiter=",", header="u,v", comments="")
    np.savetxt(tmp_path / "a.tsv", X, delimiter="\t", header="u\tv", comments="")
    pq.write_table(pa.table({"u": X[:, 0], "v": X[:, 1]}), tmp_path / "a.parquet")
    for name in ("a.npy", "a.npz", "a.csv", "a.tsv", "a.parquet"):
        read = as_json("Gaussian() + Linear().on(1)", "--data", str(tmp_path / name))
        assert read["data"]["gram"]["status"] == "valid", name
    (tmp_path / "a.txt").write_text("GATTACA\nčaj čaj\n\nATTAC\n", encoding="utf-8")
    assert as_json("Spectrum(p=2)", "--data", str(tmp_path / "a.txt"))["data"]["n_rows"] == 4
    (tmp_path / "a.fa").write_text(">one\nGATT\nACA\n>two\nTAC\n", encoding="utf-8")
    assert as_json("Spectrum(p=2)", "--data", str(tmp_path / "a.fa"))["data"]["n_rows"] == 2


def test_a_matrix_of_kernel_values(tmp_path: Path) -> None:
    np.save(tmp_path / "K.npy", np.array([[1.0, 2.0], [2.0, 1.0]]))
    read = as_json("Precomputed()", "--data", str(tmp_path / "K.npy"))
    assert read["status"] == "invalid" and read["data"]["gram"]["status"] == "invalid"
    np.save(tmp_path / "wide.npy", np.ones((2, 3)))
    result = run("Precomputed()", "--data", str(tmp_path / "wide.npy"))
    assert result.exit_code == 64 and "3 columns for 2" in result.stderr


@pytest.mark.parametrize(
    ("content", "expression", "message"),
    [
        (None, "Linear()", "there is no such file"),
        ("", "Linear()", "the file is empty"),
        ("a,b\n", "Linear()", "no rows below it"),
        ("a,b\n1,x\n", "Linear()", "column 'b' holds str 'x', not numbers"),
        ("a,b\n1,2\n", "Linear().on('c')", "has no column 'c'; it has 'a', 'b'"),
        ("a,b\n1,\n", "Linear()", "NaN at row 0, column 1"),
        ("a,b\n1,2\n", "Gaussian((1.0, 2.0, 3.0))", "has 3 entries, but data.csv has 2 columns"),
        ("a,b\n1,2\n", "Spectrum(2)", "takes one"),
    ],
)
def test_bad_data_is_64_with_one_line(tmp_path: Path, content: str | None, expression: str, message: str) -> None:
    path = tmp_path / "data.csv"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    result = run(expression, "--data", str(path))
    assert result.exit_code == 64
    assert result.stdout == ""
    assert message in result.stderr and result.stderr.count("\n") == 1
    assert "data.csv" in result.stderr


def test_a_warning_is_one_line_on_stderr(tmp_path: Path) -> None:
    np.save(tmp_path / "same.npy", np.ones((3, 2)))
    result = run("Gaussian('median')", "--data", str(tmp_path / "same.npy"))
    assert result.exit_code == 0
    assert result.stderr.startswith("Note: ") and result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("-1.0 * Linear()", 1),
        ("-Gaussian()", 1),
        ("Linear() - Gaussian()", 1),
        ("Gaussian(1.0) - 0.5 * Gaussian(2.0)", 1),
        ("Polynomial(2, offset=-1.0)", 1),
        ("Linear().polynomial((1, -2, 1))", 1),
        ("Linear() - 1", 1),
        ("Linear() / (-2)", 1),
        ("Constant(-1)", 1),
        ("Spectrum(p=2) - Spectrum(p=1)", 1),
        ("-2 * -1 * Linear()", 0),
        ("2 * Linear() - Linear()", 2),
    ],
)
def test_what_is_no_kernel_is_read_to_be_checked(expression: str, code: int) -> None:
    result = run(expression)
    assert result.exit_code == code, result.stderr
    if code == 1:
        assert "is not a kernel" in result.stdout and "< 0" in result.stdout
    if code == 2:
        assert "No rule implies" in result.stdout


def test_a_minus_in_front_is_no_option() -> None:
    result = run("-1.0 * Linear()", "--json")
    assert result.exit_code == 1 and '"kernel": "-1.0 * Linear()"' in result.stdout


@pytest.mark.parametrize("text", ["-1.0 * Linear()", "Linear() - Gaussian()", "Polynomial(2, offset=-1.0)"])
def test_only_a_check_reads_them(text: str) -> None:
    with pytest.raises(mercer.errors.InputError):
        mercer.parse(text)
