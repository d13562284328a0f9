"""What a person does to a state."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.errors import InputError
from mercer.lab import editing
from mercer.lab.pictures import picture
from mercer.lab.samples import arrays, drawn, kind_of
from mercer.lab.state import ALGORITHMS, MAX_POINTS, DrawnPoints, LabState, NamedData, Words
from mercer.lab.views import view


def test_points_are_found_moved_added_and_removed() -> None:
    state = LabState(data=DrawnPoints(((0.0, 0.0, 0), (1.0, 1.0, 1))))
    assert editing.nearest(state, 0.05, -0.05) == 0 and editing.nearest(state, 0.5, 0.5) is None
    assert editing.nearest(LabState(data=DrawnPoints(())), 0.0, 0.0) is None
    moved = editing.moved(state, 1, 9.0, -1.0)
    assert drawn(moved.data) == DrawnPoints(((0.0, 0.0, 0), (3.0, -1.0, 1)))
    assert editing.moved(state, 5, 0.0, 0.0) is state
    assert drawn(editing.added(state, 2.0, 2.0, 3).data).points[-1] == (2.0, 2.0, 3)
    assert drawn(editing.removed(state, 0).data) == DrawnPoints(((1.0, 1.0, 1),))
    assert editing.cleared(state).data == DrawnPoints(())
    full = LabState(data=DrawnPoints(((0.0, 0.0, 0),) * MAX_POINTS))
    with pytest.raises(InputError, match="at most 500 points"):
        editing.added(full, 1.0, 1.0, 0)


def test_a_recipe_becomes_points_when_touched() -> None:
    state = LabState(data=NamedData("sine", 20), algorithm="ridge")
    changed = editing.added(state, 0.0, 1.0, 2)
    assert kind_of(changed.data) == "curve" and len(arrays(changed.data)[0]) == 21
    assert arrays(changed.data)[1].tolist() == [0] * 21


def test_words_are_read_line_by_line() -> None:
    state = editing.with_words(LabState(data=NamedData("fruit")), "0 banana\n\n 1  kiwi \n")
    assert state.data == Words((("banana", 0), ("kiwi", 1)))
    with pytest.raises(InputError, match="a class and a word"):
        editing.with_words(state, "banana")
    with pytest.raises(InputError, match="written into their box"):
        editing.added(state, 0.0, 0.0, 0)


@pytest.mark.parametrize("data", ["moons", "sine", "fruit"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_choice_leads_to_a_picture(data: str, algorithm: str) -> None:
    state = editing.with_data(LabState(), data, 30)
    assert picture(state).facts
    changed = editing.with_algorithm(state, algorithm)
    assert picture(changed).facts
    assert kind_of(editing.with_data(changed, data, 30).data) == kind_of(NamedData(data))
    assert picture(editing.with_data(changed, data, 30)).facts


def test_seeds_and_sizes() -> None:
    state = LabState(data=NamedData("moons", 60, 999))
    assert editing.redrawn(state).data == NamedData("moons", 60, 0)
    assert editing.resized(state, 80).data == NamedData("moons", 80, 999)
    by_hand = LabState(data=DrawnPoints(()))
    assert editing.redrawn(by_hand) is by_hand and editing.resized(by_hand, 5) is by_hand


def test_steps_end_where_the_run_ends() -> None:
    state = LabState(data=NamedData("line", 30), kernel="Linear()", algorithm="perceptron")
    one = editing.stepped(state, 1)
    assert one.parameters["steps"] == 1
    end = editing.stepped(one, 5000)
    assert "separated after" in dict(picture(end).facts)["state"]
    assert editing.stepped(end, 10).parameters == end.parameters


def test_best_parameters() -> None:
    ridge = LabState(
        data=NamedData("sine", 30), kernel="Gaussian(length_scale=5.0)", algorithm="ridge", parameters={"alpha": 100.0}
    )
    found = editing.best(ridge)
    surface = view(found.having(view="loo"))
    assert surface.chosen == pytest.approx(surface.best, abs=2e-3)
    gp = LabState(data=NamedData("sine", 30), kernel="Gaussian(length_scale=5.0)", algorithm="gp", parameters={"noise": 1.0})
    before, after = (float(dict(picture(s).facts)["log marginal likelihood"]) for s in (gp, editing.best(gp)))
    assert after > before + 10
    assert np.isfinite(after)
