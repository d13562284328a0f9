"""The page around the sections: head, style, table of contents. Nothing in it asks for anything outside the file."""

from __future__ import annotations

from collections.abc import Sequence

from mercer.report.document.html import Html, Section, text
from mercer.report.document.style import STYLE

#: No source is allowed but the style written in the file.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def page(title: str, subtitle: str, sections: Sequence[Section], footer: str) -> str:
    """The whole file."""
    contents = "".join(f'<li><a href="#{text(part.key)}">{text(part.title)}</a></li>' for part in sections)
    body = "".join(f'<section id="{text(part.key)}"><h2>{text(part.title)}</h2>{part.body}</section>' for part in sections)
    navigation = Html(f'<nav aria-label="Contents"><ol>{contents}</ol></nav>') if len(sections) > 3 else Html("")
    return (
        "<!doctype html>\n"
        '<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{text(POLICY)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
        f'<link rel="icon" href="data:,"><title>{text(title)}</title><style>{STYLE}</style></head>\n'
        f'<body><header><h1>{text(title)}</h1><p class="subtitle">{text(subtitle)}</p></header>\n'
        f"{navigation}\n<main>{body}</main>\n<footer><p>{text(footer)}</p></footer></body></html>\n"
    )
