"""Rules for the parts of a fitted model, which are checked when a model file is loaded.

A class that a file can hold declares rules in `_stored`: a dictionary of attribute -> rule, merged over its base classes. A
path with dots refers to a field of a record. The rules are texts, so a class imports nothing for them.

    "float (n, *t)"     a float32 or float64 array, finite; n is the same number wherever it is named, *t the same axes
    "real (n,)"         the same, NaN and infinity allowed
    "int (m,) < n"      whole numbers 0, …, n - 1; ">= 0", "> 0", "sum S" and "codes C" (-1: none) too
    "triangle (m, m)"   a triangular factor: finite, no zero on its diagonal
    "complex (n,)"      complex numbers, finite
    "bool (n,)"         flags
    "array"             numbers in an array of any shape
    "labels (C,)"       names or numbers of classes
    "rows n d"          a collection of n objects; d columns, where it has columns
    "size d"            the number d itself
    "kernel", "text"    a kernel, a text; "flag": True or False; "word standard quantile": one of these texts
    "a Ball"            a record of that class, or of one of several: "a Ball, Disk"
    "each C: …"         a list or tuple of C values; _ instead of a name stands for any number
    "… | None | absent" one of several rules; an attribute that is not there

Without a shape, "float", "real", "int" are single numbers. A field of a record that `_stored` does not name is what its
annotation says: texts, flags, numbers, kernels, other records and tuples of these. Conditions between parts, which no rule
can express, are checked in `_check_loaded(self)`, which is called after the rules and raises an InputError.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.errors import InputError, describe
from mercer.inputs import count, is_frame
from mercer.kernels.base import Kernel
from mercer.registry import find_record, is_record, left_out

Sizes = dict[str, Any]  # name of a size -> int, or a tuple for starred ones

_ABSENT = object()

#: Types of numbers that loops are compiled for; others would fail, or be copied in every call.
_FLOATS = ("f4", "f8")
_TYPES = {
    "float": _FLOATS, "real": _FLOATS, "triangle": _FLOATS, "complex": ("c8", "c16"), "int": ("i4", "i8"), "bool": ("b1",),
}  # fmt: skip
_LABEL_KINDS = "biufUSO"

#: Whole numbers are smaller: others fit no array, and the largest no float.
LARGEST = 2**63

#: Sizes that follow from others.
_FORMULAS: dict[str, Callable[[int], Any]] = {
    "pairs": lambda c: c * (c - 1) // 2,
    "problems": lambda c: 1 if c == 2 else c,  # one against the rest
    "functions": lambda c: () if c == 2 else (c,),
}

#: Rules for annotations of the fields of records.
_ANNOTATED = {
    "str": "text", "bool": "flag", "int": "int", "float": "real", "Kernel": "kernel", "None": "None",
    "Array": "array", "Floats": "array",
}  # fmt: skip

_RULE = re.compile(r"(?P<kind>\w+)(?: \((?P<shape>[^)]*(?:\(\w+\))?[^)]*)\))?(?P<limits>(?: (?:<|>=|>|sum|codes) \S+)*)")


class UnfitError(Exception):
    """A part that breaks its rule; the message is the reason."""


def check_stored(value: Any) -> None:
    """Raise if a part of a loaded object breaks a rule of its class."""
    rules = dict(_annotated(type(value))) if is_record(value) else {}  # type: ignore[arg-type]
    for kind in reversed(type(value).__mro__):
        own = vars(kind).get("_stored", {})
        rules = {path: rule for path, rule in rules.items() if path not in own} | own  # own rules name sizes in their order
    sizes: Sizes = {}
    for path, rule in rules.items():
        check_part(_found(value, path), rule, sizes, f"{type(value).__name__}.{path}", value)
    check = inspect.getattr_static(type(value), "_check_loaded", None)
    if check is not None:
        check(value)


@cache
def _annotated(kind: Any) -> dict[str, str]:
    """Return the rules given by the annotations of a record; arrays and untyped fields have none."""
    found = {}
    for field in dataclasses.fields(kind):
        rules = [_rule_of(word) for word in str(field.type).split(" | ")]
        if None not in rules:
            found[field.name] = " | ".join([*filter(None, rules), *["None"] * (field.name in left_out(kind))])
    return found


def _rule_of(annotation: str) -> str | None:
    several = re.fullmatch(r"tuple\[(\w+), \.\.\.\]", annotation)
    if several is not None:
        inner = _rule_of(several[1])
        return inner and f"each _: {inner}"
    return _ANNOTATED.get(annotation) or (f"a {annotation}" if find_record(annotation) is not None else None)


def check_part(part: Any, rule: str, sizes: Sizes, name: str, owner: Any = None) -> None:
    """Raise if a part satisfies none of the alternatives of a rule; store the sizes that it names."""
    reasons = []
    for alternative in rule.split(" | "):
        attempt = dict(sizes)
        try:
            _check(part, alternative.strip(), attempt, owner)
        except UnfitError as error:
            reasons.append(str(error))
        else:
            sizes.update(attempt)
            return
    if part is _ABSENT:
        raise InputError(f"{name} is missing; the file is damaged or was changed.")
    raise InputError(f"{name} must be {rule}; the file holds {describe(part)} ({reasons[0]}). It is damaged or was changed.")


def _found(value: Any, path: str) -> Any:
    for name in path.split("."):
        inside = value if isinstance(value, dict) else _attributes(value)
        if name not in inside:
            return _ABSENT
        value = inside[name]
    return value


def _attributes(value: Any) -> dict[str, Any]:
    try:
        return vars(value)
    except TypeError:  # a number, a text, a list
        return {}


def _check(part: Any, rule: str, sizes: Sizes, owner: Any) -> None:
    if rule.startswith("each "):
        return _check_each(part, rule, sizes, owner)
    word, _, rest = rule.partition(" ")
    plain = {"None": part is None, "absent": part is _ABSENT, "kernel": isinstance(part, Kernel)}
    plain |= {"text": isinstance(part, str), "flag": isinstance(part, (bool, np.bool_))}
    plain |= {"array": isinstance(part, (np.ndarray, np.number)) and part.dtype.kind in "biufc"}
    if word in plain:
        _want(plain[word], f"not {word}")
    elif word == "a":
        _want(type(part).__name__ in rest.split(", "), f"not {rest}")
    elif word == "word":
        _want(isinstance(part, str) and part in rest.split(), f"not one of {rest}")
    elif word == "size":
        whole = isinstance(part, (int, np.integer)) and not isinstance(part, bool)
        _want(whole and 0 <= part < LARGEST, "not a size")
        _bind(rest, int(part), sizes)
    elif word == "rows":
        _check_rows(part, rest.split(), sizes, owner)
    else:
        _check_array(part, _parsed(rule), sizes)


def _check_each(part: Any, rule: str, sizes: Sizes, owner: Any) -> None:
    head, _, inner = rule.partition(": ")
    _want(isinstance(part, (list, tuple)), "no list")
    _bind(head.split()[1], len(part), sizes)
    for item in part:
        _check(item, inner, sizes, owner)


def _check_rows(part: Any, names: list[str], sizes: Sizes, owner: Any) -> None:
    array = isinstance(part, np.ndarray)
    _want(array or isinstance(part, (list, tuple)) or sp.issparse(part) or is_frame(part), "no collection")
    if array:
        _want(part.ndim in (1, 2) and part.dtype.kind in "fiubUO" and part.dtype.isnative, "no table or list of objects")
        if part.dtype.kind in "iu":
            _want(part.size == 0 or part.min() >= 0, "a negative place")
    numbers = part if array else part.data if sp.issparse(part) else None
    _want(numbers is None or array or numbers.dtype.kind in "fiub", "no numbers")
    if numbers is not None and numbers.dtype.kind == "f":
        _want(part.ndim == 2 and numbers.dtype.str[1:] in _TYPES["float"], "no table of float32 or float64")
        holes = _takes_holes(owner)
        _want(not np.isinf(numbers).any() and (holes or not np.isnan(numbers).any()), "not finite")
    _bind(names[0], count(part), sizes)
    shape: Any = () if isinstance(part, (list, tuple)) else part.shape
    if len(names) > 1 and len(shape) == 2:
        _bind(names[1], int(shape[1]), sizes)


def _takes_holes(owner: Any) -> bool:
    """Whether missing cells are allowed: in tables, if the kernel has a rule for them."""
    found = _attributes(owner)
    kernel = found.get("kernel_", found.get("kernel"))
    return isinstance(kernel, Kernel) and "table" in kernel.views


@cache
def _parsed(rule: str) -> tuple[str, tuple[str, ...] | None, tuple[str, ...]]:
    found = _RULE.fullmatch(rule)
    assert found is not None, f"no rule: {rule!r}"
    shape = found["shape"]
    axes = None if shape is None else tuple(axis.strip() for axis in shape.split(",") if axis.strip())
    return found["kind"], axes, tuple(found["limits"].split())


def _check_array(part: Any, parsed: tuple[str, tuple[str, ...] | None, tuple[str, ...]], sizes: Sizes) -> None:
    kind, axes, limits = parsed
    if axes is None:
        _check_number(part, kind)
        values = np.asarray(part)
    else:
        number = isinstance(part, (int, float, complex, np.number)) and not isinstance(part, (bool, np.timedelta64))
        single = number and len(axes) == 1 and axes[0].startswith("*")  # an array without axes may be kept as a number
        _want(isinstance(part, np.ndarray) or single, "no array")
        real = kind in ("float", "real") and not isinstance(part, (complex, np.complexfloating))
        values = np.asarray(part, dtype=np.float64 if single and real else None)
        if kind == "labels":
            _want(values.dtype.kind in _LABEL_KINDS, "no labels")
        else:
            _want(values.dtype.isnative and values.dtype.str[1:] in _TYPES[kind], f"not of type {kind}")
        _check_shape(values.shape, axes, sizes)
    if kind in ("float", "complex", "triangle") or (kind == "labels" and values.dtype.kind == "f"):
        _want(bool(np.isfinite(values).all()), "not finite")
    if kind == "triangle":
        _want(bool(values.diagonal().all()), "a zero on the diagonal")
    for sign, limit in zip(limits[::2], limits[1::2], strict=True):
        _check_limit(values, sign, _size(limit, sizes))


def _check_number(part: Any, kind: str) -> None:
    if isinstance(part, np.ndarray):
        _want(part.shape == (), "no single number")
        part = part[()]
    whole = isinstance(part, (int, np.integer))
    _want(
        not isinstance(part, (bool, np.bool_)) and (whole or (kind != "int" and isinstance(part, (float, np.floating)))),
        "no number",
    )
    _want(not whole or abs(int(part)) < LARGEST, "beyond 64 bits")
    _want(kind != "float" or math.isfinite(part), "not finite")


def _check_shape(shape: tuple[int, ...], axes: tuple[str, ...], sizes: Sizes) -> None:
    starred = bool(axes) and axes[-1].startswith("*")
    fixed = axes[:-1] if starred else axes
    _want(len(shape) >= len(fixed) if starred else len(shape) == len(fixed), f"shape {shape}")
    for axis, size in zip(fixed, shape, strict=False):
        _bind(axis, size, sizes)
    if starred:
        _bind(axes[-1][1:], shape[len(fixed) :], sizes)


def _bind(axis: str, size: Any, sizes: Sizes) -> None:
    """Store a size under its name, or compare it with the stored one."""
    if axis == "_":
        return
    wanted = sizes.setdefault(axis, size) if axis.isalpha() else _size(axis, sizes)
    _want(wanted == size, f"{axis} is {size} here and {wanted} elsewhere")


def _size(text: str, sizes: Sizes) -> Any:
    """Return the value of a size such as "3", "n", "C-1", "t+q", "pairs(C)"."""
    formula, _, inner = text.rstrip(")").partition("(")
    if inner:
        return _FORMULAS[formula](_size(inner, sizes))
    first, sign, second = re.fullmatch(r"(\w+)(?:([+-])(\w+))?", text).groups()  # type: ignore[union-attr]
    numbers = [int(word) if word.isdigit() else sizes[word] for word in (first, second or "0")]
    return numbers[0] - numbers[1] if sign == "-" else sum(numbers) if second else numbers[0]


def _check_limit(values: Any, sign: str, limit: Any) -> None:
    if sign == "sum":
        return _want(int(values.sum()) == limit, f"a sum other than {limit}")
    if values.size == 0:
        return
    if sign == "<":
        _want(values.min() >= 0 and values.max() < limit, f"outside 0 … {limit - 1}")
    elif sign == "codes":
        _want(values.min() >= -1 and values.max() < limit, f"outside -1 … {limit - 1}")
    elif sign == ">=":
        _want(values.min() >= limit, f"below {limit}")
    else:
        _want(values.min() > limit, f"not above {limit}")


def _want(true: Any, reason: str) -> None:
    if not true:
        raise UnfitError(reason)
