"""Words of the page as HTML: everything that somebody may have typed is escaped here."""

from __future__ import annotations

import html

from mercer.lab.pictures import Picture
from mercer.lab.state import State
from mercer.lab.tour import PAGES


def escaped(text: str) -> str:
    """Text that is no markup."""
    return html.escape(text, quote=True)


def facts_in_words(found: Picture, notes: list[str]) -> str:
    """The numbers of a picture, what its rings mean, and what was warned of."""
    listed = "".join(f"<dt>{escaped(name)}</dt><dd>{escaped(value)}</dd>" for name, value in found.facts)
    ringed = f'<p class="muted">Ringed: {escaped(found.marks)}.</p>' if found.marks and len(found.marked) else ""
    noted = f'<p class="muted">{escaped(notes[0])}</p>' if notes else ""
    return f"<dl>{listed}</dl>{ringed}{noted}"


def lesson(state: State, message: str) -> str:
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
