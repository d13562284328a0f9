"""Functions in kernels: their registered names, and kernels whose values come from a function or a given matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError, shown
from mercer.inputs import Rows
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Pair
from mercer.numeric.encodings import Encoding, Given, Raw

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
    """Raise if the value is not a function."""
    if not callable(value):
        raise InputError(f"{verb} takes a function {shape}; got {value!r}.")


def name_of(function: Callable[..., Any]) -> str:
    """The registered name of a function, or the name it was defined with."""
    for name, known in _registered.items():
        if known is function:
            return name
    if isinstance(function, Kernel):  # a kernel used as a function is its text
        return repr(function)
    return str(getattr(function, "__name__", type(function).__name__))


def registered(name: str) -> Callable[..., Any] | None:
    """The function registered under a name, or None."""
    return _registered.get(name)


@dataclass(frozen=True, repr=False)
class Function(Kernel):
    """A function f(X, Z) -> (n, m) of two collections. `certificate` checks whether it is a kernel.

    f is called with slices of the collections as they came in, possibly from several threads at once.

    >>> import numpy as np
    >>> def minus_inner(X, Z):
    ...     return -X @ Z.T
    >>> Function(minus_inner).certificate().status
    'invalid'
    """

    f: Callable[[Any, Any], Any] = field()
    domain = "any"
    symmetric = False

    def __post_init__(self) -> None:
        if not callable(self.f):
            raise InputError(f"Function takes a function f(X, Z) -> (n, m); got {shown(self.f)}.")

    def _encode(self, rows: Rows) -> Encoding:
        return Raw(rows)

    def _block(self, pair: Pair) -> Array:
        return self._values(pair.left.rows.data, pair.right.rows.data, pair.shape)

    def _diag(self, encoding: Encoding) -> Array:
        one = [encoding.take(slice(i, i + 1)).rows.data for i in range(len(encoding))]
        return np.array([self._values(x, x, (1, 1))[0, 0] for x in one])

    def _values(self, X: Any, Z: Any, shape: tuple[int, int]) -> Array:
        values = np.array(self.f(X, Z), dtype=np.float64)
        if values.shape != shape:
            raise InputError(
                f"Function: {name_of(self.f)}(X, Z) returned shape {values.shape} for {shape[0]} and {shape[1]} objects; "
                f"it must return {shape}."
            )
        if not np.isfinite(values).all():
            raise InputError(f"Function: {name_of(self.f)}(X, Z) returned NaN or infinite values.")
        return values

    def calling(self, wrap: Callable[[Callable[[Any, Any], Any]], Callable[[Any, Any], Any]]) -> Kernel:
        return Function(wrap(self.f))

    def _text(self) -> str:
        return f"Function({name_of(self.f)})"


@dataclass(frozen=True, repr=False)
class Precomputed(Kernel):
    """X holds kernel values: rows of K against the training set, so k(X) is X, square, and k(X, training) is X.

    It combines only with scalars and its kind.

    >>> import numpy as np
    >>> K = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> bool(np.all((3.0 * Precomputed())(K) == 3.0 * K))
    True
    """

    domain = "precomputed"
    symmetric = False

    def _encode(self, rows: Rows) -> Encoding:
        return rows.remember("given", lambda: Given(*rows.given()))

    def _block(self, pair: Pair) -> Array:
        return np.asarray(pair.A.between(pair.rows, pair.B, pair.cols))

    def _diag(self, encoding: Encoding) -> Array:
        return np.asarray(encoding.diag())
