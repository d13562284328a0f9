"""Fields of kernels: each states its rule once, and the base class checks it when a kernel is made."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, dataclass, field
from functools import cache
from inspect import signature
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from mercer.arrays import Floats
from mercer.errors import ArgumentError, InputError, plural, shown
from mercer.kernels.operators import Operators

if TYPE_CHECKING:
    from mercer.kernels.base import Kernel

MEDIAN = "median"

#: 1 / length_scale^2 must be a finite number.
SMALLEST = 1e-150

#: The largest whole number that a field takes.
LARGEST_WHOLE = 2**31 - 1


@dataclass(frozen=True)
class Rule:
    """What a field may hold: `coerce` returns the stored value or raises ValueError; `words` describes the rule."""

    words: str
    coerce: Callable[[Any], Any]
    free: bool = False  # numbers that an optimizer may move, positive ones as log(value)
    signed: bool = False  # free numbers of either sign, which an optimizer moves as they are

    def check(self, owner: str, name: str, value: Any) -> Any:
        """Return the value as stored; raise InputError with the rule if it breaks it."""
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


def whole(default: Any = MISSING, *, at_least: int, at_most: int = LARGEST_WHOLE, keyword: bool = True) -> Any:
    """A whole number within limits; the upper one is there if memory or time grow with the number, whatever the data are."""
    highest = "(and below 2^31)" if at_most == LARGEST_WHOLE else f"and <= {at_most}"
    return _field(Rule(f"a whole number >= {at_least} {highest}", lambda v: _whole(v, at_least, at_most)), default, keyword)


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


def signed_numbers(default: Any = None, *, keyword: bool = True) -> Any:
    """A sequence of finite numbers of either sign, open to optimization, or None."""
    rule = Rule("a sequence of finite numbers, or None", _numbers, free=True, signed=True)
    return _field(rule, default, keyword)


def positive_numbers(default: Any = None, *, keyword: bool = True) -> Any:
    """A sequence of finite numbers > 0, open to optimization, or None."""
    return _field(Rule("a sequence of finite numbers > 0, or None", _positives, free=True), default, keyword)


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


def _whole(value: Any, at_least: int, at_most: int = LARGEST_WHOLE) -> int:
    if isinstance(value, bool) or not isinstance(value, (Integral, np.integer)) or not at_least <= int(value) <= at_most:
        raise ValueError
    return int(value)


def _weights(value: Any) -> tuple[float, ...] | None:
    if value is None:
        return None
    if isinstance(value, str) or np.ndim(value) != 1 or len(value) == 0:
        raise ValueError
    return tuple(_number(v, 0.0) for v in value)


def _numbers(value: Any) -> tuple[float, ...] | None:
    if value is None:
        return None
    if isinstance(value, str) or np.ndim(value) != 1 or len(value) == 0:
        raise ValueError
    return tuple(_number(v, -np.inf) for v in value)


def _positives(value: Any) -> tuple[float, ...] | None:
    found = _numbers(value)
    if found is not None and min(found) <= 0:
        raise ValueError
    return found


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


#: Names of parameters in other libraries, and the fields that they are here.
ELSEWHERE = {
    **dict.fromkeys(("gamma", "sigma", "bandwidth", "lengthscale", "length", "l", "ls", "scale"), ("length_scale",)),
    **dict.fromkeys(("coef0", "c", "bias", "constant"), ("offset",)),
    **dict.fromkeys(("d", "power", "order"), ("degree", "p")),
    **dict.fromkeys(("alpha",), ("shape", "scale")),
    **dict.fromkeys(("k", "n", "length", "word_length"), ("p", "length_scale")),
}


@cache
def _arguments(cls: Any) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
    """Names of the positional arguments of a class, of all its arguments, and whether it takes any number of them."""
    known = list(signature(cls.__init__).parameters.values())[1:]
    positional = tuple(p.name for p in known if p.kind is p.POSITIONAL_OR_KEYWORD)
    return positional, tuple(p.name for p in known), any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in known)


def refuse_arguments(cls: type, args: tuple[Any, ...], given: dict[str, Any]) -> None:
    """Raise an error with advice if a class of kernels has no such argument; missing ones are found by `__init__`."""
    positional, names, any_number = _arguments(cls)
    if any_number:
        return
    signed = f"{cls.__name__}({', '.join([*positional, *(f'{name}=…' for name in names if name not in positional)])})"
    if len(args) > len(positional):
        raise ArgumentError(
            f"{cls.__name__} takes {plural(len(positional), 'positional argument')}, got {len(args)}; write {signed}."
        )
    for name, value in given.items():
        if name not in names:
            raise ArgumentError(
                f"{cls.__name__} has no parameter {name!r}{_advice(cls, names, name, value)}; write {signed}."
            )


def _advice(cls: Any, names: tuple[str, ...], name: str, value: Any) -> str:
    if name == "gamma" and hasattr(cls, "from_gamma"):
        return f": {cls.__name__}.from_gamma({shown(value)}) is exp(-gamma |x - z|^2)"
    here = next((other for other in ELSEWHERE.get(name, ()) if other in names), None)
    here = here or next(iter(difflib.get_close_matches(name, names, 1)), None)
    if here is None:
        return ""
    return ": length_scale is 1 / gamma or 1 / sqrt(gamma) here" if name == "gamma" else f": it is {here} here"


def own_fields(kernel: Kernel) -> dict[str, Any]:
    """The parameters of the node itself, without its children."""
    return {
        item.name: getattr(kernel, item.name)
        for item in dataclasses.fields(kernel)  # type: ignore[arg-type]
        if not item.metadata.get("child")
    }


def get_params(kernel: Kernel, deep: bool) -> dict[str, Any]:
    """Own parameters, and with deep the children by number and their parameters below them."""
    found = own_fields(kernel)
    if deep:
        for number, child in enumerate(kernel.children):
            found[str(number)] = child
            found.update({f"{number}__{name}": value for name, value in get_params(child, True).items()})
    return found


def set_params(kernel: Kernel, params: dict[str, Any]) -> Kernel:
    """Return the kernel with parameters replaced; whole children first, then what lies inside them."""
    own: dict[str, Any] = {}
    children = list(kernel.children)
    below: dict[int, dict[str, Any]] = {}
    for path, value in params.items():
        head, _, rest = path.partition("__")
        if head.isdecimal() and int(head) < len(children):
            if rest:
                below.setdefault(int(head), {})[rest] = value
            else:
                children[int(head)] = _as_child(kernel, path, value)
        elif not rest and head in own_fields(kernel):
            own[head] = value
        else:
            raise InputError(f"{kernel} has no parameter {path!r}; it has {', '.join(get_params(kernel, True)) or 'none'}.")
    for number, inner in below.items():
        children[number] = set_params(children[number], inner)
    changed = dataclasses.replace(kernel, **own) if own else kernel  # type: ignore[type-var]
    return changed.with_children(tuple(children)) if children else changed


def _as_child(kernel: Kernel, path: str, value: Any) -> Kernel:
    if not isinstance(value, Operators):
        raise InputError(f"{kernel}: parameter {path!r} is a kernel; got {value!r}.")
    return cast("Kernel", value)


def free_fields(kernel: Kernel) -> Iterator[tuple[str, Floats, bool]]:
    """The free parameters of one node: name, values (several for ARD length scales), and whether they have signs."""
    for name, signed in _free_names(type(kernel)):
        value = getattr(kernel, name)
        if value is None or isinstance(value, str):  # "median" is not a number yet
            continue
        values = np.atleast_1d(np.asarray(value, dtype=np.float64))
        if signed or (values > 0).all():  # zero has no logarithm: a zero offset or scale stays as written
            yield name, values, signed


@cache
def _free_names(kind: type) -> tuple[tuple[str, bool], ...]:
    """Fields of a class of kernels that can be free parameters, and whether they have signs."""
    rules = ((item.name, item.metadata.get("rule")) for item in dataclasses.fields(kind))
    return tuple((name, rule.signed) for name, rule in rules if rule is not None and rule.free)


def n_own(kernel: Kernel) -> int:
    """How many entries of theta belong to the node itself."""
    return sum(len(values) for _, values, _ in free_fields(kernel))


def theta(kernel: Kernel) -> Floats:
    """The free parameters, positive ones as logarithms; the node's own first, then its children's."""
    own = [values if signed else np.log(values) for _, values, signed in free_fields(kernel)]
    return np.concatenate([*own, *[theta(child) for child in kernel.children], np.empty(0)])


def theta_names(kernel: Kernel) -> list[str]:
    """Parameter paths in the order of theta; ARD entries get an index in square brackets."""
    names = []
    for name, values, _ in free_fields(kernel):
        several = isinstance(getattr(kernel, name), tuple)
        names += [f"{name}[{i}]" for i in range(len(values))] if several else [name]
    for number, child in enumerate(kernel.children):
        names += [f"{number}__{name}" for name in theta_names(child)]
    return names


def signed_entries(kernel: Kernel) -> list[bool]:
    """Which entries of theta are numbers of either sign; the others are logarithms."""
    own = [signed for _, values, signed in free_fields(kernel) for _ in values]
    return own + [entry for child in kernel.children for entry in signed_entries(child)]


def plain_values(kernel: Kernel, vector: Floats) -> Floats:  # (p,) -> (p,)
    """The parameters that a theta stands for."""
    mask = np.array(signed_entries(kernel), dtype=bool)
    return np.where(mask, vector, np.exp(np.where(mask, 0.0, vector)))


def with_theta(kernel: Kernel, vector: Floats) -> Kernel:
    """The inverse of theta."""
    size = len(theta(kernel))
    if vector.shape != (size,):
        raise InputError(f"theta of {kernel} has {size} entries; got shape {vector.shape}.")
    own: dict[str, Any] = {}
    position = 0
    for name, values, signed in free_fields(kernel):
        part = vector[position : position + len(values)]
        numbers = part if signed else np.exp(part)
        own[name] = tuple(numbers.tolist()) if isinstance(getattr(kernel, name), tuple) else float(numbers[0])
        position += len(values)
    children = []
    for child in kernel.children:
        step = len(theta(child))
        children.append(with_theta(child, vector[position : position + step]))
        position += step
    changed = dataclasses.replace(kernel, **own) if own else kernel  # type: ignore[type-var]
    return changed.with_children(tuple(children)) if children else changed
