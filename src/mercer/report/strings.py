"""Explanations of predictions on strings, graphs and molecules as one HTML page without further files."""

from __future__ import annotations

from collections.abc import Sequence

from mercer.errors import InputError
from mercer.explanations import GraphExplanation, ModelExplanation, MoleculeExplanation, StringExplanation
from mercer.markup.html import text
from mercer.markup.svg import NEGATIVE, POSITIVE

STYLE = (
    "body{font-family:sans-serif;max-width:60em;margin:2em auto;padding:0 1em}"
    "table{border-collapse:collapse}td,th{padding:0 .8em 0 0}"
    f".for{{background:rgba({POSITIVE},.6)}}.against{{background:rgba({NEGATIVE},.6)}}"
)


Explanation = StringExplanation | GraphExplanation | MoleculeExplanation | ModelExplanation


def explanation_page(explanations: Sequence[Explanation], *, title: str, headings: Sequence[str] = ()) -> str:
    """Return an HTML page with one section per explanation; all text is escaped.

    >>> from mercer import KernelRidge, Spectrum, explain
    >>> model = KernelRidge(Spectrum(1)).fit(["<a>", "<b>"], [1.0, 0.0])
    >>> page = explanation_page([explain(model, "<a>")], title="a < b", headings=["one"])
    >>> "<title>a &lt; b</title>" in page, "<h2>one</h2>" in page, "<a>" in page
    (True, True, False)
    """
    if headings and len(headings) != len(explanations):
        raise InputError(
            f"There are {len(headings)} headings for {len(explanations)} explanations; give one for each, or none."
        )
    sections = []
    for number, one in enumerate(explanations):
        heading = f"<h2>{text(headings[number])}</h2>" if headings else ""
        sections.append(f"<section>{heading}{one.html()}</section>")
    legend = "<p><span class='for'>positive</span> <span class='against'>negative contribution</span></p>"
    return (
        f"<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><title>{text(title)}</title>"
        f"<style>{STYLE}</style></head><body><h1>{text(title)}</h1>{legend}\n" + "\n".join(sections) + "\n</body></html>\n"
    )
