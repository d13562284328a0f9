"""A state goes into an address and comes back; a hostile address is refused in words, and nothing in it is run."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.errors import InputError
from mercer.lab.address import MAX_ADDRESS, from_query, to_query
from mercer.lab.samples import drawn
from mercer.lab.state import ALGORITHMS, MAX_POINTS, DrawnPoints, LabState, NamedData, Words
from mercer.lab.tour import PAGES


@pytest.mark.parametrize("name", PAGES)
def test_every_page_of_the_tour_comes_back(name: str) -> None:
    state = PAGES[name].state
    assert from_query(to_query(state)) == state
    assert from_query(f"tour={name}") == state
    assert from_query("?" + to_query(state.having(data=drawn(state.data)))) == state.having(data=drawn(state.data))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_parameters_come_back(name: str) -> None:
    state = LabState(algorithm=name)
    numbers = {
        one.name: one.most if one.scale == "whole" else 0.3 * one.least + 0.7 * one.most for one in state.asks.parameters
    }
    assert from_query(to_query(state.setting(**numbers))) == state.setting(**numbers)


coordinates = st.floats(-3.0, 3.0)


@given(
    points=st.lists(st.tuples(coordinates, coordinates, st.integers(0, 3)), max_size=40),
    kernel=st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
    kind=st.sampled_from(["plane", "curve"]),
)
def test_any_points_and_any_text_come_back(points: list[tuple[float, float, int]], kernel: str, kind: str) -> None:
    state = LabState(data=DrawnPoints(tuple(points), kind), kernel=kernel)
    if not kernel:  # an address without a kernel says the usual one
        state = LabState(data=state.data)
    assert from_query(to_query(state)) == state


def test_an_emptied_query_does_not_come_back_with_its_page() -> None:
    state = PAGES["strings"].state.having(query="")
    assert from_query(to_query(state)) == state


def test_two_hundred_points_stay_short() -> None:
    state = LabState(data=drawn(NamedData("moons", 200)))
    assert len(to_query(state)) < 1500


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("algorithm=rm", "algorithm must be one of ridge"),
        ("algorithm=svm&C=nan", "C must be a number"),
        ("algorithm=svm&C=-1", "C is a number from 0.01 to 10000"),
        ("algorithm=svm&alpha=1", "'alpha', which is nothing here"),
        ("algorithm=perceptron&steps=1.5", "steps is a whole number"),
        ("view=secret", "view must be one of gram"),
        ("tour=../../etc/passwd", "tour must be one of ridge"),
        ("data=moons-1e9-0", "data is NAME-SIZE-SEED"),
        ("data=moons-100000-0", "moons has 2 to 500 points"),
        ("data=__import__-1-1", "data is NAME-SIZE-SEED"),
        ("data=moons-60-0&points=none", "says its data 2 times"),
        ("points=%3Cscript%3E", "its points are damaged (no base64)"),
        ("points=AAAA", "its points are damaged (cut off)"),
        ("points=" + base64.urlsafe_b64encode(b"\xff" * 5).decode().rstrip("="), "outside |x|, |y| <= 3"),
        (
            "points=" + base64.urlsafe_b64encode(b"\x00\x00\x00\x00\x09" * 2).decode().rstrip("="),
            "a class is a whole number",
        ),
        ("points=" + "A" * 18000, f"at most {MAX_POINTS} points"),
        ("words=banana", "has its class, a digit, in front"),
        ("words=0" + "x" * 500, "a word has 1 to 120 letters"),
        ("words=0a%00b", "printable letters"),
        ("words=9banana", "a class is a whole number"),
        ("words=" + ",".join(["0a"] * 100), "at most 80 words"),
        ("query=a%0Ab", "printable letters"),
        ("kernel=" + "(" * 3000, "at most 2000 characters"),
        ("kernel=a&kernel=b", "'kernel' twice"),
        ("__class__=1", "which is nothing here"),
        ("x" * (MAX_ADDRESS + 1), "at most 20000 characters"),
    ],
)
def test_a_wrong_address_is_refused_in_words(query: str, words: str) -> None:
    with pytest.raises(InputError) as refused:
        from_query(query)
    assert words in str(refused.value)


def test_too_many_parts_are_refused() -> None:
    with pytest.raises(InputError, match="at most 40 parts"):
        from_query("&".join(f"a{i}=1" for i in range(100)))


def test_states_check_what_they_hold() -> None:
    with pytest.raises(InputError, match="finite coordinates"):
        DrawnPoints(((float("nan"), 0.0, 0),))
    assert DrawnPoints(((9.0, -9.0, 1),)).points == ((3.0, -3.0, 1),)
    assert DrawnPoints(((-0.0001, 0.12345, 0),)).points == ((0.0, 0.123, 0),)
    with pytest.raises(InputError, match="no comma"):
        Words((("a,b", 0),))
    with pytest.raises(InputError, match="has no parameter 'C'"):
        LabState(algorithm="ridge", parameters={"C": 1.0})
