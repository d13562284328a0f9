"""The tour as files: every page is written, its frames are the pictures of the lab, and foreign files are left alone."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("bokeh", reason="the lab needs bokeh")

from bokeh.document import Document
from bokeh.models import CustomJS
from typer.testing import CliRunner

from mercer.cli.app import app
from mercer.errors import InputError
from mercer.lab.handouts import handouts
from mercer.lab.page import LabPage
from mercer.lab.static_export import INDEX, export_tour, refuse_foreign
from mercer.lab.tour import PAGES, page_state


def arguments(page: Path) -> dict[str, Any]:
    """What the script of a written page is given, read from the file."""
    found = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    [(_, content)] = json.loads(found.group(1).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")).items()
    scripts = [model for model in Document.from_json(content).models if isinstance(model, CustomJS)]
    assert len({script.code for script in scripts}) == 1
    return dict(scripts[0].args)


def same(stored: Any, live: Any) -> bool:
    """Whether two columns hold the same numbers, colors or words."""
    if len(stored) != len(live):
        return False
    if len(live) and np.ndim(live[0]) > 0:
        return all(map(same, stored, live))
    return bool(np.array_equal(np.asarray(stored), np.asarray(live)))


#: Pages with so many pictures that their tests take several seconds.
MANY = {"cross-validation", "gp", "random-features"}


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow if name in MANY else ()) for name in PAGES])
def test_frames_are_the_pictures_of_the_lab(name: str, tmp_path: Path) -> None:
    index, page = export_tour(tmp_path, [name])
    given, states = arguments(page), handouts()[name].states(name)
    assert f'href="{name}.html"' in index.read_text(encoding="utf-8")
    assert len(given["frames"]) == len(states) == np.prod(given["counts"])
    chosen = sorted({0, len(states) // 2, len(states) - 1, list(states).index(handouts()[name].start)})
    for place in chosen:
        live, frame = LabPage(Document(), list(states.values())[place]), given["frames"][place]
        drawn = [*live.main.figure.renderers, *live.side.figure.renderers]
        for number, source in zip(frame["columns"], dict.fromkeys(one.data_source for one in drawn), strict=True):
            stored = given["columns"][number].data
            assert stored.keys() == source.data.keys()
            assert all(same(stored[column], source.data[column]) for column in stored), (place, list(stored))
        assert frame["texts"][0] == live.controls.facts.text and 'class="error"' not in frame["texts"][0]
        assert live.controls.proof.text in frame["texts"]


@pytest.mark.parametrize("name", PAGES)
def test_every_position_changes_something_and_the_start_is_the_state_of_the_tour(name: str) -> None:
    handout = handouts()[name]
    states = handout.states(name)
    assert len(set(map(repr, states.values()))) == len(states)
    begin, tour = states[handout.start], page_state(name)
    assert (begin.data, begin.algorithm, begin.kernel) == (tour.data, tour.algorithm, tour.kernel)
    assert all(begin.parameters[key] == value for key, value in tour.parameters.items())
    for control in handout.controls:
        assert len(control.labels) == len(control.changes) == len(set(control.labels)) > 1


def test_every_page_has_a_handout() -> None:
    assert list(handouts()) == list(PAGES)


def test_pages_load_nothing_from_elsewhere(tmp_path: Path) -> None:
    index, *pages = export_tour(tmp_path, ["kernel", "structured"])
    assert [page.name for page in pages] == ["kernel.html", "structured.html"]
    for page in (index, *pages):
        text = page.read_text(encoding="utf-8")
        for address in re.findall(r"""(?:src|href)=["']([^"']*)["']""", text):
            assert (tmp_path / address).is_file(), address
    assert 'href="structured.html"' in pages[0].read_text(encoding="utf-8")


def test_only_pages_of_an_earlier_export_are_replaced(tmp_path: Path) -> None:
    runner, folder = CliRunner(), tmp_path / "class"
    for _ in range(2):
        answer = runner.invoke(app, ["lab", "--export", str(folder), "--tour", "kernel"])
        assert answer.exit_code == 0 and f"1 page of the tour; open {folder / INDEX}" in answer.output
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert {"index.html", "kernel.html", "bokeh.min.js"} <= set(before)
    (folder / "kernel.html").write_text("notes of a teacher")
    answer = runner.invoke(app, ["lab", "--export", str(folder), "--tour", "kernel"])
    assert answer.exit_code == 64 and "holds 'kernel.html', which is not of an earlier export" in answer.output
    assert (folder / "kernel.html").read_text() == "notes of a teacher"
    (folder / "kernel.html").unlink()
    (folder / "grades.csv").write_text("x")
    with pytest.raises(InputError, match=r"holds 'grades.csv', which is not of an earlier export; name a new or empty"):
        refuse_foreign(folder)
    assert sorted(file.name for file in folder.iterdir()) == sorted({*before, "grades.csv"} - {"kernel.html"})


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        (["--state", "tour=gp"], "choose one with --tour, and not with --state"),
        (["--tour", "nowhere"], "tour must be one of ridge"),
    ],
)
def test_bad_input_is_refused(extra: list[str], words: str, tmp_path: Path) -> None:
    answer = CliRunner().invoke(app, ["lab", "--export", str(tmp_path / "out"), *extra])
    assert answer.exit_code == 64 and words in answer.output and not (tmp_path / "out").exists()
