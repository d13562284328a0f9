"""Parameters of a kernel tree: by name, as scikit-learn has them, and as one vector theta of logarithms."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mercer.errors import InputError

if TYPE_CHECKING:
    from mercer.kernels.base import Kernel


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
    return changed._with_children(tuple(children)) if children else changed


def _as_child(kernel: Kernel, path: str, value: Any) -> Kernel:
    if not hasattr(value, "_encode"):
        raise InputError(f"{kernel}: parameter {path!r} is a kernel; got {value!r}.")
    child: Kernel = value
    return child


def free_fields(kernel: Kernel) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """The free parameters of one node: name and values (> 0), several for ARD length scales."""
    for item in dataclasses.fields(kernel):  # type: ignore[arg-type]
        rule = item.metadata.get("rule")
        if rule is not None and rule.free:
            value = getattr(kernel, item.name)
            if isinstance(value, str):  # "median" is not a number yet
                continue
            values = np.atleast_1d(np.asarray(value, dtype=np.float64))
            if np.all(values > 0):  # zero has no logarithm: a zero offset or scale stays as written
                yield item.name, values


def n_own(kernel: Kernel) -> int:
    """How many entries of theta belong to the node itself."""
    return sum(len(values) for _, values in free_fields(kernel))


def theta(kernel: Kernel) -> NDArray[np.float64]:
    """log of the free parameters, the node's own first, then its children's."""
    own = [np.log(values) for _, values in free_fields(kernel)]
    return np.concatenate([*own, *[theta(child) for child in kernel.children], np.empty(0)])


def theta_names(kernel: Kernel) -> list[str]:
    """Parameter paths in the order of theta; ARD entries get an index in square brackets."""
    names = []
    for name, values in free_fields(kernel):
        several = isinstance(getattr(kernel, name), tuple)
        names += [f"{name}[{i}]" for i in range(len(values))] if several else [name]
    for number, child in enumerate(kernel.children):
        names += [f"{number}__{name}" for name in theta_names(child)]
    return names


def with_theta(kernel: Kernel, vector: NDArray[np.float64]) -> Kernel:
    """The inverse of theta."""
    size = len(theta(kernel))
    if vector.shape != (size,):
        raise InputError(f"theta of {kernel} has {size} entries; got shape {vector.shape}.")
    own: dict[str, Any] = {}
    position = 0
    for name, values in free_fields(kernel):
        numbers = np.exp(vector[position : position + len(values)])
        own[name] = tuple(numbers.tolist()) if isinstance(getattr(kernel, name), tuple) else float(numbers[0])
        position += len(values)
    children = []
    for child in kernel.children:
        step = len(theta(child))
        children.append(with_theta(child, vector[position : position + step]))
        position += step
    changed = dataclasses.replace(kernel, **own) if own else kernel  # type: ignore[type-var]
    return changed._with_children(tuple(children)) if children else changed
