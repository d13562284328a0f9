"""Names of functions inside kernels: what `repr` prints and what `parse` may know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mercer.errors import InputError, shown

_registered: dict[str, Callable[..., Any]] = {}


def register(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a function, or a kernel class of your own, a name that `parse`, `save` and `load` may use; returns it.

    >>> import numpy as np
    >>> import mercer
    >>> square = register("square", lambda X: np.asarray(X) ** 2)
    >>> mercer.parse("Linear().map(square)") == mercer.Linear().map(square)
    True
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise InputError(f"register: a name must be an identifier such as 'log_price'; got {shown(name)}.")
    if not callable(function):
        raise InputError(f"register: {name!r} must name a function; got {shown(function)}.")
    if _registered.get(name, function) is not function:
        raise InputError(f"register: {name!r} already names another function; choose another name.")
    _registered[name] = function
    return function


def check_callable(value: Any, verb: str, shape: str) -> None:
    """Refuse what is no function."""
    if not callable(value):
        raise InputError(f"{verb} takes a function {shape}; got {value!r}.")


def name_of(function: Callable[..., Any]) -> str:
    """The registered name of a function, or the name it was defined with."""
    for name, known in _registered.items():
        if known is function:
            return name
    if not isinstance(function, type) and hasattr(function, "get_params"):  # a kernel used as a function is its text
        return repr(function)
    return str(getattr(function, "__name__", type(function).__name__))


def registered(name: str) -> Callable[..., Any] | None:
    """The function registered under a name, or None."""
    return _registered.get(name)
