"""HTML text: numbers for readers, the elements of a page, and the page around them.

Every function that takes text escapes it. A function that returns HTML has the return type `Html`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import NewType

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

_LONG_NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d{3,}(?:e[+-]?\d+)?|(?<![\w.])-?\d+e[+-]?\d+")

_NESTED = re.compile(r"\[\[[^\]]*\](?:, \[[^\]]*\])*\]")


def human(value: float, digits: int = 3) -> str:
    """Return a number with a few significant digits, in scientific notation if it is very small or very large.

    >>> human(1234.567), human(0.012345), human(0.0), human(1.25e-7, 2), human(float("inf"))
    ('1,235', '0.0123', '0', '1.2 × 10⁻⁷', '∞')
    """
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    sign, size = "−" if value < 0 else "", abs(value)
    exponent = math.floor(math.log10(size))
    if -4 <= exponent < 7:
        decimals = max(0, digits - 1 - math.floor(math.log10(float(f"{size:.{digits - 1}e}"))))
        text = f"{size:,.{decimals}f}"
        return sign + (text.rstrip("0").rstrip(".") if "." in text else text)
    mantissa, power = f"{size:.{digits - 1}e}".split("e")
    front = f"{float(mantissa):g}"
    times = "" if front == "1" else f"{front} × "
    return f"{sign}{times}10{str(int(power)).translate(_SUPERSCRIPTS)}"


def percent(share: float) -> str:
    """Return a share as a percentage: 93.4 %, 100 %, 0.02 %."""
    if math.isnan(share):
        return "–"
    value = 100.0 * share
    return f"{value:.1f}".removesuffix(".0") + " %" if value >= 0.95 or value == 0 else f"{human(value, 1)} %"


def shortened(words: str, longest: int) -> str:
    """Return words, cut to `longest` letters with an ellipsis if there are more."""
    return words if len(words) <= longest else f"{words[: max(1, longest - 1)]}…"


def rounded(text: str, digits: int = 3, longest: int = 600) -> str:
    """Return a kernel or formula with rounded numbers and with matrices replaced by their size, cut if it is long.

    >>> rounded("Matern(nu=1.5, length_scale=(8.105520553117337, 0.00012345678))")
    'Matern(nu=1.5, length_scale=(8.11, 0.000123))'
    """
    text = _NESTED.sub(_size, text)
    text = _LONG_NUMBER.sub(lambda found: f"{float(found[0]):.{digits}g}", text)
    return shortened(text, longest)


def _size(found: re.Match[str]) -> str:
    """Return the size of a nested list, or the list itself if it has at most four numbers."""
    rows = found[0].count("[") - 1
    columns = (found[0].count(",") + 1) // rows
    return found[0] if rows * columns <= 4 else f"[a {rows} × {columns} matrix]"


Html = NewType("Html", str)

#: Longer cells are cut: a text column can hold whole documents.
LONGEST = 160


@dataclass(frozen=True)
class Section:
    """One part of a page, with an entry in its table of contents."""

    key: str
    title: str
    body: Html


def text(words: object, longest: int | None = None) -> Html:
    """Return text from any source as HTML: escaped, with control and direction characters as escape sequences."""
    plain = str(words) if longest is None else shortened(str(words), longest)
    if not plain.isprintable():
        plain = "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in plain)
    return Html(escape(plain, quote=True))


def join(parts: Iterable[Html], between: str = "") -> Html:
    """Return several pieces of HTML as one."""
    return Html(between.join(parts))


def paragraph(words: object, kind: str = "") -> Html:
    """Return a paragraph of plain text."""
    return Html(f"<p{_class(kind)}>{text(words)}</p>")


def code(words: object) -> Html:
    """Return a line or block of code; long lines wrap."""
    return Html(f"<pre><code>{text(words)}</code></pre>")


def heading(words: object) -> Html:
    """Return a heading inside a section."""
    return Html(f"<h3>{text(words)}</h3>")


def cell(value: object) -> Html:
    """Return a cell of a table: marked cells as they are, anything else escaped and cut."""
    return value if isinstance(value, Mark) else text(value, LONGEST)  # type: ignore[return-value]


class Mark(str):
    """A cell that is HTML already."""


def mark(words: object, kind: str) -> Mark:
    """Return highlighted words for a cell; `kind` is a class of the style sheet."""
    return Mark(f"<span{_class(kind)}>{text(words, LONGEST)}</span>")


def table(header: Sequence[str], rows: Iterable[Sequence[object]], numbers: Sequence[int] = ()) -> Html:
    """Return a table; the columns in `numbers` are aligned right. On a narrow screen the table scrolls, not the page."""
    wide = len(header) >= 4  # on a phone each row of a wide table is shown as a list of names and cells
    head = "".join(f"<th{_class('n' if i in numbers else '')}>{text(name)}</th>" for i, name in enumerate(header))
    body = "".join(f"<tr>{''.join(_td(header[i], value, i in numbers) for i, value in enumerate(row))}</tr>" for row in rows)
    kind = _class("wide" if wide else "")
    return Html(f'<div class="scroll"><table{kind}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>')


def _td(name: str, value: object, number: bool) -> str:
    return f'<td data-name="{text(name)}"{_class("n" if number else "")}>{cell(value)}</td>'


def facts(pairs: Iterable[tuple[str, object]]) -> Html:
    """Return labels with their values, one per line."""
    inner = "".join(f"<div><dt>{text(label)}</dt><dd>{cell(value)}</dd></div>" for label, value in pairs)
    return Html(f'<dl class="facts">{inner}</dl>')


def cards(items: Iterable[tuple[str, str, str]]) -> Html:
    """Return large numbers with a label above and a remark below."""
    inner = "".join(
        f'<div class="card"><span class="label">{text(label)}</span><strong>{text(value)}</strong>'
        f'<span class="remark">{text(remark)}</span></div>'
        for label, value, remark in items
    )
    return Html(f'<div class="cards">{inner}</div>')


def figure(svg: Html, caption: str) -> Html:
    """Return a picture with its caption."""
    return Html(f"<figure>{svg}<figcaption>{text(caption)}</figcaption></figure>")


def gallery(figures: Iterable[Html]) -> Html:
    """Return pictures side by side if the screen is wide enough."""
    return Html(f'<div class="gallery">{"".join(figures)}</div>')


def folded(summary: str, body: Html) -> Html:
    """Return a part that is collapsed on screen and shown in print."""
    return Html(f"<details><summary>{text(summary)}</summary>{body}</details>")


def _class(kind: str) -> str:
    return f' class="{text(kind)}"' if kind else ""


#: Style sheet: one column on a phone, two on a laptop, dark if the reader prefers dark pages, plain on paper.
#: Text is at least 13 px high; pictures are 360 units wide and shown at least that wide if the screen allows it.
STYLE = """
:root{--ink:#1c2430;--soft:#566171;--line:#d9dee6;--paper:#fff;--tint:#f5f7fa;--a:#0072b2;--b:#c24e00;--c:#00855f;
--d:#7a5ba8;--warn:#a04100;--warnbg:#fff3e8;--grid:#e6eaf0;--ok:#00704f}
@media (prefers-color-scheme:dark){:root{--ink:#e6e9ee;--soft:#a5afbd;--line:#39424f;--paper:#14181e;--tint:#1c222b;
--a:#56b4e9;--b:#f08a45;--c:#3fc79d;--d:#b79be0;--warn:#ffb27a;--warnbg:#33241a;--grid:#2a323d;--ok:#4fd1a5}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0 auto;max-width:1120px;padding:1.25rem;background:var(--paper);color:var(--ink);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.75rem;line-height:1.2;margin:.4rem 0}
h2{font-size:1.3rem;line-height:1.3;margin:0 0 .6rem;padding-top:1.2rem;border-top:2px solid var(--line)}
h3{font-size:1.02rem;margin:1.3rem 0 .4rem}
p{margin:.5rem 0;max-width:46rem}
.subtitle{color:var(--soft);font-size:1.02rem}
.quiet{color:var(--soft);font-size:.9rem}
section{margin:1.8rem 0}
nav ol{display:flex;flex-wrap:wrap;gap:.35rem 1rem;list-style:none;padding:0;margin:.8rem 0;font-size:.94rem}
a{color:var(--a)}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(13rem,100%),1fr));gap:.8rem;margin:.9rem 0}
.card{background:var(--tint);border:1px solid var(--line);border-radius:10px;padding:.75rem .95rem;display:flex;
flex-direction:column;gap:.1rem}
.card strong{font-size:1.65rem;line-height:1.25;font-weight:650;font-variant-numeric:tabular-nums}
.card .label{color:var(--soft);font-size:.88rem}
.card .remark{font-size:.88rem;color:var(--soft)}
.gallery{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(440px,100%),1fr));gap:1rem;margin:.9rem 0}
figure{margin:0;border:1px solid var(--line);border-radius:10px;padding:.6rem;background:var(--paper);max-width:600px;
width:100%;break-inside:avoid}
figcaption{color:var(--soft);font-size:.88rem;padding:.3rem .3rem .1rem}
svg{display:block;width:100%;height:auto}
svg.spark{width:120px;height:28px}
svg text{font:12.3px system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif;fill:var(--ink)}
svg .soft{fill:var(--soft)}
svg .axis{stroke:var(--soft);stroke-width:1}
svg .grid{stroke:var(--grid);stroke-width:1}
svg .rule{stroke:var(--soft);stroke-width:1;stroke-dasharray:4 3;fill:none}
svg .dot{fill-opacity:.5}
svg .spot{stroke:var(--paper);stroke-width:2;fill-opacity:1}
svg .band{fill-opacity:.18}
svg .fa{fill:var(--a)}svg .fb{fill:var(--b)}svg .fc{fill:var(--c)}svg .fd{fill:var(--d)}svg .fs{fill:var(--soft)}
svg .sa{stroke:var(--a)}svg .sb{stroke:var(--b)}svg .sc{stroke:var(--c)}svg .sd{stroke:var(--d)}svg .ss{stroke:var(--soft)}
svg .stroke{fill:none;stroke-width:2;stroke-linejoin:round}
svg .thin{fill:none;stroke-width:1.2}
svg .on{fill:var(--paper)}
.scroll{overflow-x:auto;margin:.6rem 0}
table{border-collapse:collapse;font-size:.92rem;min-width:min(100%,24rem)}
th,td{text-align:left;padding:.36rem .7rem .36rem 0;border-bottom:1px solid var(--line);vertical-align:top;
overflow-wrap:break-word;max-width:26rem}
th{color:var(--soft);font-weight:600}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.best{font-weight:650;color:var(--ok)}
.chosen{font-weight:650}
dl.facts{margin:.6rem 0;display:grid;gap:0}
dl.facts div{display:grid;grid-template-columns:minmax(7rem,14rem) 1fr;gap:.2rem 1rem;padding:.3rem 0;
border-bottom:1px solid var(--line)}
dt{color:var(--soft)}
dd{margin:0}
pre{background:var(--tint);border:1px solid var(--line);border-radius:8px;padding:.7rem .85rem;white-space:pre-wrap;
overflow-wrap:anywhere;font-size:.86rem;line-height:1.45;margin:.5rem 0}
code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
ul.warnings{list-style:none;padding:0}
ul.warnings li{border-left:4px solid var(--line);background:var(--tint);padding:.55rem .85rem;margin:.5rem 0;
border-radius:0 8px 8px 0}
ul.warnings li.warning{border-color:var(--warn);background:var(--warnbg)}
ul.warnings b{display:block}
details summary{cursor:pointer;color:var(--a);margin:.5rem 0}
footer{color:var(--soft);font-size:.88rem;border-top:1px solid var(--line);margin-top:2rem}
@media (max-width:520px){body{padding:.9rem}h1{font-size:1.45rem}dl.facts div{grid-template-columns:1fr;gap:0}
figure{padding:.35rem}
table.wide,table.wide tbody,table.wide tr,table.wide td{display:block;max-width:none;text-align:left}
table.wide thead{display:none}
table.wide tr{border-bottom:1px solid var(--line);padding:.45rem 0}table.wide td{border:0;padding:.1rem 0;display:grid;
grid-template-columns:7.5rem 1fr;gap:.6rem}table.wide td.n{text-align:left;white-space:normal}
table.wide td:empty{display:none}
table.wide td::before{content:attr(data-name);color:var(--soft)}}
@media print{:root{--ink:#000;--soft:#444;--line:#bbb;--paper:#fff;--tint:#fff;--a:#0072b2;--b:#c24e00;--c:#00855f;
--warnbg:#fff;--grid:#ddd}body{max-width:none;padding:0;font-size:11pt}nav{display:none}section{break-inside:auto}
h2,h3{break-after:avoid}.gallery{grid-template-columns:1fr 1fr}.card,ul.warnings li,tr{break-inside:avoid}
details::details-content{content-visibility:visible;display:block}a{color:inherit;text-decoration:none}}
"""


#: Content security policy: the file may use its own style and load nothing.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def page(title: str, subtitle: str, sections: Sequence[Section], footer: str) -> str:
    """Return the whole HTML file."""
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
