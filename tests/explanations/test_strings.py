"""Marked text lines up, and nothing in a string reaches a page as HTML."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mercer
from mercer.errors import InputError
from mercer.explanations.strings import WIDTH, _columns, colored, marked
from mercer.report.strings import explanation_page


def test_marks_stand_below_their_letters() -> None:
    assert marked("ACGTA", np.array([1.0, 0.3, 0.1, -0.3, -0.8])) == ["1 ACGTA", "  #+ -="]
    assert marked("AC", np.zeros(2)) == ["1 AC"]
    assert marked("", np.zeros(0)) == []


def test_lines_break_and_are_numbered() -> None:
    lines = marked("A" * 130, np.ones(130))
    assert [line.split()[0] for line in lines[::2]] == ["1", "61", "121"]
    assert lines[0] == "  1 " + "A" * WIDTH and lines[1] == "    " + "#" * WIDTH
    words = marked(tuple(["word"] * 30), np.ones(30))
    assert all(len(line) <= WIDTH + 3 for line in words)
    assert words[1] == "   " + " ".join(["####"] * 12)


@given(st.text(max_size=80))
def test_every_letter_has_a_place(text: str) -> None:
    lines = marked(text, np.ones(len(text)))
    for above, below in zip(lines[::2], lines[1::2], strict=True):
        assert "\n" not in above and _columns(above) == len(below)


class Text(HTMLParser):
    """What a reader sees in the paragraph of letters."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.seen.append(data)


def read(page: str) -> Text:
    parser = Text()
    parser.feed(page)
    parser.close()
    return parser


HOSTILE = "<script>alert('x')</script> & \"quotes\" </p><img src=x onerror=y>"


@given(st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=40))
def test_html_shows_the_string_and_nothing_else(text: str) -> None:
    page = colored("head", text, np.linspace(-1.0, 1.0, len(text)), ())
    assert read(page).tags <= {"div", "p", "span", "table", "thead", "tbody", "tr", "th", "td", "code"}
    letters = page.split("anywhere'>")[1].split("</p>")[0]
    assert "".join(read(letters).seen) == text


def test_hostile_strings_stay_text() -> None:
    strings = [HOSTILE, "plain", HOSTILE[::-1]]
    model = mercer.KernelRidgeClassifier(mercer.Spectrum(8)).fit(strings, [HOSTILE, "b", "b"])
    found = mercer.explain(model, HOSTILE)
    page = explanation_page([found], title=HOSTILE, headings=[HOSTILE])
    for part in (found.html(), found._repr_html_(), page):
        assert "<script" not in part and "<img" not in part
    assert read(page).tags <= {
        "html", "head", "meta", "title", "style", "body", "h1", "h2", "section",
        "div", "p", "span", "table", "thead", "tbody", "tr", "th", "td", "code",
    }  # fmt: skip
    tokens = mercer.KernelRidge(mercer.Spectrum(1)).fit([["<b>", "x"], ["y"]], [1.0, 0.0])
    assert "<b>" not in mercer.explain(tokens, ["<b>", "y"]).html()


def test_a_page_has_a_heading_for_each() -> None:
    model = mercer.KernelRidge(mercer.Spectrum(1)).fit(["ab", "b"], [1.0, 0.0])
    found = mercer.explain(model, "ab")
    with pytest.raises(InputError, match="2 headings for 1 explanations"):
        explanation_page([found], title="t", headings=["a", "b"])
    assert explanation_page([found, found], title="t").count("<section>") == 2
