"""Arrays that add rounding noise to every NumPy operation: they show how exact a Python function of vectors is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

#: Functions and methods that only move, choose or compare values: their results are exact.
EXACT = frozenset(
    (
        *("where", "take", "diagonal", "diag", "triu", "tril", "clip", "abs", "max", "min", "amax", "amin", "sort", "copy"),
        *(
            "concatenate",
            "stack",
            "vstack",
            "hstack",
            "column_stack",
            "repeat",
            "tile",
            "flip",
            "reshape",
            "ravel",
            "flatten",
        ),
        *("transpose", "swapaxes", "moveaxis", "squeeze", "expand_dims", "broadcast_to", "atleast_1d", "atleast_2d"),
        *("zeros_like", "ones_like", "full_like", "shape", "ndim", "size", "argmax", "argmin", "argsort", "any", "all"),
    )
)

#: Linear functions: their error is proportional to the same function of absolute values.
LINEAR = frozenset(("sum", "mean", "dot", "inner", "outer", "einsum", "tensordot", "vdot", "trace", "cumsum", "average"))

#: Other functions whose relative error is a few rounding units.
ACCURATE = frozenset(("norm", "prod", "cumprod", "astype"))

#: Ufuncs with exact results, apart from comparisons and logic, whose results are not floats.
EXACT_UFUNCS = frozenset(("negative", "positive", "absolute", "maximum", "minimum", "fmax", "fmin", "floor", "ceil", "sign"))

#: A plain number below this may be what is left of larger ones that cancelled where nothing was observed: none of its digits
#: is certain, such as those of the mean of k(B, B) in a formula that centers on rows B.
REMAINDER = 1e-12

#: Operations without rounding error on whole numbers, as long as the result is one that a float can hold.
WHOLE = frozenset(("add", "subtract", "multiply", "square", "power", "matmul"))


class Observer:
    """Wraps the arguments of a function, and finds out whether all of its work was done by known operations on them."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.complete = True

    def call(self, f: Callable[[Any, Any], Any], X: Any, Z: Any) -> Any:
        """f(X, Z) with rounding noise; `complete` becomes False if f leaves the wrapped arrays or fails on them."""
        if not (_floats(X) and _floats(Z)):
            self.complete = False
            return f(X, Z)
        try:
            result = f(Observed(X.copy(), self), Observed(Z.copy(), self))
        except Exception:  # the function requires a true array, or uses what is not wrapped here
            self.complete = False
            return f(X, Z)
        if not _wrapped(result):
            self.complete = False
        return _bare(result)

    def noisy(self, exact: Any, size: Any) -> Any:
        """`exact` with noise of one to two rounding units of `size`, wrapped."""
        if isinstance(exact, tuple):
            return tuple(self.noisy(part, part) for part in exact)
        values = np.asarray(exact)
        if values.dtype.kind == "f":
            unit = np.finfo(values.dtype).eps
            # at least one unit: what is smaller would be rounded away
            noise = self.rng.choice([-unit, unit], values.shape) * self.rng.uniform(1.0, 2.0, values.shape) * np.abs(size)
            values = (values + noise).astype(values.dtype)
        return Observed(values, self)

    def apply(self, name: str, call: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """call(*args, **kwargs) with the noise that the function of this name has."""
        exact = call(*_bare(args), **_bare(kwargs))
        if name in LINEAR:
            return self.noisy(exact, call(*_absolute(args), **_absolute(kwargs)))
        if name in EXACT:
            return self.noisy(exact, 0.0)
        if name not in ACCURATE:
            self.complete = False
        return self.noisy(exact, exact)


class Observed(np.lib.mixins.NDArrayOperatorsMixin):
    """An array whose operations are carried out by NumPy, with rounding noise on the results."""

    def __init__(self, array: Any, observer: Observer) -> None:
        self.array = array
        self.observer = observer

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        if method == "at":
            self.observer.complete = False
            return ufunc.at(*_bare(inputs), **_bare(kwargs))
        call = ufunc if method == "__call__" else getattr(ufunc, method)
        exact = call(*_bare(inputs), **_bare(kwargs))
        result = self.observer.noisy(exact, _error_size(ufunc, method, call, inputs, kwargs, exact))
        if out is None:
            return result
        target = out[0]
        if isinstance(target, Observed):
            target.array[...] = result.array
        else:
            self.observer.complete = False
            target[...] = result.array
        return target

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return self.observer.apply(function.__name__, function, args, kwargs)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        self.observer.complete = False
        return np.array(self.array, dtype=dtype)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(self.array, name)
        if name in ("shape", "ndim", "size", "dtype", "nbytes", "itemsize", "strides"):
            return found
        if not callable(found):
            return Observed(found, self.observer) if name == "T" else self._left(found)

        def method(*args: Any, **kwargs: Any) -> Any:
            def call(array: Any, *rest: Any, **options: Any) -> Any:
                return getattr(array, name)(*rest, **options)

            return self.observer.apply(name, call, (self, *args), kwargs)

        return method

    def _left(self, value: Any) -> Any:
        self.observer.complete = False
        return value

    def __getitem__(self, place: Any) -> Any:
        return Observed(np.asarray(self.array[_bare(place)]), self.observer)

    def __setitem__(self, place: Any, value: Any) -> None:
        self.array[_bare(place)] = _bare(value)

    def __len__(self) -> int:
        return len(self.array)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self.array)))

    def __bool__(self) -> bool:
        return bool(self.array)

    def __int__(self) -> int:
        return int(self._left(self.array))

    def __index__(self) -> int:
        return int(self.array.__index__())

    def __float__(self) -> float:
        return float(self._left(self.array))


