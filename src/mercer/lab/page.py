"""The page of one browser: one state, shown by widgets and figures. Every event makes a new state, which is then shown.

A browser sends events faster than pictures can be computed. Events are collected for a few milliseconds, and only the last
one of each kind is used. The main picture is computed first; the side view, the proof and the address follow.
"""

from __future__ import annotations

import html
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

import numpy as np
from bokeh.document import Document

from mercer.errors import MercerError
from mercer.lab import editing
from mercer.lab.address import from_query, to_query
from mercer.lab.controls import Controls, Sliders, Turn
from mercer.lab.drawing import MainPicture, SidePicture
from mercer.lab.kernels import as_points, break_it, combined, knobs, read, turned, verdict
from mercer.lab.pictures import Scene, kernel_of, picture, rows_of
from mercer.lab.python_code import python_code
from mercer.lab.samples import arrays, kind_of, texts
from mercer.lab.state import CURVE, MOST_STEPS, VIEWS, WORDS, LabState, NamedData, Parameter
from mercer.lab.styles import TEMPLATE
from mercer.lab.tour import PAGES, page_state
from mercer.lab.views import at_point, view

#: Milliseconds: events are gathered, the side view follows; the formula, which is slow to draw, and the address come when a
#: hand rests.
GATHER, BESIDE, KERNEL, ADDRESS = 2, 35, 150, 400

HINTS = {
    CURVE: "Click: a new point. Drag: move it. Double-click: delete it. The height is the target.",
    WORDS: "Words stand where their first two kernel components are; ★ is the new word.",
}
HINT = "Click: a new point of the class above. Drag: move it. Double-click: delete it."


