"""The application: the list of commands, and the conversion of errors to messages and exit codes.

A command is a function in its own file that returns its exit code. To add one, import it and add it to COMMANDS. Modules
that only one command needs are imported inside its function, to keep the other commands fast.
"""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from mercer.cli.address_space import refuse_too_little, save_addresses
from mercer.cli.changes import changes
from mercer.cli.check import check
from mercer.cli.compare import compare
from mercer.cli.compile import compile
from mercer.cli.denoise import denoise
from mercer.cli.exit_codes import BAD_INPUT
from mercer.cli.explain import explain
from mercer.cli.export import export
from mercer.cli.failures import guarded, termination
from mercer.cli.fit import fit
from mercer.cli.independent import independent
from mercer.cli.lab import lab
from mercer.cli.novelty import novelty
from mercer.cli.predict import predict
from mercer.cli.suggest import suggest
from mercer.cli.watch import watch

#: In the order in which --help lists them.
COMMANDS = (
    fit, predict, suggest, explain, export, compare, independent, changes, watch, novelty, check, denoise, lab, compile,
)  # fmt: skip


#: One call of each command, shown below its options.
EXAMPLES = {
    "fit": 'mercer fit penguins.csv --target "Body Mass (g)"',
    "predict": "mercer predict penguins-mercer new.csv --interval 0.9",
    "suggest": "mercer suggest assay-mercer library.csv --n 8",
    "explain": "mercer explain penguins-mercer new.csv --row 3",
    "export": "mercer export model.mercer --onnx model.onnx",
    "compare": "mercer compare before.csv after.csv",
    "independent": "mercer independent people.csv --x income --y height --given age",
    "changes": "mercer changes sensor.csv --order time --out changes.png",
    "watch": "mercer watch reference.csv today.csv",
    "novelty": "mercer novelty known.csv new.csv --out scores.csv",
    "check": 'mercer check "Bilinear([[1, 2], [2, 1]])"',
    "denoise": "mercer denoise noisy.npy --clean clean.npy",
    "lab": "mercer lab --tour ridge",
    "compile": "mercer compile",
}


def signed_last(arguments: list[str]) -> list[str]:
    """Return arguments with an expression that starts with a minus after "--", because it is not an option.

    >>> signed_last(["check", "-1.0 * Linear()", "--json"])
    ['check', '--json', '--', '-1.0 * Linear()']
    """
    if arguments[:1] != ["check"] or "--" in arguments:
        return arguments
    signed = [word for word in arguments if word.startswith("-") and "(" in word]
    others = [word for word in arguments if word not in signed]
    return [*others, "--", *signed] if signed else arguments


class Commands(TyperGroup):
    """A group of commands with mercer's exit codes: typer would return 2, "unproven", for a misspelled option."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; errors become a message and an exit code here, before typer handles them."""

        def run() -> Any:
            refuse_too_little()
            return super(Commands, self).invoke(ctx)

        return guarded(run)

    def main(self, *args: Any, **settings: Any) -> Any:
        """Read the arguments, run the command, and exit with its code."""
        if not args:
            given = settings.get("args")
            settings["args"] = signed_last(list(sys.argv[1:] if given is None else given))
        settings["standalone_mode"] = False
        settings["prog_name"] = "mercer"  # for any name of the script
        if isinstance(sys.stdout, TextIOWrapper):  # characters that the terminal cannot show are escaped
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
        with redirect_stdout(sys.stderr):  # rich prints the help itself
            print(context.get_help())
        raise typer.Exit(BAD_INPUT)


for command in COMMANDS:
    app.command(epilog=f"Example: {EXAMPLES[command.__name__]}")(command)