def _error_size(ufunc: Any, method: str, call: Any, inputs: Any, kwargs: Any, exact: Any) -> Any:
    """Return the size to which the rounding error of an operation is proportional."""
    if ufunc.__name__ in EXACT_UFUNCS:
        return 0.0
    whole = ufunc.__name__ in WHOLE and all(_whole(part) for part in _bare(inputs))
    size = exact
    if ufunc is np.matmul or (ufunc is np.add and method == "reduce"):
        size = call(*_absolute(inputs), **_absolute(kwargs))
    if ufunc in (np.add, np.subtract) and method == "__call__":
        size = np.abs(size) + sum(_uncertain(part, exact) for part in inputs)
    return 0.0 if whole and np.max(np.abs(size), initial=0.0) < 2.0**20 else size


def _uncertain(part: Any, exact: Any) -> Any:
    """Return the error of a plain number that is added, in units of rounding: all of it, if it is tiny."""
    if isinstance(part, Observed) or np.asarray(part).dtype.kind != "f" or np.asarray(exact).dtype.kind != "f":
        return 0.0
    value = np.abs(np.asarray(part, dtype=np.float64))
    return np.where(value < REMAINDER, value / np.finfo(np.asarray(exact).dtype).eps, 0.0)


def _whole(values: Any) -> bool:
    return np.array_equal(values, np.rint(values))


def _floats(X: Any) -> bool:
    return isinstance(X, np.ndarray) and X.dtype.kind == "f"


def _wrapped(result: Any) -> bool:
    if isinstance(result, (list, tuple)):
        return all(_wrapped(part) for part in result)
    return isinstance(result, Observed)


def _bare(value: Any) -> Any:
    """Return the same structure with plain arrays."""
    if isinstance(value, Observed):
        return value.array
    if isinstance(value, (list, tuple)):
        return type(value)(_bare(part) for part in value)
    if isinstance(value, dict):
        return {key: _bare(part) for key, part in value.items()}
    return value


def _absolute(value: Any) -> Any:
    """Return the same structure with absolute values of arrays."""
    if isinstance(value, Observed):
        value = value.array
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return np.abs(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_absolute(part) for part in value)
    if isinstance(value, dict):
        return {key: _absolute(part) for key, part in value.items()}
    return value
