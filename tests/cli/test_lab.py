"""`mercer lab`: what is wrong is said before anything is started."""

from __future__ import annotations

import sys

import pytest
from typer.testing import CliRunner

from mercer.cli.app import app
from mercer.errors import install_command

runner = CliRunner()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--tour", "nowhere"], "tour must be one of ridge"),
        (["--state", "http://127.0.0.1:5080/?algorithm=rm"], "algorithm must be one of"),
        (["--tour", "gp", "--state", "tour=gp"], "give --tour or --state"),
        (["--port", "80"], "greater than or equal to 1024"),
    ],
)
def test_bad_input_is_refused(arguments: list[str], words: str) -> None:
    answer = runner.invoke(app, ["lab", "--no-browser", *arguments])
    assert answer.exit_code == 64 and words in answer.output


def test_without_bokeh_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bokeh", None)
    answer = runner.invoke(app, ["lab", "--no-browser"])
    assert answer.exit_code == 69 and install_command("lab") in answer.output