class LabPage:
    """One browser's page."""

    def __init__(self, doc: Document, state: LabState, message: str = "") -> None:
        self.doc, self.state, self.message = doc, state, message
        self.controls, self.main, self.side = Controls(), MainPicture(), SidePicture()
        self.algorithm_sliders = Sliders(self._turn_parameter, lambda: self._quiet)
        self.kernel_sliders = Sliders(self._turn_kernel, lambda: self._quiet)
        self._waiting: dict[str, Callable[[], None]] = {}
        self._later: dict[str, Any] = {}
        self._held: int | None = None  # the point that is being dragged
        self._quiet = False  # widgets are being set, not used
        self._broken = ""
        self._connect()
        roots = self.controls.roots(
            self.main.figure, self.side.figure, self.algorithm_sliders.column, self.kernel_sliders.column
        )
        for name, root in roots.items():
            root.name = name
            doc.add_root(root)
        doc.title, doc.template = "mercer lab", TEMPLATE
        self._show_all()

    # -- from events to states ---------------------------------------------------------------------------------------

    def _connect(self) -> None:
        from bokeh.events import DoubleTap, Pan, PanEnd, PanStart, Tap

        c = self.controls
        self._on(c.tour, lambda name: self._go_to(name))
        c.back.on_click(lambda: self._walk(-1))
        c.forth.on_click(lambda: self._walk(1))
        self._on(c.data, lambda name: self.change(editing.with_data(self.state, name, int(c.size.value))) if name else None)
        self._on(c.size, lambda n: self.soon("size", lambda: self.change(editing.resized(self.state, int(n)))))
        c.redraw.on_click(lambda: self.change(editing.redrawn(self.state)))
        c.clear.on_click(lambda: self.change(editing.cleared(self.state)))
        self._on(c.words, lambda text: self._try(lambda: self.change(editing.with_words(self.state, text))))
        self._on(c.query, lambda text: self._try(lambda: self.change(self.state.having(query=text.strip()))))
        self._on(c.algorithm, lambda name: self.change(editing.with_algorithm(self.state, name)))
        c.step.on_click(lambda: self._step(1))
        c.ten.on_click(lambda: self._step(10))
        c.finish.on_click(lambda: self._step(MOST_STEPS))
        c.restart.on_click(lambda: self.change(self.state.setting(steps=0)))
        c.best.on_click(lambda: self._try(lambda: self.change(editing.best(self.state))))
        self._on(c.kernel, self._typed)
        for verb, button in c.verbs.items():
            button.on_click(
                lambda verb=verb: self._try(lambda: self._typed(combined(self.state.kernel, verb, c.block.value)))
            )
        c.break_it.on_click(self._break_it)
        c.view.on_change("active", self._choose_view)
        c.link.on_click(lambda: self._copy(to_query(self.state), "The link is in the clipboard and in the address above."))
        c.python.on_click(lambda: self._copy(python_code(self.state), "", shown=True))
        plot, side = self.main.figure, self.side.figure
        plot.on_event(Tap, lambda e: self._tap(e.x, e.y))
        plot.on_event(DoubleTap, lambda e: self._delete(e.x, e.y))
        plot.on_event(PanStart, lambda e: self._grab(e.x, e.y))
        plot.on_event(Pan, lambda e: self._drag(e.x, e.y))
        plot.on_event(PanEnd, lambda e: self._release())
        side.on_event(Pan, lambda e: self._drag_choice(e.x, e.y))
        side.on_event(Tap, lambda e: self._drag_choice(e.x, e.y))

    def _on(self, widget: Any, use: Callable[[Any], Any]) -> None:
        def changed(attribute: str, old: Any, new: Any) -> None:
            if not self._quiet:
                self._try(lambda: use(new))

        widget.on_change("value", changed)

    def _try(self, act: Callable[[], Any]) -> None:
        """Call a function, and show its errors on the page."""
        try:
            act()
        except MercerError as error:
            self._complain(error)

    def soon(self, what: str, act: Callable[[], None]) -> None:
        """Call a function after a short delay; of several calls of one kind only the last one runs."""
        if not self._waiting:
            self.doc.add_timeout_callback(self._run_waiting, GATHER)
        self._waiting[what] = act

    def _run_waiting(self) -> None:
        acts, self._waiting = list(self._waiting.values()), {}
        for act in acts:
            self._try(act)

    def _go_to(self, name: str) -> None:
        self.change(page_state(name) if name else self.state.having(tour=""))

    def _walk(self, step: int) -> None:
        names = list(PAGES)
        at = names.index(self.state.tour) + step if self.state.tour else 0
        self._go_to(names[at % len(names)])

    def _step(self, count: int) -> None:
        self._try(lambda: self.change(editing.stepped(self.state, count)))

    def _turn_parameter(self, name: str, value: float) -> None:
        self.soon(name, lambda: self.change(self.state.setting(**{name: value})))

    def _turn_kernel(self, path: str, value: float) -> None:
        self.soon(path, lambda: self.change(self.state.having(kernel=repr(turned(read(self.state.kernel), path, value)))))

    def _typed(self, text: str) -> None:
        try:
            read(text)
        except MercerError as error:  # the picture stays that of the last kernel that could be read
            self._kernel_problem(str(error))
            return
        self.change(self.state.having(kernel=text.strip()))

    def _break_it(self) -> None:
        def act() -> None:
            self._broken, found = break_it(kernel_of(self.state), rows_of(self.state))
            points = as_points(found) if found is not None and kind_of(self.state.data) != WORDS else None
            if points is not None and kind_of(self.state.data) != CURVE:
                self.change(editing.joined(self.state, points).having(view="spectrum"), broken=True)
            else:
                self._show_kernel()

        self._try(act)

    def _choose_view(self, attribute: str, old: Any, new: int) -> None:
        if not self._quiet and new is not None:
            self.state = self.state.having(view=self.state.views[new])
            self._show_beside()
            self._after("address", ADDRESS, self._show_address)

    # -- points by hand ----------------------------------------------------------------------------------------------

    def _tap(self, x: float, y: float) -> None:
        if kind_of(self.state.data) == WORDS:
            return
        if self.controls.hand.active == 1:
            self._delete(x, y)
        elif editing.nearest(self.state, x, y) is None:
            self._try(lambda: self.change(editing.added(self.state, x, y, int(self.controls.label.active))))

    def _delete(self, x: float, y: float) -> None:
        which = None if kind_of(self.state.data) == WORDS else editing.nearest(self.state, x, y)
        if which is not None:
            self._try(lambda: self.change(editing.removed(self.state, which)))

    def _grab(self, x: float, y: float) -> None:
        free = kind_of(self.state.data) != WORDS and self.controls.hand.active == 0
        self._held = editing.nearest(self.state, x, y) if free else None

    def _drag(self, x: float, y: float) -> None:
        held = self._held
        if held is not None:
            self.soon("drag", lambda: self.change(editing.moved(self.state, held, x, y)))

    def _release(self) -> None:
        self._held = None

    def _drag_choice(self, x: float, y: float) -> None:
        if self.state.view == "loo" and "loo" in self.state.views:
            self.soon("choice", lambda: self.change(at_point(self.state, x, y)))

    # -- from a state to the page --------------------------------------------------------------------------------------

    def change(self, state: LabState, broken: bool = False) -> None:
        """Show a new state."""
        if state.view not in state.views:
            state = state.having(view=state.views[-1])
        if state.kernel != self.state.kernel and not broken:
            self._broken = ""
        self.state, self.message = state, ""
        with self._together():
            self._show_picture()
            self._show_widgets()
        self._after("beside", BESIDE, self._show_beside)
        self._after("kernel", KERNEL, self._show_kernel)
        self._after("address", ADDRESS, self._show_address)

    @contextmanager
    def _together(self) -> Iterator[None]:
        """Send changes in one message. Bokeh reports them as events at the end, which are ignored."""
        self._quiet = True
        self.doc.hold("combine")
        try:
            yield
        finally:
            self.doc.unhold()
            self._quiet = False

    def _after(self, what: str, milliseconds: int, act: Callable[[], None]) -> None:
        """Call a function later; a second call before that is ignored for short delays, and postpones long ones."""
        if what in self._later:
            if milliseconds < KERNEL:
                return
            self.doc.remove_timeout_callback(self._later.pop(what))

        def run() -> None:
            self._later.pop(what, None)
            act()

        self._later[what] = self.doc.add_timeout_callback(run, milliseconds)

    def _show_all(self) -> None:
        with self._together():
            self._show_picture()
            self._show_widgets()
        self._show_beside()
        self._show_kernel()
        self._show_address()

    def _show_picture(self) -> None:
        found, notes, wrong = computed(lambda: picture(self.state))
        if found is None:
            self.main.clear(*bare_points(self.state))
            self.controls.facts.text = problem(wrong)
        else:
            self.main.show(found)
            self.controls.facts.text = facts_in_words(found, notes)

    def _complain(self, error: Exception) -> None:
        self.controls.facts.text = problem(str(error))

    def _show_widgets(self) -> None:
        c, state, kind = self.controls, self.state, kind_of(self.state.data)
        recipe = state.data if isinstance(state.data, NamedData) else None
        c.tour.value, c.algorithm.value, c.kernel.value = state.tour, state.algorithm, state.kernel
        c.data.value = recipe.name if recipe is not None else ""
        if recipe is not None and kind != WORDS:
            c.size.value = min(recipe.n, c.size.end)
        c.size.visible = recipe is not None and kind != WORDS
        c.redraw.disabled = recipe is None
        c.label.visible, c.hand.visible = kind not in (CURVE, WORDS), kind != WORDS
        c.words.visible = c.query.visible = kind == WORDS
        c.clear.visible = kind != WORDS
        if kind == WORDS:
            words, labels = texts(state.data)
            c.words.value = "\n".join(f"{label} {word}" for word, label in zip(words, labels, strict=True))
            c.query.value = state.query
        c.hint.text = quiet(HINTS.get(kind, HINT))
        stepping = state.algorithm == "perceptron"
        c.step.visible = c.ten.visible = c.finish.visible = c.restart.visible = stepping
        c.best.visible = "loo" in state.views
        self.algorithm_sliders.show([_turn(one, state.parameters[one.name]) for one in state.asks.parameters])
        c.view.labels = [VIEWS[name] for name in state.views]
        c.view.active = state.views.index(state.view) if state.view in state.views else 0
        c.lesson.text = lesson(state, self.message)

    def _show_beside(self) -> None:
        found, _, wrong = computed(lambda: view(self.state))
        with self._together():
            if found is None:
                self.side.clear()
                self.controls.view_words.text = problem(wrong)
            else:
                self.side.show(found)
                self.controls.view_words.text = quiet(". ".join(filter(None, (found.title, found.words))))

    def _show_kernel(self) -> None:
        c = self.controls
        try:
            known = verdict(kernel_of(self.state))
        except MercerError as error:
            self._kernel_problem(str(error))
            return
        with self._together():
            c.problem.visible = False
            c.formula.text = f"$$k(x, z) = {known.formula}$$"
            c.proof.text = judged(known.status, self._broken or known.text)
            found = knobs(read(self.state.kernel))
            self.kernel_sliders.show([Turn(k.path, k.label, k.value, k.scale, k.least, k.most) for k in found])

    def _kernel_problem(self, words: str) -> None:
        self.controls.problem.text = problem(words)
        self.controls.problem.visible = True
        self.controls.proof.text = quiet("This text is not a kernel that can be read. The picture is that of the last one.")

    def _show_address(self) -> None:
        self.controls.address.text = f"?{to_query(self.state)}"

    def _copy(self, text: str, words: str, shown: bool = False) -> None:
        c = self.controls
        self._show_address()
        if shown:
            c.code.text, c.code.visible = text, True
        else:
            request = self.doc.session_context.request if self.doc.session_context is not None else None
            host = request.headers.get("Host", "127.0.0.1") if request is not None else "127.0.0.1"
            text = f"http://{host}/?{text}"
        c.copied.visible = True
        c.copied.text = quiet(words or "The program is in the clipboard; it makes this picture.")
        c.clipboard.text = ""
        c.clipboard.text = text


