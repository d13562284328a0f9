"""Fields of kernels: each states its rule once, and the base class checks it when a kernel is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, field
from numbers import Integral, Real
from typing import Any

import numpy as np

from mercer.errors import InputError, shown

MEDIAN = "median"

#: 1 / length_scale^2 must be a finite number.
SMALLEST = 1e-150

#: The largest whole number that a field takes.
LARGEST = 2**31 - 1


@dataclass(frozen=True)
class Rule:
    """What a field may hold: `coerce` returns the stored value or raises ValueError; `words` says the rule."""

    words: str
    coerce: Callable[[Any], Any]
    free: bool = False  # positive numbers that an optimizer may move, as log(value)

    def check(self, owner: str, name: str, value: Any) -> Any:
        """Return the value as stored, or say which rule it breaks."""
        try:
            return self.coerce(value)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"{owner}: {name} must be {self.words}; got {shown(value)}.") from None


def _field(rule: Rule, default: Any, keyword: bool) -> Any:
    return field(default=default, kw_only=keyword, metadata={"rule": rule})


def positive(default: Any = MISSING, *, keyword: bool = True, free: bool = True) -> Any:
    """A finite number > 0, open to optimization."""
    return _field(Rule("a finite number > 0", lambda v: _number(v, 0.0, strict=True), free=free), default, keyword)


def nonnegative(default: Any = MISSING, *, keyword: bool = True, free: bool = True) -> Any:
    """A finite number >= 0, open to optimization while it is > 0."""
    return _field(Rule("a finite number >= 0", lambda v: _number(v, 0.0), free=free), default, keyword)


def real(default: Any = MISSING, *, keyword: bool = True) -> Any:
    """Any finite number."""
    return _field(Rule("a finite number", lambda v: _number(v, -np.inf)), default, keyword)


def whole(default: Any = MISSING, *, at_least: int, keyword: bool = True) -> Any:
    """A whole number with a lower limit; what needs more than 31 bits would never end anyway."""
    return _field(Rule(f"a whole number >= {at_least} (and below 2^31)", lambda v: _whole(v, at_least)), default, keyword)


def whole_or_none(default: Any = None, *, at_least: int, keyword: bool = True) -> Any:
    """A whole number with a lower limit, or None."""
    words = f"a whole number >= {at_least}, or None"
    return _field(Rule(words, lambda v: None if v is None else _whole(v, at_least)), default, keyword)


def one_or_more(default: Any = None, *, keyword: bool = True) -> Any:
    """A sequence of finite numbers >= 0, or None."""
    return _field(Rule("a sequence of finite numbers >= 0, or None", _weights), default, keyword)


def weights_free(*, keyword: bool = False) -> Any:
    """A sequence of finite numbers >= 0, open to optimization while all are > 0."""
    return _field(Rule("a sequence of finite numbers >= 0", _some_weights, free=True), MISSING, keyword)


def alphabet(default: Any = None, *, keyword: bool = True) -> Any:
    """The letters of a language, each once: a str, a sequence of tokens, or None."""
    return _field(Rule("a str or a sequence of different letters, or None", _alphabet), default, keyword)


def one_of(options: tuple[Any, ...], default: Any = None, *, keyword: bool = True) -> Any:
    """One of a few values."""

    def check(value: Any) -> Any:
        if isinstance(value, bool) or value not in options:
            raise ValueError
        return options[options.index(value)]

    shown = [repr(option) for option in options]
    return _field(Rule(", ".join(shown[:-1]) + " or " + shown[-1], check), default, keyword)


def flag(default: bool, *, keyword: bool = True) -> Any:
    """True or False."""
    return _field(Rule("True or False", _flag), default, keyword)


def length_scale(default: Any = 1.0, *, keyword: bool = True) -> Any:
    """One width, one per column (ARD), or "median": to be taken from the data by `resolve`."""
    words = 'a finite number > 0 (at least 1e-150), a sequence of such numbers (one per column), or "median"'
    return _field(Rule(words, _length_scale, free=True), default, keyword)


def _number(value: Any, above: float, strict: bool = False) -> float:
    if isinstance(value, bool) or not isinstance(value, (Real, np.number)):
        raise ValueError
    number = float(value)
    if not np.isfinite(number) or number < above or (strict and number == above):
        raise ValueError
    return number


def _whole(value: Any, at_least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (Integral, np.integer)) or not at_least <= int(value) <= LARGEST:
        raise ValueError
    return int(value)


def _weights(value: Any) -> tuple[float, ...] | None:
    if value is None:
        return None
    if isinstance(value, str) or np.ndim(value) != 1 or len(value) == 0:
        raise ValueError
    return tuple(_number(v, 0.0) for v in value)


def _some_weights(value: Any) -> tuple[float, ...]:
    found = _weights(value)
    if found is None:
        raise ValueError
    return found


def _alphabet(value: Any) -> str | tuple[Any, ...] | None:
    if value is None:
        return None
    letters = value if isinstance(value, str) else tuple(value)
    if len(letters) == 0 or len(set(letters)) != len(letters):
        raise ValueError
    return letters


def _flag(value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError
    return bool(value)


def _length_scale(value: Any) -> float | tuple[float, ...] | str:
    if isinstance(value, str):
        if value != MEDIAN:
            raise ValueError
        return value
    if isinstance(value, (Sequence, np.ndarray)) and np.ndim(value) == 1:
        if len(value) == 0:
            raise ValueError
        return tuple(_number(v, SMALLEST) for v in value)
    return _number(value, SMALLEST)
