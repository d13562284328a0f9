"""mercer: kernel methods. Write down a kernel once, and every kernel algorithm runs on it.

>>> import mercer
>>> k = 2.0 * mercer.Gaussian(length_scale=1.5) + mercer.Linear()
>>> k.certificate().status
'valid'
"""

import sys as _sys
from importlib import import_module as _import_module
from types import ModuleType as _ModuleType
from typing import Any

from mercer.registry import public_names as _public_names

__version__ = "0.2.0"

# The names are listed once, in __init__.pyi. Each is loaded when it is first asked for: a program that checks a kernel does
# not wait for every estimator.
__all__ = sorted(["__version__", *_public_names()])


def __getattr__(name: str) -> Any:
    """Load a public name when it is first asked for."""
    module = _public_names().get(name)
    if module is None:
        raise AttributeError(f"module 'mercer' has no attribute {name!r}")
    value = _import_module(f"mercer.{name}") if module == "mercer" else getattr(_import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


class _Package(_ModuleType):
    """A package in which `gram` and `plan` are functions: importing the modules of these names must not hide them."""

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, _ModuleType) and _public_names().get(name) == value.__name__:
            value = getattr(value, name)
        super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        # a function of a notebook travels to the workers of a cluster with the modules that it names
        return _import_module, (self.__name__,)


_sys.modules[__name__].__class__ = _Package
