"""Registry of the classes that model files may contain; each class is registered by a decorator.

`estimator` registers an estimator, `record` a frozen dataclass that fitted estimators hold. Loading looks names up here
only, and a new estimator changes no other file. The public names of the package and their modules are listed in
`mercer/__init__.pyi`.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from mercer.errors import InputError

Class = TypeVar("Class", bound=type)

_estimators: dict[str, type] = {}
_records: dict[str, type] = {}
_left_out: dict[type, frozenset[str]] = {}
_older: dict[type, Callable[[dict[str, Any]], dict[str, Any]]] = {}


def estimator(kind: Class) -> Class:
    """Register an estimator: a model file holds its parameters and the attributes that `fit` stored."""
    return _enter(_estimators, kind, (kind.__name__,))


def record(
    *formerly: str, left_out: tuple[str, ...] = (), older: Callable[[dict[str, Any]], dict[str, Any]] | None = None
) -> Callable[[Class], Class]:
    """Register a frozen dataclass that fitted estimators hold.

    `formerly` are names in older files. `left_out` are large fields that are not needed after loading: they load as None.
    `older` converts the fields of older files to the current ones.
    """

    def enter(kind: Class) -> Class:
        _left_out[kind] = frozenset(left_out)
        if older is not None:
            _older[kind] = older
        return _enter(_records, kind, (kind.__name__, *formerly))

    return enter


def _enter(table: dict[str, type], kind: Class, names: tuple[str, ...]) -> Class:
    for name in names:
        known = table.get(name)
        if known is not None and (known.__module__, known.__qualname__) != (kind.__module__, kind.__qualname__):
            raise InputError(f"{kind.__module__}.{name}: {known.__module__} has registered {name!r}; choose another name.")
        table[name] = kind
    return kind


def find_estimator(name: str) -> type | None:
    """Return the registered estimator of that name; a public one is imported first."""
    if name not in _estimators and name in public_names():
        importlib.import_module(public_names()[name])
    return _estimators.get(name)


def find_record(name: str) -> type | None:
    """Return the registered record of that name; the module of its estimator must be imported already."""
    return _records.get(name)


def make_record(kind: type, fields: dict[str, Any]) -> Any:
    """Return the record with the fields of a file of this version or an older one."""
    return kind(**(_older[kind](fields) if kind in _older else fields))


def is_record(value: Any) -> bool:
    """Whether a value is of a registered record class."""
    return type(value) in _left_out


def left_out(kind: type) -> frozenset[str]:
    """Return the names of the fields that a file does not hold."""
    return _left_out[kind]


@cache
def public_names() -> dict[str, str]:
    """Return the public names of the package with their modules, as listed in its stub."""
    stub = ast.parse((Path(__file__).parent / "__init__.pyi").read_text(encoding="utf-8"))
    found: dict[str, str] = {}
    for node in stub.body:
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            found |= {alias.asname or alias.name: node.module for alias in node.names}
    return dict(sorted(found.items()))
