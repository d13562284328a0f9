"""The application: the list of commands, and the one place where errors become messages and exit codes.

A command is a function in a file of its own that returns its exit code. To add one, import it and put it into COMMANDS.
What only one command needs is imported inside its function, so that the others do not wait for it.
"""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from mercer.cli.address_space import refuse_too_little, save_addresses
from mercer.cli.check import check
from mercer.cli.compare import compare
from mercer.cli.compile import compile
from mercer.cli.denoise import denoise
from mercer.cli.exit_codes import BAD_INPUT
from mercer.cli.explain import explain
from mercer.cli.failures import guarded, termination
from mercer.cli.fit import fit
from mercer.cli.lab import lab
from mercer.cli.novelty import novelty
from mercer.cli.predict import predict

#: In the order in which --help lists them.
COMMANDS = (fit, predict, explain, compare, novelty, check, denoise, lab, compile)


def signed_last(arguments: list[str]) -> list[str]:
    """Put an expression that starts with a minus behind "--": it is no option.

    >>> signed_last(["check", "-1.0 * Linear()", "--json"])
    ['check', '--json', '--', '-1.0 * Linear()']
    """
    if arguments[:1] != ["check"] or "--" in arguments:
        return arguments
    signed = [word for word in arguments if word.startswith("-") and "(" in word]
    others = [word for word in arguments if word not in signed]
    return [*others, "--", *signed] if signed else arguments


class Commands(TyperGroup):
    """A group whose every way out is an exit code of ours: typer's own would say 2, "unproven", for a misspelled flag."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; what it raises becomes a message and a code here, before typer sees it."""

        def run() -> Any:
            refuse_too_little()
            return super(Commands, self).invoke(ctx)

        return guarded(run)

    def main(self, *args: Any, **settings: Any) -> Any:
        """Read the arguments, run, and leave with the code."""
        if not args:
            given = settings.get("args")
            settings["args"] = signed_last(list(sys.argv[1:] if given is None else given))
        settings["standalone_mode"] = False
        settings["prog_name"] = "mercer"  # whatever the file is called that was started
        if isinstance(sys.stdout, TextIOWrapper):  # a terminal without the letter gets its code, not a crash
            sys.stdout.reconfigure(errors="backslashreplace")
        save_addresses()
        with termination():
            code = guarded(lambda: super(Commands, self).main(*args, **settings))
        sys.exit(code)


app = typer.Typer(
    cls=Commands,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(version("mercer"))
        raise typer.Exit


@app.callback()
def mercer(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Kernel methods: write a kernel down once, and every kernel algorithm runs on it."""
    if context.invoked_subcommand is None:
        with redirect_stdout(sys.stderr):  # rich prints the help where it stands
            print(context.get_help())
        raise typer.Exit(BAD_INPUT)


for command in COMMANDS:
    app.command()(command)
