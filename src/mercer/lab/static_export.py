"""Write the tour as files: every picture is computed beforehand, and a browser needs no server to show them.

A room of students opens the same folder from any web server, or from a disk. No request reaches a computation, so there is
nothing to limit or to guard. Each page holds one frame per position of its controls; a frame is a set of columns and
properties, and a short script of the page puts the chosen frame into the figures.
"""

from __future__ import annotations

import hashlib
import html
import pickle
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bokeh.document import Document
from bokeh.embed import file_html
from bokeh.layouts import column
from bokeh.models import ColumnDataSource, CustomJS, CustomJSTickFormatter, Div, InlineStyleSheet, RadioButtonGroup, Slider
from bokeh.resources import Resources

from mercer.errors import InputError, shown
from mercer.lab.controls import said
from mercer.lab.drawing import MainPicture, SidePicture
from mercer.lab.handouts import Control, Handout, handouts
from mercer.lab.kernels import verdict
from mercer.lab.page import bare_points, computed, escaped, facts_in_words, judged, problem, quiet
from mercer.lab.pictures import kernel_of, picture
from mercer.lab.state import LabState
from mercer.lab.styles import FONT, FORMULA, INK, LINE, MUTED
from mercer.lab.tour import PAGES
from mercer.lab.views import view
from mercer.writing import PREFIX, umask, write_whole

#: The page that lists the others, and what every page that was written here holds.
INDEX, MARK = "index.html", '<meta name="generator" content="mercer lab">'

#: Put the frame of the chosen positions into the figures.
_SHOW = """
let place = 0
for (let i = 0; i < controls.length; i++) {
  const at = kinds[i] === 'slider' ? controls[i].value : controls[i].active
  place = place * counts[i] + at
}
const frame = frames[place]
for (let i = 0; i < sources.length; i++) sources[i].data = columns[frame.columns[i]].data
for (const [i, name, value] of frame.settings) models[i][name] = value
for (let i = 0; i < texts.length; i++) texts[i].text = frame.texts[i]
"""

_STYLE = f"""
  html, body {{ margin: 0; background: #eef1f4; color: {INK}; font-family: {FONT}; line-height: 1.45; }}
  header {{ background: #16324a; color: white; padding: 8px 18px; display: flex; gap: 18px; flex-wrap: wrap;
           align-items: baseline; }}
  header h1 {{ font-size: 20px; margin: 0; }} header nav {{ margin-left: auto; }} header a {{ color: white; }}
  main {{ display: grid; gap: 12px; padding: 12px; max-width: 1200px; margin: 0 auto; box-sizing: border-box;
         grid-template-columns: minmax(0, 1.1fr) minmax(0, 1fr); align-items: start; }}
  section {{ background: white; border: 1px solid {LINE}; border-radius: 8px; padding: 10px 14px; min-width: 0; }}
  .wide {{ grid-column: 1 / -1; }} .try {{ background: #fff7e6; border-left: 3px solid #E69F00; padding: 6px 10px; }}
  .stack {{ display: grid; gap: 12px; min-width: 0; }} .muted {{ color: {MUTED}; }}
  code {{ overflow-wrap: anywhere; }} ol {{ margin: 0; }}
  @media (max-width: 760px) {{ main {{ grid-template-columns: minmax(0, 1fr); padding: 8px; }} }}
"""

_TEMPLATE = """
{% block preamble %}
{{ mark }}
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{{ style }}</style>
{% endblock %}
{% block contents %}
<header><h1>{{ heading }}</h1><nav>{{ links }}</nav></header>
<main>
  <section class="wide">{{ lesson }}{{ embed(roots.controls) }}</section>
  <section>{{ embed(roots.picture) }}</section>
  <div class="stack"><section>{{ embed(roots.view) }}</section><section>{{ embed(roots.proof) }}</section></div>
</main>
{% endblock %}
"""


