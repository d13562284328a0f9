"""Everything mercer raises on purpose.

    MercerError
    ├── InputError (ValueError)            what came in breaks a rule
    │   ├── ParseError                     a text is not a kernel expression
    │   ├── ArgumentError (TypeError)      a parameter that does not exist, as gamma of an estimator
    │   ├── ClosureError                   an operation the closure rules do not cover: k1 - k2, -2 * k, k ** 0.5
    │   └── CapabilityError                a kernel lacks what an algorithm needs (finite features, a gradient, …)
    ├── NumericalError (ArithmeticError)   a computation cannot be carried through
    ├── MemoryBudgetError (MemoryError)    the result does not fit; refused before anything is allocated
    └── MissingExtraError (ImportError)    an optional package is not installed

A message names the object, the rule, what came and what to do.
"""

from __future__ import annotations

from numbers import Integral as _Integral
from numbers import Real as _Real
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

#: Characters of a long text that are shown around the place where reading stopped.
CONTEXT = 1000


class MercerError(Exception):
    """Base of all errors that mercer raises on purpose."""


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
        super().__init__(f"{message}\n  {before}{shown}{after}\n  {' ' * (len(before) + position - start)}^")

    def __reduce__(self) -> tuple[type[ParseError], tuple[str, str, int]]:
        return type(self), (self.reason, self.text, self.position)


class ArgumentError(InputError, TypeError):
    """A parameter that does not exist; the message names the one that does its job."""


class ClosureError(InputError):
    """An operation is not implied by the closure rules, so the result need not be a kernel."""


class CapabilityError(InputError):
    """A kernel lacks a capability that the caller needs; the message names the term that lacks it."""


class NumericalError(MercerError, ArithmeticError):
    """A computation cannot be carried through in floating point."""


class MemoryBudgetError(MercerError, MemoryError):
    """An allocation would not fit the memory budget; nothing was allocated."""


class MissingExtraError(MercerError, ImportError):
    """An optional package is missing; the message says which extra brings it."""


def describe(value: Any) -> str:
    """Return the type and a short form of a value, for error messages."""
    text = shown(value)
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '…'}"


def shown(value: Any) -> str:
    """Return repr(value), or its size where Python refuses to write a whole number out."""
    try:
        return repr(value)
    except ValueError:
        return f"a whole number of {value.bit_length()} bits" if isinstance(value, int) else f"a {type(value).__name__}"


def check_whole(owner: str, name: str, value: Any, least: int) -> int:
    """Return a whole number of at least `least`, or refuse what it is not."""
    if isinstance(value, bool) or not isinstance(value, _Integral) or value < least:
        raise InputError(f"{owner}: {name} must be a whole number >= {least}; got {describe(value)}.")
    return int(value)


def check_choice(owner: str, name: str, value: Any, allowed: Iterable[str]) -> str:
    """Return a word that is allowed, or refuse it with the list of those that are."""
    words = tuple(allowed)
    if not isinstance(value, str) or value not in words:
        raise InputError(f"{owner}: {name} must be one of {', '.join(words)}; got {shown(value)}.")
    return value


def check_number(owner: str, name: str, value: Any, rule: str, holds: Callable[[float], bool]) -> None:
    """Refuse a parameter that is no number, or breaks its rule."""
    if isinstance(value, bool) or not isinstance(value, _Real) or not holds(float(value)):
        raise InputError(f"{owner}: {name} must be {rule}; got {describe(value)}.")
