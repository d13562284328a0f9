"""Exceptions of mercer, and the checks and formats that their messages share.

    MercerError
    ├── InputError (ValueError)            an argument or data set breaks a stated rule
    │   ├── ParseError                     a text is not a kernel expression
    │   ├── ArgumentError (TypeError)      a parameter that does not exist, such as gamma of an estimator
    │   ├── MissingPartError (AttributeError)
    │   │                                  a fitted model does not hold what other fits store
    │   ├── ClosureError                   an operation the closure rules do not cover: k1 - k2, -2 * k, k ** 0.5
    │   └── CapabilityError                a kernel lacks what an algorithm needs (finite features, a gradient, …)
    ├── NumericalError (ArithmeticError)   a computation cannot be carried through
    ├── MemoryBudgetError (MemoryError)    the result does not fit; raised before anything is allocated
    └── MissingExtraError (ImportError)    an optional package is not installed

A message names the object, the rule, the value received and what to do.
"""

from __future__ import annotations

import os as _os
import re as _re
import sys as _sys
import warnings as _warnings
from numbers import Integral as _Integral
from numbers import Real as _Real
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_PACKAGE = _os.path.dirname(_os.path.abspath(__file__)) + _os.sep

#: Nouns that messages count. "features" is not among them: the contract tests of scikit-learn read "X has 1 features".
_SINGULAR = {
    "classes": "class", "entries": "entry", "matrices": "matrix", "vertices": "vertex",
    **{f"{noun}s": noun for noun in (
        "array", "argument", "block", "candidate", "cell", "chunk", "column", "component", "date", "duplicate",
        "description", "edge", "error", "file", "fold", "graph", "group", "kernel", "label", "landmark", "letter",
        "level", "molecule", "name", "node", "number", "pair", "parameter", "point", "row", "sample", "sequence", "step",
        "string", "target", "task", "term", "value", "view",
    )},
}  # fmt: skip
_ONE = _re.compile(rf"(\b(?:block|chunk|column|fold|level|line|part|row|step) )?(?<![\w.,'-])1 ({'|'.join(_SINGULAR)})\b")
_SCALAR = _re.compile(r"\bnp\.(?:str_|bool_?|u?int\d+|float\d+)\(('[^']*'|[^()']*)\)")

#: Parameters of kernels in messages: name=number and name=(number, number, …).
_NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_PARAMETER = _re.compile(rf"(?<=\w=)(?:{_NUMBER}(?![\w.])|\({_NUMBER}(?:, {_NUMBER})*,?\))")
_LONG_NUMBER = _re.compile(r"-?\d+\.\d{4,}(?:e[+-]?\d+)?")

#: Characters of a long text that are shown around the place where reading stopped.
CONTEXT = 1000


