"""The frame round the commands: usage errors, interruptions, and a fresh process as a shell would start it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.metadata import version
from typing import Any

import pytest
from typer.testing import CliRunner

from mercer.cli.app import app
from mercer.errors import MemoryBudgetError, MissingExtraError, install_command


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


def shell(*arguments: str, **settings: Any) -> subprocess.CompletedProcess[str]:
    """Run the command line in a fresh process."""
    command = [sys.executable, "-m", "mercer.cli", *arguments]
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=False, **settings)


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=False)


# -- usage --------------------------------------------------------------------------------


def test_help_and_version() -> None:
    assert invoke("--version").output.strip() == version("mercer")
    result = invoke("--help")
    assert result.exit_code == 0 and "check" in result.output
    result = invoke("check", "--help")
    assert result.exit_code == 0
    for word in ("EXPRESSION", "--data", "--json", "0 valid", "1 invalid", "2 unproven", "64"):
        assert word in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check"], "Missing argument 'EXPRESSION'"),
        (["check", "Linear()", "--dta", "x"], "No such option:? '?--dta"),
        (["check", "Linear()", "--data"], "requires an argument"),
        (["check", "Linear()", "Linear()"], "unexpected extra argument"),
        (["chek"], "No such command 'chek'"),
        (["--nonsense"], "No such option:? '?--nonsense"),
        (["fit", "d.csv", "--alpha", "1.0"], "--alpha: the penalty is now chosen for every kernel"),
        (["check", "-Linear"], "behind two dashes: mercer check -- EXPRESSION"),
    ],
)
def test_usage_errors_are_64_with_one_line(arguments: list[str], message: str) -> None:
    result = invoke(*arguments)
    assert result.exit_code == 64
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ") and re.search(message, result.stderr)
    assert result.stderr.count("\n") == 1


def test_without_a_command_the_help_is_shown() -> None:
    result = invoke()
    assert result.exit_code == 64
    assert "Usage" in result.stderr and result.stdout == ""


# -- what else can happen --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (KeyboardInterrupt(), 130, "Interrupted."),
        (MissingExtraError("needs pyarrow"), 69, "Error: needs pyarrow"),
        (MemoryBudgetError("needs 9 GiB"), 70, "Error: needs 9 GiB"),
        (ZeroDivisionError("by zero"), 70, "this is a bug in mercer, please report it: ZeroDivisionError: by zero"),
        (BrokenPipeError(), 141, ""),
    ],
)
def test_failures_have_codes_of_their_own(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, message: str
) -> None:
    def fail(text: str) -> None:
        raise error

    monkeypatch.setattr("mercer.kernels.claims.read_claim", fail)
    monkeypatch.delenv("MERCER_DEBUG", raising=False)
    result = invoke("check", "Linear()")
    assert result.exit_code == code
    assert message in result.stderr and "Traceback" not in result.stderr
    assert result.stdout == ""


def test_a_bug_can_be_seen_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(text: str) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("mercer.kernels.claims.read_claim", fail)
    monkeypatch.setenv("MERCER_DEBUG", "1")
    assert isinstance(invoke("check", "Linear()").exception, ZeroDivisionError)


def test_an_expression_with_a_minus_needs_no_dashes() -> None:
    result = invoke("check", "-Linear()")
    assert result.exit_code == 1 and "is not a kernel" in result.stdout


# -- in a process of its own --------------------------------------------------------------------------------


def test_exit_codes_of_the_process() -> None:
    assert shell("check", "Linear()").returncode == 0
    assert shell("check", "Tanh(1.0, offset=-1.0)").returncode == 1
    result = shell("check", "Linear() +")
    assert result.returncode == 64
    assert result.stdout == "" and "Traceback" not in result.stderr


def test_json_is_all_there_is_on_stdout() -> None:
    result = shell("check", "Gaussian().on('größe')", "--json")
    assert result.stderr == ""
    assert json.loads(result.stdout)["kernel"] == "Gaussian(length_scale=1.0).on('größe')"


def test_output_is_plain_where_there_is_no_terminal() -> None:
    assert "\x1b" not in shell("check", "Linear()").stdout


@pytest.mark.parametrize("words", ["check Linear()", "--help", "fit --help", "--version"])
def test_a_reader_who_leaves_is_not_a_crash(words: str) -> None:
    command = [sys.executable, "-m", "mercer.cli", *words.split()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert process.returncode == 141
    assert said == b""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is full here")
def test_an_output_that_is_full_or_closed() -> None:
    command = [sys.executable, "-m", "mercer.cli", "check", "Linear()"]
    with open("/dev/full", "w") as full:
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, encoding="utf-8", check=False)
    assert result.returncode == 70
    assert result.stderr == "Error: cannot write: No space left on device; make room, or write elsewhere.\n"
    result = subprocess.run(["/bin/sh", "-c", f"'{sys.executable}' -m mercer.cli check 'Linear()' >&-"], check=False,
                            stderr=subprocess.PIPE, encoding="utf-8")  # fmt: skip
    assert (result.returncode, result.stderr) == (0, "")


def test_any_encoding_of_the_terminal_will_do() -> None:
    import os

    result = shell("check", "Gaussian().on('größe')", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert result.returncode == 0 and "Traceback" not in result.stderr


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_without_the_extra_one_line_says_what_to_install(package: str) -> None:
    result = python(f"import sys; sys.modules[{package!r}] = None; from mercer.cli import main; main()")
    assert result.returncode == 69
    assert install_command("cli") in result.stderr
    assert result.stderr.count("\n") == 1


def test_check_loads_nothing_it_does_not_need() -> None:
    """pandas, and pyarrow with it, are not in the list: scikit-learn loads them by itself where they are installed."""
    code = (
        "import sys; sys.argv = ['mercer', 'check', 'Linear()']\n"
        "from mercer.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([m for m in ('duckdb', 'numba', 'matplotlib', 'skops') if m in sys.modules])"
    )
    assert python(code).stdout.strip().split("\n")[-1] == "[]"


def test_help_waits_for_nothing() -> None:
    """What a fit needs is loaded by a fit: --help is there at once."""
    code = (
        "import sys; sys.argv = ['mercer', 'fit', '--help']\n"
        "from mercer.cli import main\n"
        "try: main()\n"
        "except SystemExit as leave: pass\n"
        "print([m for m in ('numpy', 'scipy', 'sklearn', 'numba', 'duckdb', 'pyarrow', 'matplotlib') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.stdout.splitlines()[-1] == "[]", result.stdout
    assert "--target" in result.stdout


def test_the_shell_completes_commands_and_options() -> None:
    words = {**os.environ, "_MERCER_COMPLETE": "complete_bash", "COMP_WORDS": "mercer fit d.csv --ho", "COMP_CWORD": "3"}
    command = [sys.executable, "-m", "mercer.cli"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=words)
    assert result.stdout.split() == ["--holdout"], result.stderr
