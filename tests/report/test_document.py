"""The parts of a document: whatever a name holds, it is shown and not obeyed; numbers are for people."""

from __future__ import annotations

import pytest

from mercer.report.document.html import Section, code, facts, mark, paragraph, table, text
from mercer.report.document.numbers import between, human, percent, rounded
from mercer.report.document.page import page
from mercer.report.document.svg import Axis, Picture, horizontal_bars, limits

EVIL = "<script>alert(1)</script>\"'&\x1b[2J\u202e"


@pytest.mark.parametrize(
    "make", [text, paragraph, code, lambda w: facts([(w, w)]), lambda w: table([w], [[w], [mark(w, w)]])]
)
def test_words_are_escaped(make: object) -> None:
    made = make(EVIL)  # type: ignore[operator]
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


def test_shares_and_intervals() -> None:
    assert [percent(p) for p in (0.0, 0.934, 1.0, 0.0002)] == ["0 %", "93.4 %", "100 %", "0.02 %"]
    assert between(1.0, 2.345) == "1 to 2.35"


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
