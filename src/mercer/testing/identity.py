"""Laws of a kernel as a value: its text, equality, hash, pickle, and the scikit-learn protocol."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable

import numpy as np

from mercer.errors import InputError
from mercer.kernels.base import Kernel
from mercer.kernels.functions import Function
from mercer.kernels.names import name_of, registered
from mercer.kernels.text import parse
from mercer.kernels.views import Mapped
from mercer.kernels.wrappers import Centered, Weighted
from mercer.testing.case import Case
from mercer.testing.report import Check, Skip, distance


def _verdict(holds: bool, note: str) -> Check:
    return Check(0.0 if holds else 1.0, 0.0, "" if holds else note)


def _callables(kernel: Kernel) -> list[Callable[..., object]]:
    kinds = {Function: "f", Mapped: "phi", Weighted: "f"}
    return [getattr(node, kinds[type(node)]) for node in kernel._walk() if type(node) in kinds]


def text(case: Case) -> Check | Skip:
    """parse(repr(k)) == k."""
    if any(isinstance(node, Centered) for node in case.kernel._walk()):
        return Skip("a text cannot hold the sample of centered")
    unknown = [name_of(f) for f in _callables(case.kernel) if registered(name_of(f)) is not f]
    if unknown:
        return Skip(f"not registered: {', '.join(unknown)}")
    read = parse(repr(case.kernel))
    return _verdict(read == case.kernel and repr(read) == repr(case.kernel), f"read as {read}")


def equality(case: Case) -> Check:
    """A kernel equals its copy, has the same hash, and differs from the kernel around it."""
    kernel = case.kernel
    copy = dataclasses.replace(kernel)  # type: ignore[type-var]
    holds = copy == kernel and hash(copy) == hash(kernel) and not copy != kernel  # noqa: SIM202 - both operators are asked
    return _verdict(holds and 2.0 * kernel != kernel, "a copy and its hash must be equal")


def frozen(case: Case) -> Check:
    """No field can be assigned."""
    for item in dataclasses.fields(case.kernel):  # type: ignore[arg-type]
        try:
            setattr(case.kernel, item.name, getattr(case.kernel, item.name))
        except AttributeError:
            continue
        return _verdict(False, f"{item.name} can be assigned")
    return _verdict(True, "")


def pickled(case: Case) -> Check | Skip:
    """A kernel comes back from pickle equal, with the same values."""
    try:
        data = pickle.dumps(case.kernel)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        if _callables(case.kernel):
            return Skip(f"its functions cannot be pickled ({error})")
        raise
    back = pickle.loads(data)
    same = back == case.kernel and hash(back) == hash(case.kernel)
    return Check(distance(back(case.X), case.gram) if same else np.inf, 0.0, "" if same else "not equal after pickle")


def cloned(case: Case) -> Check:
    """scikit-learn's clone returns the kernel itself: a value needs no copy."""
    from sklearn.base import clone

    return _verdict(clone(case.kernel) is case.kernel, "clone made another object")


def parameters(case: Case) -> Check:
    """set_params(**get_params()) is the kernel again, and a number that is set is the number that is got."""
    kernel = case.kernel
    deep = kernel.get_params(deep=True)
    holds = kernel.set_params(**deep) == kernel == kernel.set_params(**kernel.get_params(deep=False))
    wrong = [name for name, value in deep.items() if kernel.set_params(**{name: value}) != kernel]
    for name, value in deep.items():
        if isinstance(value, float) and not _moves(kernel, name, value):
            wrong.append(name)
    return _verdict(holds and not wrong, f"wrong with {', '.join(wrong) or 'all at once'}")


def _moves(kernel: Kernel, name: str, value: float) -> bool:
    """Whether a number can be set and got; one that stands at a bound of its rule may refuse to move."""
    for moved in (1.5 * value, 0.9 * value):
        try:
            return bool(kernel.set_params(**{name: moved}).get_params()[name] == moved)
        except InputError:
            continue
    return True


LAWS: dict[str, Callable[[Case], Check | Skip]] = {
    "parse(repr(k)) == k": text,
    "equality and hash": equality,
    "frozen": frozen,
    "pickle": pickled,
    "clone": cloned,
    "get_params, set_params": parameters,
}