def export_tour(folder: Path, names: Sequence[str] = ()) -> list[Path]:
    """Write pages of the tour and the scripts that they need into a folder; return the pages. By default all of them."""
    chosen = [name for name in PAGES if not names or name in names]
    written, scripts = [], set()
    for place, name in enumerate(chosen):
        text = _page(name, chosen[place - 1] if place else "", (chosen[place + 1 :] or [""])[0])
        scripts.update(re.findall(r'src="([\w.-]+\.js)"', text))
        written.append(folder / f"{name}.html")
        write_whole(written[-1], text.encode(), 0o666 & ~umask())
    for script in sorted(scripts):
        write_whole(folder / script, (_scripts() / script).read_bytes(), 0o666 & ~umask())
    write_whole(folder / INDEX, _index(chosen).encode(), 0o666 & ~umask())
    return [folder / INDEX, *written]


def refuse_foreign(folder: Path) -> None:
    """Raise if a folder holds anything but pages and scripts of an earlier export."""
    pages = {INDEX, *(f"{name}.html" for name in PAGES)}
    for file in sorted(folder.iterdir()) if folder.is_dir() else []:
        script = re.fullmatch(r"bokeh[\w-]*\.min\.js", file.name)
        page = file.name in pages and file.is_file() and MARK in file.read_text(encoding="utf-8", errors="replace")
        if file.is_symlink() or not (script or page or file.name.startswith(PREFIX)):
            raise InputError(
                f"{folder}: holds {shown(file.name)}, which is not of an earlier export; name a new or empty folder."
            )


def _scripts() -> Path:
    import bokeh

    return Path(bokeh.__file__).parent / "server" / "static" / "js"


def _page(name: str, before: str, after: str) -> str:
    """Return one page as HTML; its scripts are files beside it."""
    lesson, handout = PAGES[name], handouts()[name]
    doc, frames = Document(), _Frames()
    states = handout.states(name)
    for state in states.values():
        frames.add(state)
    widgets = [_widget(control, at) for control, at in zip(handout.controls, handout.start, strict=True)]
    frames.show(list(states).index(handout.start))
    script = CustomJS(code=_SHOW, args=frames.arguments(widgets, handout))
    for widget in widgets:
        widget.js_on_change("value" if isinstance(widget, Slider) else "active", script)
    wide: dict[str, Any] = {"sizing_mode": "stretch_width"}
    titled = [
        column(*([] if control.ordered else [said(escaped(control.title))]), widget, **wide)
        for control, widget in zip(handout.controls, widgets, strict=True)
    ]
    roots = {
        "controls": column(*titled, **wide),
        "picture": column(frames.main.figure, frames.facts, **wide),
        "view": column(frames.side.figure, frames.view_words, **wide),
        "proof": column(frames.kernel, frames.proof, **wide),
    }
    for key, root in roots.items():
        root.name = key
        doc.add_root(root)
    told = (
        f'<p>{escaped(lesson.text)}</p><p class="try"><b>Try:</b> {escaped(handout.task)}</p>'
        f'<p class="muted">With points of your own: <code>mercer lab --tour {name}</code></p>'
    )
    beside = [(f"{there}.html", PAGES[there].title) for there in (before, after) if there]
    links = " · ".join(f'<a href="{to}">{escaped(words)}</a>' for to, words in [(INDEX, "all pages"), *beside])
    text = file_html(
        doc, Resources(mode="server", root_url="./", path_versioner=None), title=f"mercer lab: {lesson.title}",
        template=_TEMPLATE, template_variables={
            "mark": MARK, "style": _STYLE, "heading": escaped(lesson.title), "lesson": told, "links": links,
        },
    )  # fmt: skip
    return text.replace('src="./static/js/', 'src="')  # the scripts lie beside the page


def _index(names: list[str]) -> str:
    listed = "\n".join(
        f'<li><a href="{name}.html">{html.escape(PAGES[name].title)}</a><br><span class="muted">'
        f"{html.escape(handouts()[name].task)}</span></li>"
        for name in names
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>mercer lab: the tour</title>'
        f'{MARK}<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head>\n'
        '<body><header><h1>mercer lab: the tour</h1></header><main><section class="wide"><p>Every picture of these pages '
        "was computed beforehand. To draw points and to write kernels, run <code>mercer lab</code> on your own machine."
        f"</p><ol>\n{listed}\n</ol></section></main></body></html>\n"
    )


