"""Docstrings of mercer are plain text with `code` in it: what reStructuredText would take for markup is escaped.

`support_` is a name and not a link, |x| an absolute value, a * b a product. A public name in backticks becomes a link to its
page. Prose under "Attributes" stays prose. Members that mercer did not write are left out.
"""

from __future__ import annotations

import inspect
import re
from functools import cache
from pathlib import Path
from typing import Any

from mercer.registry import public_names

SPECIAL = re.compile(r"[\\*|<>]|(?<=\w)_(?!\w)")
UNDERLINE = re.compile(r"^(-{3,}|={3,})\s*$")


def escaped(text: str) -> str:
    """Text without backticks, with every character that could start markup escaped."""
    return SPECIAL.sub(lambda found: "\\" + found.group(), text)


def code(text: str) -> str:
    """A piece of code; a public name is a link."""
    name = text.removeprefix("mercer.")
    if name in public_names() and public_names()[name] != "mercer":
        return f":py:obj:`{text} <mercer.{name}>`"
    return f"``{text}``"


def line(text: str) -> str:
    """One line of prose as reStructuredText."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a backtick without its partner
        return escaped(text.replace("`", "'"))
    made = [escaped(part) if i % 2 == 0 else code(part) for i, part in enumerate(parts)]
    for i in range(1, len(made), 2):  # markup ends at a space or a sign of punctuation
        if made[i + 1][:1].isalnum():
            made[i + 1] = "\\ " + made[i + 1]
        if made[i - 1][-1:].isalnum():
            made[i - 1] += "\\ "
    return "".join(made)


def prose_line(text: str) -> str:
    """One line of prose with formulas between dollars, as reStructuredText."""
    parts = text.split("$")
    if len(parts) % 2 == 0:  # a dollar without its partner
        return line(text)
    return "".join(f":math:`{part}`" if i % 2 else line(part) for i, part in enumerate(parts))


@cache
def formulas() -> dict[str, tuple[str, str]]:
    """The typeset formula of each kernel of the table of kernels, and the words that follow it."""
    text = (Path(__file__).resolve().parents[1] / "kernel-table.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)\(.*?\)` \| \$([^$]+)\$(.*) \|$", text, flags=re.MULTILINE)
    return {f"mercer.{name}": (formula, words.lstrip(", ")) for name, formula, words in rows}


def with_formula(name: str, lines: list[str]) -> list[str]:
    """The docstring of a kernel with its typeset formula after the first paragraph."""
    if name not in formulas():
        return lines
    formula, words = formulas()[name]
    told = [words] if "=" in words else []  # other words are of the table
    if "\\ell" in formula:
        told.append("$\\ell$ is `length_scale`")
    end = next((i for i, text in enumerate(lines) if not text.strip()), len(lines))
    where = ["", prose_line(f"Here {'; '.join(told)}.")] if told else []
    return [*lines[:end], "", f".. math:: k(x, z) = {formula}", *where, "", *lines[end:]]


def translated(lines: list[str]) -> list[str]:
    """A docstring as reStructuredText; two empty lines end a section of parameters, as Napoleon reads it."""
    found: list[str] = []
    example = attributes = section = False
    for i, text in enumerate(lines):
        below = lines[i + 1].strip() if i + 1 < len(lines) else ""
        if text.strip().startswith(">>>"):
            found += ["", "", ".. rubric:: Examples", ""] if section else []
            example, attributes, section = True, False, False
        elif not text.strip():
            example = False
        if example or not text.strip():
            found.append(text)
        elif UNDERLINE.match(below):
            attributes, section = text.strip() == "Attributes", True
            found += ["", "", ".. rubric:: Attributes", ""] if attributes else [text]
        elif UNDERLINE.match(text.strip()):
            found += [] if attributes else [text]
        else:
            found += entry(text) if attributes else [line(text)]
    return found


def entry(text: str) -> list[str]:
    """A line under "Attributes": `name : what it is` begins an item of a list, everything else goes on."""
    name, colon, rest = text.partition(" : ")
    if not colon or text.startswith(" "):
        return [("  " if text.startswith(" ") else "") + line(text.strip())]
    return ["", f"- {line(f'`{name}`')}: {line(rest)}"]


def process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Change the lines of a docstring in place, before sections are read."""
    lines[:] = with_formula(name, translated(lines)) if what == "class" else translated(lines)
    if what in ("attribute", "property"):
        lines[:0] = ["..", ""]  # a comment: else what stands before a colon in the first line would be taken for a type


def dashes(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Between a parameter and what it is, Napoleon writes two hyphens."""
    lines[:] = [text if ">>>" in text else text.replace(" -- ", " – ", 1) for text in lines]


def skip(app: Any, what: str, name: str, obj: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out what comes from scikit-learn, and what dataclasses make."""
    target = getattr(obj, "fget", None) or getattr(obj, "func", None) or obj
    module = getattr(target, "__module__", None)
    if name.startswith("_") or (module is not None and not str(module).startswith("mercer")):
        return True
    return None


def signature(app: Any, what: str, name: str, obj: Any, options: Any, given: str | None, result: str | None) -> Any:
    """The parameters of a class as Python knows them, also where __init__ is wrapped; types stand in the text."""
    if what != "class":
        return None
    try:
        found = inspect.signature(obj)
    except (TypeError, ValueError):
        return None
    plain = [one.replace(annotation=one.empty) for one in found.parameters.values()]
    return str(found.replace(parameters=plain, return_annotation=found.empty)), None


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx."""
    app.connect("autodoc-process-docstring", process, priority=400)
    app.connect("autodoc-process-docstring", dashes, priority=600)  # after napoleon
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-signature", signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
