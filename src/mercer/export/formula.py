"""The formula of a kernel as a graph of operations, read off `Kernel.formula` by an arithmetic that records.

Every kernel states its formula once, `k.formula(x, z, m)`, in an abstract arithmetic m. Here the numbers of m are
symbols: an operation on symbols returns the symbol of its result, equal operations the same symbol, and operations on
constants are done. A kernel without a formula raises CapabilityError, which names the term.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.arrays import Array, Floats
from mercer.errors import CapabilityError
from mercer.kernels.base import Kernel


def _quotient(a: Any, b: Any) -> Any:
    """Return a / b, and 0 for b = 0: normalized kernels are 0 where a norm is 0, and no other denominator is."""
    return np.divide(a, b, out=np.zeros(np.broadcast_shapes(np.shape(a), np.shape(b))), where=np.asarray(b) != 0)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": _quotient, "exp": np.exp, "sqrt": np.sqrt,
    "tanh": np.tanh, "sin": np.sin, "log": np.log, "abs": np.abs, "pow": np.power,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Symbol:
    """A number of the recording arithmetic: an operation on other symbols, a coordinate of x or z, or a constant."""

    owner: Formula
    op: str  # a key of FUNCTIONS, "x", "z" or "const"
    args: tuple[Symbol, ...] = ()
    index: int = 0  # of a coordinate
    value: Any = None  # of a constant: a number, or a (1, n) array with one number per known row

    def __add__(self, other: Symbol) -> Symbol:
        return self.owner.make("add", self, other)

    def __sub__(self, other: Symbol) -> Symbol:
        return self.owner.make("sub", self, other)

    def __mul__(self, other: Symbol) -> Symbol:
        return self.owner.make("mul", self, other)

    def __truediv__(self, other: Symbol) -> Symbol:
        return self.owner.make("div", self, other)

    def __neg__(self) -> Symbol:
        return self.owner.number(-1.0) * self


@dataclass
class Formula:
    """The arithmetic whose numbers are symbols; it remembers operations, so that each is made once.

    >>> m = Formula()
    >>> x = [m.coordinate("x", 0)]
    >>> (x[0] * x[0]) is (x[0] * x[0]), (m.number(2.0) * m.number(3.0)).value
    (True, 6.0)
    """

    made: dict[Any, Symbol] = field(default_factory=dict)

    def coordinate(self, which: str, index: int) -> Symbol:
        """Return a coordinate of x or z."""
        return self.made.setdefault((which, index), Symbol(self, which, index=index))

    def constant(self, value: Any) -> Symbol:
        """Return a constant: a number, or an array with one number per known row."""
        value = value if isinstance(value, np.ndarray) and value.ndim else float(value)
        key = ("const", value.tobytes() if isinstance(value, np.ndarray) else value)
        return self.made.setdefault(key, Symbol(self, "const", value=value))

    def make(self, op: str, *args: Symbol) -> Symbol:
        """Return the symbol of an operation; constants are computed, and 0 + a, 1 a are a."""
        values = [arg.value for arg in args]
        if all(arg.op == "const" for arg in args):
            return self.constant(FUNCTIONS[op](*values))
        for i, neutral in ((0, {"add": 0.0, "mul": 1.0}), (1, {"add": 0.0, "sub": 0.0, "mul": 1.0, "div": 1.0})):
            if len(args) == 2 and args[i].op == "const" and np.ndim(values[i]) == 0 and values[i] == neutral.get(op):
                return args[1 - i]
        key = (op, *map(id, args))
        return self.made.setdefault(key, Symbol(self, op, args))

    def number(self, value: float) -> Symbol:
        """Return a float as a symbol."""
        return self.constant(value)

    def pi(self) -> Symbol:
        """The ratio of a circle's circumference to its diameter."""
        return self.constant(math.pi)

    def exp(self, x: Symbol) -> Symbol:
        """e to the x."""
        return self.make("exp", x)

    def sqrt(self, x: Symbol) -> Symbol:
        """The square root."""
        return self.make("sqrt", x)

    def tanh(self, x: Symbol) -> Symbol:
        """The hyperbolic tangent."""
        return self.make("tanh", x)

    def sin(self, x: Symbol) -> Symbol:
        """The sine."""
        return self.make("sin", x)

    def log(self, x: Symbol) -> Symbol:
        """The natural logarithm."""
        return self.make("log", x)

    def absolute(self, x: Symbol) -> Symbol:
        """|x|."""
        return self.make("abs", x)

    def power(self, x: Symbol, exponent: float) -> Symbol:
        """x to a constant power."""
        return self.make("pow", x, self.constant(exponent))


def with_rows(kernel: Kernel, X: Floats) -> Symbol:  # (n, d)
    """Return k(x, z) for a symbolic x and all known rows z at once, whose coordinates are constants of shape (1, n)."""
    m = Formula()
    x = [m.coordinate("x", j) for j in range(X.shape[1])]
    z = [m.constant(np.ascontiguousarray(column)[None, :]) for column in X.T]
    return _formula(kernel, x, z, m)


def with_cells(kernel: Kernel, column: int, cells: Floats) -> Symbol:  # (n,)
    """Return k(x, z) of a kernel that reads one column, for a symbolic cell x and all known cells z at once."""
    m = Formula()
    return _formula(kernel, {column: m.coordinate("x", 0)}, {column: m.constant(cells[None, :])}, m)


def with_itself(kernel: Kernel, width: int) -> Symbol:
    """Return k(x, x) for a symbolic x."""
    m = Formula()
    x = [m.coordinate("x", j) for j in range(width)]
    return _formula(kernel, x, x, m)


def of_two(kernel: Kernel, width: int) -> Symbol:
    """Return k(x, z) for symbolic x and z."""
    m = Formula()
    return _formula(kernel, [m.coordinate("x", j) for j in range(width)], [m.coordinate("z", j) for j in range(width)], m)


def _formula(kernel: Kernel, x: Any, z: Any, m: Formula) -> Symbol:
    if not kernel.domains <= {"vectors", "any"}:
        raise CapabilityError(
            f"{kernel} compares {', '.join(sorted(kernel.domains - {'vectors', 'any'}))}; models on vectors can be exported."
        )
    try:
        found: Symbol = kernel.formula(x, z, m)
    except CapabilityError as error:
        raise CapabilityError(f"{error} A model can be exported if every term of its kernel has one.") from None
    return found


def in_order(last: Symbol) -> list[Symbol]:
    """Return the symbols that a symbol is made of, each after its arguments, itself last."""
    found: dict[int, Symbol] = {}
    waiting: list[tuple[Symbol, bool]] = [(last, False)]
    while waiting:
        symbol, ready = waiting.pop()
        if id(symbol) in found:
            continue
        if ready:
            found[id(symbol)] = symbol
        else:
            waiting += [(symbol, True), *((arg, False) for arg in symbol.args)]
    return list(found.values())


def as_rows(X: Any, what: str) -> Array:
    """Return the known rows of a model as a dense float64 array; CapabilityError if they are no vectors."""
    dense = X.toarray() if "toarray" in dir(X) else X
    array = np.asarray(dense)
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise CapabilityError(f"{what}: models on vectors can be exported, and this one was fitted to other objects.")
    return array.astype(np.float64)
