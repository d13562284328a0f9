"""Summary of a fitted model: its quality, how it was fitted, and its cost."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Any

from mercer.errors import readable


@dataclass(frozen=True)
class Summary:
    """A title and lines of (label, text); `numbers` are the same facts for machines."""

    title: str
    lines: tuple[tuple[str, str], ...]
    numbers: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        width = max(len(label) for label, _ in self.lines)
        return readable("\n".join([self.title, *[f"  {label:<{width}}  {text}" for label, text in self.lines]]))

    def _repr_html_(self) -> str:
        left = "style='text-align:left'"
        rows = "".join(
            f"<tr><th {left}>{html.escape(label)}</th><td {left}>{html.escape(readable(text))}</td></tr>"
            for label, text in self.lines
        )
        return f"<table><caption {left}>{html.escape(readable(self.title))}</caption>{rows}</table>"


def known(value: float) -> str:
    """A number of a summary, or that there is none."""
    return "not available" if value != value else f"{value:.3g}"


def at_most(value: float) -> str:
    """An upper bound of a summary, or that there is none."""
    return "not available" if value != value else f"<= {value:.4g}"
