"""`mercer lab`: a local page for teaching, and for trying a kernel before using it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mercer.cli.output import note, print_text, results_folder
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
Export = Annotated[
    Path | None,
    typer.Option(
        "--export",
        metavar="FOLDER",
        help="Write the tour, or the page of --tour, as files that need no server.",
        show_default=False,
    ),
]
NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Only print the address.")]


def lab(
    tour: Tour = None, state: Start = None, port: Port = None, no_browser: NoBrowser = False, export: Export = None
) -> int:
    """Open a page to draw points, write kernels and watch algorithms: a tour of the lectures.

    It listens on this machine only, and ends with Ctrl-C. For a class, --export writes the tour as files.
    """  # fmt: skip
    from mercer.lab.address import from_query, to_query

    if tour is not None and state is not None:
        raise InputError("give --tour or --state: a state holds its page of the tour.")
    query = f"tour={tour}" if tour is not None else (state or "").rpartition("?")[2]
    address = f"?{to_query(from_query(query))}" if query else ""  # a wrong link raises here, not in the browser
    try:
        import bokeh  # noqa: F401
    except ImportError:
        raise MissingExtraError(f"the lab needs bokeh, which is not installed: {install_command('lab')}") from None
    if export is not None:
        if state is not None:
            raise InputError("--export writes pages of the tour; choose one with --tour, and not with --state.")
        return _write_tour(export, tour)
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


def _write_tour(folder: Path, tour: str | None) -> int:
    from mercer.lab.static_export import INDEX, export_tour, refuse_foreign

    refuse_foreign(folder)
    with results_folder(folder, "--export") as made:
        note("computing the pictures; all pages take about half a minute", "")
        pages = export_tour(made, [tour] if tour is not None else [])
    print_text(f"{len(pages) - 1} {'page' if len(pages) == 2 else 'pages'} of the tour; open {folder / INDEX}")
    return 0