def computed(make: Callable[[], Any]) -> tuple[Any, list[str], str]:
    """Return the result with its warnings, or None with the error."""
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            return make(), [str(one.message) for one in caught], ""
        except MercerError as error:
            return None, [], str(error)
        except Exception as error:  # the page stays open and shows the error
            return None, [], f"This is a bug in mercer, please report it: {type(error).__name__}: {error}"


def bare_points(state: LabState) -> tuple[Any, Any]:
    """Return the points of a state and their classes; none for words."""
    return arrays(state.data) if kind_of(state.data) != WORDS else (np.empty((0, 2)), np.empty(0, int))


def _turn(one: Parameter, value: float) -> Turn:
    return Turn(one.name, one.words or one.name, value, one.scale, one.least, one.most)


def escaped(text: str) -> str:
    """Return text with escaped markup."""
    return html.escape(text, quote=True)


def facts_in_words(found: Scene, notes: list[str]) -> str:
    """The numbers of a picture, what its rings mean, and what was warned of."""
    listed = "".join(f"<dt>{escaped(name)}</dt><dd>{escaped(value)}</dd>" for name, value in found.facts)
    ringed = f'<p class="muted">Ringed: {escaped(found.marks)}.</p>' if found.marks and len(found.marked) else ""
    noted = f'<p class="muted">{escaped(notes[0])}</p>' if notes else ""
    return f"<dl>{listed}</dl>{ringed}{noted}"


