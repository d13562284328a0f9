"""The parts of a page. Every function that takes text escapes it; what returns HTML says so by its type, `Html`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import NewType

Html = NewType("Html", str)

#: Cells longer than this are cut: a text column can hold a book.
LONGEST = 160


@dataclass(frozen=True)
class Section:
    """One part of a report with a place in its table of contents."""

    key: str
    title: str
    body: Html


def text(words: object, longest: int | None = None) -> Html:
    """Words from anywhere as HTML: tags are shown, control characters and reversing marks are spelled out."""
    plain = str(words)
    if longest is not None and len(plain) > longest:
        plain = f"{plain[: longest - 1]}…"
    if not plain.isprintable():
        plain = "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in plain)
    return Html(escape(plain, quote=True))


def join(parts: Iterable[Html], between: str = "") -> Html:
    """Several pieces as one."""
    return Html(between.join(parts))


def paragraph(words: object, kind: str = "") -> Html:
    """A paragraph of plain words."""
    return Html(f"<p{_class(kind)}>{text(words)}</p>")


def code(words: object) -> Html:
    """A line or block of code, wrapped where it is long."""
    return Html(f"<pre><code>{text(words)}</code></pre>")


def heading(words: object) -> Html:
    """A heading inside a section."""
    return Html(f"<h3>{text(words)}</h3>")


def cell(value: object) -> Html:
    """A cell of a table: HTML as it is, anything else escaped and cut."""
    return value if isinstance(value, Mark) else text(value, LONGEST)  # type: ignore[return-value]


class Mark(str):
    """A cell that is HTML already."""


def mark(words: object, kind: str) -> Mark:
    """Words in a cell that stand out; `kind` is a class of the style."""
    return Mark(f"<span{_class(kind)}>{text(words, LONGEST)}</span>")


def table(header: Sequence[str], rows: Iterable[Sequence[object]], numbers: Sequence[int] = ()) -> Html:
    """A table; the columns in `numbers` are set flush right. On a narrow screen it scrolls by itself, not the page."""
    wide = len(header) >= 4  # on a phone every row is then a little list of its own, with the names beside the cells
    head = "".join(f"<th{_class('n' if i in numbers else '')}>{text(name)}</th>" for i, name in enumerate(header))
    body = "".join(f"<tr>{''.join(_td(header[i], value, i in numbers) for i, value in enumerate(row))}</tr>" for row in rows)
    kind = _class("wide" if wide else "")
    return Html(f'<div class="scroll"><table{kind}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>')


def _td(name: str, value: object, number: bool) -> str:
    return f'<td data-name="{text(name)}"{_class("n" if number else "")}>{cell(value)}</td>'


def facts(pairs: Iterable[tuple[str, object]]) -> Html:
    """Labels with their values, one below the other."""
    inner = "".join(f"<div><dt>{text(label)}</dt><dd>{cell(value)}</dd></div>" for label, value in pairs)
    return Html(f'<dl class="facts">{inner}</dl>')


def cards(items: Iterable[tuple[str, str, str]]) -> Html:
    """Large numbers with a label above and a remark below."""
    inner = "".join(
        f'<div class="card"><span class="label">{text(label)}</span><strong>{text(value)}</strong>'
        f'<span class="remark">{text(remark)}</span></div>'
        for label, value, remark in items
    )
    return Html(f'<div class="cards">{inner}</div>')


def figure(svg: Html, caption: str) -> Html:
    """A picture with what it shows."""
    return Html(f"<figure>{svg}<figcaption>{text(caption)}</figcaption></figure>")


def gallery(figures: Iterable[Html]) -> Html:
    """Pictures side by side where there is room."""
    return Html(f'<div class="gallery">{"".join(figures)}</div>')


def bullets(items: Iterable[Html], kind: str = "") -> Html:
    """A list."""
    return Html(f"<ul{_class(kind)}>{''.join(f'<li>{item}</li>' for item in items)}</ul>")


def folded(summary: str, body: Html) -> Html:
    """What not every reader wants to see at once; opened in print."""
    return Html(f"<details><summary>{text(summary)}</summary>{body}</details>")


def _class(kind: str) -> str:
    return f' class="{text(kind)}"' if kind else ""
