"""The command line: one file per command, without numerical code. It needs the extra `cli`."""

from __future__ import annotations

import sys

from mercer.cli.deferred import defer
from mercer.cli.exit_codes import UNAVAILABLE
from mercer.errors import install_command


def main() -> None:
    """Run the command line; if a package is missing, print how to install it."""
    defer()
    try:
        from mercer.cli.app import app
    except ModuleNotFoundError as error:
        # rich and typer have dependencies of their own; a missing module of mercer is a bug and keeps its traceback
        if error.name is None or error.name.split(".")[0] == "mercer":
            raise
        print(
            f"The mercer command needs the package {error.name!r}, which is not installed: {install_command('cli')}",
            file=sys.stderr,
        )
        sys.exit(UNAVAILABLE)
    app()
