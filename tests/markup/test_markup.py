"""Elements of a page: text from outside is shown and never becomes markup; numbers are readable."""

from __future__ import annotations

import pytest

from mercer.markup.html import Section, code, facts, human, mark, page, paragraph, percent, rounded, shortened, table, text
from mercer.markup.svg import Axis, Picture, element, horizontal_bars, limits, standalone

EVIL = "<script>alert(1)</script>\"'&\x1b[2J\u202e"


@pytest.mark.parametrize(
    "make", [text, paragraph, code, lambda w: facts([(w, w)]), lambda w: table([w], [[w], [mark(w, w)]])]
)
def test_words_are_escaped(make: object) -> None:
    made = make(EVIL)
    assert "<script" not in made and "\x1b" not in made and "\u202e" not in made and "&lt;script&gt;" in made


def test_pictures_and_pages_escape_too() -> None:
    picture = Picture((0.0, 1.0), (0.0, 1.0), x_name=EVIL, y_name=EVIL, title=EVIL)
    picture.legend([(EVIL, "a")])
    parts = [
        picture.svg(),
        horizontal_bars([EVIL], [1.0], [EVIL], EVIL),
        page(EVIL, EVIL, [Section("a", EVIL, text(EVIL))], EVIL),
    ]
    for part in parts:
        assert "<script" not in part and "\x1b" not in part


def test_a_page_forbids_requests() -> None:
    made = page("a", "b", [], "c")
    assert "default-src &#x27;none&#x27;" in made and "http" not in made.replace("http-equiv", "")


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.0, "0"), (-1234567.0, "−1,234,567"), (99.96, "100"), (1e-12, "10⁻¹²"), (float("nan"), "–"), (-float("inf"), "−∞")],
)
def test_numbers_for_people(value: float, words: str) -> None:
    assert human(value) == words


def test_shares() -> None:
    assert [percent(p) for p in (0.0, 0.934, 1.0, 0.0002)] == ["0 %", "93.4 %", "100 %", "0.02 %"]


def test_matrices_are_named_by_their_size() -> None:
    rows = ", ".join("[" + ", ".join("0.123456789" for _ in range(3)) + "]" for _ in range(3))
    assert rounded(f"k.linear([{rows}])") == "k.linear([a 3 × 3 matrix])"
    assert len(rounded("x" * 5000)) <= 600


def test_axes_have_round_ticks_and_keep_their_range() -> None:
    assert Axis(0.0, 10.0, 0.0, 100.0).ticks() == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    assert Axis(0.01, 1000.0, 0.0, 1.0, True).ticks()[0] == pytest.approx(0.01)
    assert float(Axis(0.0, 1.0, 0.0, 100.0)(7.0)) == 100.0
    assert limits([3.0, 3.0]) == (1.5, 4.5)
    assert limits([float("nan")]) == (0.0, 1.0)


def test_elements_escape_values_and_leave_out_none() -> None:
    made = element("text", text(EVIL), x=1.26, kind=EVIL, fill=None, text_anchor="end")
    assert made.startswith('<text x="1.3" class="&lt;script') and "fill" not in made and 'text-anchor="end"' in made
    assert element("g") == "<g/>"
    assert standalone([element("g")], 10, 20.4).startswith('<svg xmlns="http://www.w3.org/2000/svg" width="10" height="20"')


def test_long_words_are_cut() -> None:
    assert (shortened("abcdef", 6), shortened("abcdef", 4), shortened("ab", 1)) == ("abcdef", "abc…", "a…")