class MercerError(Exception):
    """Base class of all errors that mercer raises intentionally; messages are made `readable`."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*(readable(part) if isinstance(part, str) else part for part in args))


class InputError(MercerError, ValueError):
    """An argument or a data set breaks a stated rule."""


class ParseError(InputError):
    """A text is not a kernel expression; `position` is the 0-based column where reading stopped."""

    def __init__(self, message: str, text: str, position: int) -> None:
        self.text = text
        self.position = position
        self.reason = message
        start = max(0, position - CONTEXT // 2) if len(text) > CONTEXT else 0
        shown = text[start : start + CONTEXT]
        before, after = "… " if start else "", " …" if start + CONTEXT < len(text) else ""
        # the text of the user stays as it is, because the next line points into it
        Exception.__init__(
            self, f"{readable(message)}\n  {before}{shown}{after}\n  {' ' * (len(before) + position - start)}^"
        )

    def __reduce__(self) -> tuple[type[ParseError], tuple[str, str, int]]:
        return type(self), (self.reason, self.text, self.position)


class ArgumentError(InputError, TypeError):
    """A parameter that does not exist; the message names the parameter to use instead."""


class MissingPartError(InputError, AttributeError):
    """A fitted model does not hold an attribute that other fits store; the message names it."""


class ClosureError(InputError):
    """An operation is not implied by the closure rules, so the result need not be a kernel."""


class CapabilityError(InputError):
    """A kernel lacks a capability that the caller needs; the message names the term that lacks it."""


class NumericalError(MercerError, ArithmeticError):
    """A computation cannot be completed in floating point."""


class MemoryBudgetError(MercerError, MemoryError):
    """An allocation would not fit the memory budget; nothing was allocated."""


class MissingExtraError(MercerError, ImportError):
    """An optional package is missing; the message names the extra that installs it."""


def describe(value: Any) -> str:
    """Return the type and a short form of a value, for error messages."""
    text = shown(value)
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '…'}"


def shown(value: Any) -> str:
    """Return repr(value), of a NumPy scalar without its type; or the size of an integer that is too large to be printed."""
    try:
        return repr(
            value.item() if type(value).__module__ == "numpy" and hasattr(type(value), "item") and not value.ndim else value
        )
    except ValueError:
        return f"a whole number of {value.bit_length()} bits" if isinstance(value, int) else f"a {type(value).__name__}"


def readable(message: str) -> str:
    """Return a message with plain values instead of NumPy scalars, "1 row" instead of "1 rows", six digits of parameters.

    >>> readable("y holds 1 classes: np.str_('a'), in 21 rows")
    "y holds 1 class: 'a', in 21 rows"
    >>> readable("Gaussian(length_scale=2.1583329294973317) has no finite feature map")
    'Gaussian(length_scale=2.15833) has no finite feature map'
    """
    plain = _PARAMETER.sub(lambda found: _LONG_NUMBER.sub(_six_digits, found[0]), _SCALAR.sub(r"\1", message))
    # "fold 1 names" is not a count
    return _ONE.sub(lambda one: one[0] if one[1] else f"1 {_SINGULAR[one[2]]}", plain)


def _six_digits(number: _re.Match[str]) -> str:
    return f"{float(number[0]):.6g}"


def plural(count: int, noun: str) -> str:
    """Return a count with its noun, for messages.

    >>> plural(1, "column"), plural(12_000, "row")
    ('1 column', '12,000 rows')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def install_command(extra: str) -> str:
    """Return the pip command that adds an extra to this installation of mercer, by how it was installed.

    From a clone, an archive or a version-control address, the command names that place: the name alone could be another
    package of an index.
    """
    from pathlib import Path

    root = Path(_PACKAGE).parents[1]  # of a source tree: src/mercer is two folders below
    if (root / "pyproject.toml").is_file():
        return f'pip install -e "{root}[{extra}]"'
    return f'pip install "{_requirement(extra)}"'


def _requirement(extra: str) -> str:
    """Return what pip was told to install, with an extra: a path, an address, or the name if it came from an index."""
    import json
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import unquote, urlsplit

    try:
        origin = json.loads(distribution("mercer").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        origin = {}
    address = str(origin.get("url", ""))
    if "vcs_info" in origin:
        return f"mercer[{extra}] @ {origin['vcs_info']['vcs']}+{address}"
    if not address.startswith("file:"):
        return f"mercer[{extra}] @ {address}" if address else f"mercer[{extra}]"
    path = unquote(urlsplit(address).path)
    return f"{path}[{extra}]" if _os.path.exists(path) else f".[{extra}]"  # moved: run it in the source folder


def check_whole(owner: str, name: str, value: Any, least: int) -> int:
    """Return a whole number of at least `least`; raise InputError for anything else."""
    if isinstance(value, bool) or not isinstance(value, _Integral) or value < least:
        raise InputError(f"{owner}: {name} must be a whole number >= {least}; got {describe(value)}.")
    return int(value)


def check_choice(owner: str, name: str, value: Any, allowed: Iterable[str]) -> str:
    """Return a value from a list of allowed strings; raise InputError with that list otherwise."""
    words = tuple(allowed)
    if not isinstance(value, str) or value not in words:
        raise InputError(f"{owner}: {name} must be one of {', '.join(words)}; got {shown(value)}.")
    return value


def check_number(owner: str, name: str, value: Any, rule: str, holds: Callable[[float], bool]) -> None:
    """Raise InputError if a parameter is not a number or breaks its rule."""
    try:
        wrong = isinstance(value, bool) or not isinstance(value, _Real) or not holds(float(value))
    except OverflowError:  # a whole number beyond float64
        wrong = True
    if wrong:
        raise InputError(f"{owner}: {name} must be {rule}; got {describe(value)}.")


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning at the line that called mercer: the first frame outside the package."""
    level, frame = 1, _sys._getframe(0)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    _warnings.warn(readable(message), category, stacklevel=level)
