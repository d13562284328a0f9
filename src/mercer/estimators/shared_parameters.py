"""Checks of the parameters that many estimators share, before anything is read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from inspect import signature
from typing import Any

import numpy as np

from mercer.errors import InputError, describe
from mercer.numeric.memory import parse_bytes


def check_shared_parameters(estimator: Any) -> None:
    """Raise if a shared parameter of an estimator has a type that its fit cannot use."""
    given = vars(estimator)
    for name, (holds, rule) in _RULES.items():
        if name in given and not (holds(given[name]) or given[name] is _default(type(estimator), name)):
            raise InputError(f"{type(estimator).__name__}: {name} must be {rule}; got {describe(given[name])}.")
    if "memory" in given:
        parse_bytes(given["memory"])


def _default(kind: Any, name: str) -> Any:
    """The default of a parameter, which its class knows how to read."""
    return signature(kind).parameters[name].default


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool | np.bool_) or (isinstance(value, int) and value in (0, 1))


def _is_verbosity(value: Any) -> bool:
    return value is None or isinstance(value, bool | np.bool_ | int | np.integer)


def _is_seed(value: Any) -> bool:
    if isinstance(value, list | tuple | np.ndarray):
        return all(map(_is_seed, value))
    if isinstance(value, int | np.integer):
        return not isinstance(value, bool) and int(value) >= 0
    return value is None or isinstance(value, np.random.RandomState | np.random.Generator | np.random.SeedSequence)


def _is_listed(values: Any) -> bool:
    """Whether values are a list, a tuple, an array or another sized collection; a text is not."""
    several = isinstance(values, Collection) and not isinstance(values, str | bytes | Mapping)
    return several and np.ndim(values) > 0


def _is_grid(value: Any) -> bool:
    return value is None or (isinstance(value, Mapping) and all(map(_is_listed, value.values())))


_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "fit_intercept": (_is_flag, "True or False"),
    "verbose": (_is_verbosity, "None, True or False"),
    "length_scales": (lambda value: value is None or _is_listed(value), "None or a list of finite numbers > 0"),
    "param_grid": (_is_grid, "None or a dict of names of kernel.get_params() with a list of values each"),
    "random_state": (_is_seed, "None, a whole number >= 0, or a generator of NumPy"),
}
