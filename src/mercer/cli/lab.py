"""`mercer lab`: a local page for teaching, and for trying a kernel before using it."""

from __future__ import annotations

from typing import Annotated

import typer

from mercer.cli.output import note, print_text
from mercer.errors import InputError, MissingExtraError, install_command

Tour = Annotated[
    str | None,
    typer.Option("--tour", metavar="NAME", help="Begin with this page of the tour, e.g. perceptron.", show_default=False),
]
Start = Annotated[
    str | None,
    typer.Option("--state", metavar="LINK", help="Begin with the state of a link that the page made.", show_default=False),
]
Port = Annotated[
    int | None,
    typer.Option(
        "--port", min=1024, max=65535, help="Listen at this port; by default 5080, or any that is free.", show_default=False
    ),
]
NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Only print the address.")]


def lab(tour: Tour = None, state: Start = None, port: Port = None, no_browser: NoBrowser = False) -> int:
    """Open a page to draw points, write kernels and watch algorithms: a tour of the lectures.

    It listens on this machine only, and ends with Ctrl-C.
    """
    from mercer.lab.address import from_query, to_query

    if tour is not None and state is not None:
        raise InputError("give --tour or --state: a state holds its page of the tour.")
    query = f"tour={tour}" if tour is not None else (state or "").rpartition("?")[2]
    address = f"?{to_query(from_query(query))}" if query else ""  # a wrong link raises here, not in the browser
    try:
        import bokeh  # noqa: F401
    except ImportError:
        raise MissingExtraError(f"the lab needs bokeh, which is not installed: {install_command('lab')}") from None
    from mercer.lab.page import build
    from mercer.lab.server import LabServer

    server = LabServer(build, port)
    print_text(f"mercer lab: {server.url}{address}")
    note("it ends with Ctrl-C", "")

    def ready() -> None:
        import webbrowser

        if not no_browser:
            webbrowser.open(server.url + address)

    try:
        server.run(ready)
    except KeyboardInterrupt as end:
        if type(end) is not KeyboardInterrupt:  # SIGTERM has a code of its own
            raise
        note("the lab is closed", "")
    return 0