def lesson(state: LabState, message: str) -> str:
    """The page of the tour; above it, what was wrong with the address."""
    warning = f'<p class="error">{escaped(message)}</p>' if message else ""
    if not state.tour or state.tour not in PAGES:
        return f"{warning}<h3>Free play</h3><p>Choose data, a kernel and an algorithm; or a page of the tour above.</p>"
    page = PAGES[state.tour]
    return (
        f"{warning}<h3>{escaped(page.title)}</h3><p>{escaped(page.text)}</p>"
        f'<p class="try"><b>Try:</b> {escaped(page.task)}</p>'
    )


def problem(words: str) -> str:
    """What is wrong."""
    return f'<p class="error">{escaped(words)}</p>'


def quiet(words: str) -> str:
    """A remark."""
    return f'<p class="muted">{escaped(words)}</p>'


def judged(status: str, text: str) -> str:
    """Valid, invalid or unproven, and why."""
    return f'<span class="badge {status}">{status}</span><pre>{escaped(text)}</pre>'


def build(doc: Document) -> None:
    """Fill a document for one browser; the state comes from the address."""
    request = doc.session_context.request if doc.session_context is not None else None
    pairs = [
        (name, value) for name, values in (request.arguments if request is not None else {}).items() for value in values
    ]
    state, message = page_state(next(iter(PAGES))), ""
    try:
        state = opened(pairs)
    except MercerError as error:
        message = f"This address could not be read: {error}"
    LabPage(doc, state, message)


def opened(pairs: list[tuple[str, bytes]]) -> LabState:
    """The state of the arguments of a request; without any the first page of the tour."""
    known = [(name, value.decode("utf-8", "replace")) for name, value in pairs if not name.startswith("bokeh-")]
    return from_query(urlencode(known)) if known else page_state(next(iter(PAGES)))
