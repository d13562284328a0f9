"""A browser asks for the page: the state comes from the address, and a wrong address is said on the page."""

from __future__ import annotations

from urllib.parse import urlencode

from bokeh.document import Document

from mercer.errors import MercerError
from mercer.lab.address import from_query
from mercer.lab.page import Page
from mercer.lab.state import State
from mercer.lab.tour import PAGES, page_state


def build(doc: Document) -> None:
    """Fill a document for one browser; the state comes from the address."""
    request = doc.session_context.request if doc.session_context is not None else None
    pairs = [
        (name, value) for name, values in (request.arguments if request is not None else {}).items() for value in values
    ]
    state, message = State(tour=next(iter(PAGES))), ""
    try:
        state = opened(pairs)
    except MercerError as error:
        message = f"This address could not be read: {error}"
    Page(doc, state, message)


def opened(pairs: list[tuple[str, bytes]]) -> State:
    """The state of the arguments of a request; without any the first page of the tour."""
    known = [(name, value.decode("utf-8", "replace")) for name, value in pairs if not name.startswith("bokeh-")]
    return from_query(urlencode(known)) if known else page_state(next(iter(PAGES)))
