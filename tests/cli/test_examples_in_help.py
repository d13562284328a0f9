"""Each command's help ends with an example whose options exist."""

from __future__ import annotations

import shlex

import pytest
import typer
from typer.testing import CliRunner

from mercer.cli.app import COMMANDS, EXAMPLES, app

NAMES = [command.__name__ for command in COMMANDS]


def test_every_command_has_an_example() -> None:
    assert sorted(EXAMPLES) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_example_is_shown_and_its_options_exist(name: str) -> None:
    shown = " ".join(CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "200"}).output.split())
    assert f"Example: {EXAMPLES[name]}" in shown
    words = shlex.split(EXAMPLES[name])
    assert words[:2] == ["mercer", name]
    command = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]
    known = {option for parameter in command.params for option in parameter.opts}
    assert [word for word in words if word.startswith("--") and word not in known] == []
