"""The command line: one file per command, no mathematics. It needs the extra `cli` and is reached by its own name only."""

from __future__ import annotations

import sys

from mercer.cli.exit_codes import UNAVAILABLE


def main() -> None:
    """Run the command line, or say in one line what to install for it."""
    try:
        from mercer.cli.app import app
    except ModuleNotFoundError as error:
        # rich and typer bring packages of their own; only a missing module of ours is a bug worth a traceback
        if error.name is None or error.name.split(".")[0] == "mercer":
            raise
        print(
            f'The mercer command needs the package {error.name!r}, which is not installed: pip install "mercer[cli]"',
            file=sys.stderr,
        )
        sys.exit(UNAVAILABLE)
    app()