def _widget(control: Control, start: int) -> Any:
    if control.ordered:
        shown = CustomJSTickFormatter(code="return labels[Math.round(tick)]", args={"labels": list(control.labels)})
        last = len(control.labels) - 1
        return Slider(
            start=0, end=last, step=1, value=start, title=control.title, format=shown, sizing_mode="stretch_width"
        )  # fmt: skip
    upright = sum(map(len, control.labels)) > 40
    return RadioButtonGroup(
        labels=list(control.labels), active=start, orientation="vertical" if upright else "horizontal",
        sizing_mode="stretch_width",
    )  # fmt: skip


class _Frames:
    """The figures of a page, and what they hold in each state."""

    def __init__(self) -> None:
        self.main, self.side = MainPicture(), SidePicture()
        self.facts, self.view_words, self.proof = said(), said(), said()
        self.kernel = Div(text="", stylesheets=[InlineStyleSheet(css=FORMULA)], sizing_mode="stretch_width")
        self.texts = [self.facts, self.view_words, self.kernel, self.proof]
        drawn = [*self.main.figure.renderers, *self.side.figure.renderers]
        self.sources = list(dict.fromkeys(one.data_source for one in drawn))
        side = self.side.figure
        self.properties: list[tuple[Any, str]] = [
            (model, name)
            for model, names in (
                (side.x_range, ("start", "end")),
                (side.y_range, ("start", "end")),
                (self.side.mapper, ("low", "high", "palette")),
                (self.side.bar, ("visible",)),
                (side.xaxis[0], ("axis_label",)),
                (side.yaxis[0], ("axis_label", "visible")),
            )
            for name in names
        ]
        self._columns: list[ColumnDataSource] = []
        self._known: dict[str, int] = {}
        self._frames: list[dict[str, Any]] = []

    def add(self, state: LabState) -> None:
        """Compute the pictures and texts of a state, and keep them."""
        found, notes, wrong = computed(lambda: picture(state))
        beside, _, view_wrong = computed(lambda: view(state))
        if found is None:
            self.main.clear(*bare_points(state))
        else:
            self.main.show(found)
        if beside is None:
            self.side.clear()
        else:
            self.side.show(beside)
        known = verdict(kernel_of(state))
        texts = [
            problem(wrong) if found is None else facts_in_words(found, notes),
            problem(view_wrong) if beside is None else quiet(": ".join(filter(None, (beside.title, beside.words)))),
            f"<p><code>{escaped(state.kernel)}</code></p>$$k(x, z) = {known.formula}$$",
            judged(known.status, known.text),
        ]
        settings = [[i, name, getattr(model, name)] for i, (model, name) in enumerate(self.properties)]
        self._frames.append(
            {"columns": [self._stored(source) for source in self.sources], "settings": settings, "texts": texts}
        )

    def _stored(self, source: ColumnDataSource) -> int:
        """Return the number of the columns of a source; equal columns are kept once."""
        key = hashlib.sha256(pickle.dumps(dict(source.data))).hexdigest()
        if key not in self._known:
            self._known[key] = len(self._columns)
            self._columns.append(ColumnDataSource(dict(source.data)))
        return self._known[key]

    def show(self, place: int) -> None:
        """Put a frame into the figures, as the script of the page does."""
        frame = self._frames[place]
        for source, number in zip(self.sources, frame["columns"], strict=True):
            source.data = dict(self._columns[number].data)
        for i, name, value in frame["settings"]:
            setattr(self.properties[i][0], name, value)
        for text, value in zip(self.texts, frame["texts"], strict=True):
            text.text = value

    def arguments(self, widgets: list[Any], handout: Handout) -> dict[str, Any]:
        """Return what the script of the page is given."""
        first = self._frames[0]["settings"]
        changing = [i for i in range(len(first)) if any(frame["settings"][i] != first[i] for frame in self._frames)]
        for frame in self._frames:  # most properties are the same in all frames, and long ones are not stored again
            frame["settings"] = [frame["settings"][i] for i in changing]
        return {
            "controls": widgets,
            "kinds": ["slider" if control.ordered else "buttons" for control in handout.controls],
            "counts": [len(control.labels) for control in handout.controls],
            "frames": self._frames,
            "columns": self._columns,
            "sources": self.sources,
            "models": [model for model, _ in self.properties],
            "texts": self.texts,
        }
