"""The program of a page is run, and makes the numbers of its picture."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest

from mercer.lab.pictures import picture
from mercer.lab.python_code import python_code
from mercer.lab.samples import drawn
from mercer.lab.state import LabState, NamedData, Words
from mercer.lab.tour import PAGES

matplotlib = pytest.importorskip("matplotlib", reason="pictures need matplotlib")


def run(code: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    import matplotlib.pyplot as plt

    matplotlib.use("Agg")
    monkeypatch.setattr(plt, "show", lambda: None)
    names: dict[str, Any] = {}
    try:
        exec(compile(code, "page", "exec"), names)
        assert plt.get_fignums()
    finally:
        plt.close("all")
    return names


STATES = {name: page.state for name, page in PAGES.items()} | {
    "ball": LabState(data=NamedData("arc"), algorithm="ball"),
    "three": LabState(data=NamedData("blobs"), algorithm="knn"),
    "spectral": LabState(
        data=NamedData("circles", 40), kernel="Gaussian(length_scale=0.5)", algorithm="kmeans", parameters={"spectral": 1}
    ),
    "three classes": LabState(data=NamedData("blobs"), algorithm="discriminant"),
    "clustered words": LabState(
        data=NamedData("fruit"), kernel="Spectrum(p=2).normalized()", algorithm="kmeans", query="havana"
    ),
    "separated words": LabState(data=NamedData("fruit"), kernel="Spectrum(p=2).normalized()", algorithm="discriminant"),
    "stepped": LabState(data=NamedData("line", 30), kernel="Linear()", algorithm="perceptron", parameters={"steps": 4}),
    "words stepped": LabState(
        data=NamedData("fruit"), kernel="Spectrum(p=2)", algorithm="perceptron", parameters={"steps": 3}, query="havana"
    ),
}


@pytest.mark.parametrize("name", STATES)
def test_the_program_makes_the_picture(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    state = STATES[name]
    names, found = run(python_code(state), monkeypatch), picture(state)
    if found.surface is not None:
        surface = np.clip(names["surface"], -2, 2) if state.algorithm == "svm" else names["surface"]
        assert np.allclose(surface, found.surface, atol=1e-9)
    elif found.regions is not None:
        assert np.array_equal(names["surface"], found.regions)
    elif found.labels:
        assert names["X"] == list(found.labels)
        near, far = np.abs(names["places"]), np.abs(found.places)
        assert np.allclose(near / near.max(), far / far.max(), atol=1e-9)
    else:
        [fit] = [line for line in found.lines if line.role == "fit"]
        assert np.allclose(np.ravel(names["mean"]), fit.pieces[0][1], atol=1e-6)


def test_texts_are_quoted() -> None:
    nasty = "'); import os; os.system('true') #"
    state = LabState(data=Words((("a'b\"", 0), ("c", 1), ("d", 1))), kernel=nasty, query="'+x+'")
    tree = ast.parse(python_code(state))
    calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    assert not any("os" in call.split(".") for call in calls)
    strings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    assert {nasty, "a'b\"", "'+x+'"} <= strings


def test_drawn_points_are_written_out() -> None:
    state = LabState(data=drawn(NamedData("moons", 7)))
    assert python_code(state) == python_code(LabState(data=NamedData("moons", 7)))
