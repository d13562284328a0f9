"""Explanations of predictions on strings as one HTML page that needs nothing else."""

from __future__ import annotations

import html
from collections.abc import Sequence

from mercer.errors import InputError
from mercer.explanations import StringExplanation
from mercer.explanations.highlight import AGAINST, FOR

STYLE = (
    "body{font-family:sans-serif;max-width:60em;margin:2em auto;padding:0 1em}"
    "table{border-collapse:collapse}td,th{padding:0 .8em 0 0}"
    f".for{{background:rgba({FOR},.6)}}.against{{background:rgba({AGAINST},.6)}}"
)


def explanation_page(explanations: Sequence[StringExplanation], *, title: str, headings: Sequence[str] = ()) -> str:
    """Return a whole HTML page with one section per explanation; everything in it is escaped.

    >>> from mercer import KernelRidge, Spectrum, explain
    >>> model = KernelRidge(Spectrum(1)).fit(["<a>", "<b>"], [1.0, 0.0])
    >>> page = explanation_page([explain(model, "<a>")], title="a < b", headings=["one"])
    >>> "<title>a &lt; b</title>" in page, "<h2>one</h2>" in page, "<a>" in page
    (True, True, False)
    """
    if headings and len(headings) != len(explanations):
        raise InputError(f"{len(headings)} headings for {len(explanations)} explanations; give one each, or none.")
    sections = []
    for number, one in enumerate(explanations):
        heading = f"<h2>{html.escape(headings[number])}</h2>" if headings else ""
        sections.append(f"<section>{heading}{one.html()}</section>")
    legend = "<p><span class='for'>speaks for</span> <span class='against'>speaks against</span></p>"
    return (
        f"<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><title>{html.escape(title)}</title>"
        f"<style>{STYLE}</style></head><body><h1>{html.escape(title)}</h1>{legend}\n"
        + "\n".join(sections)
        + "\n</body></html>\n"
    )
