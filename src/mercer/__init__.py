"""mercer: kernel methods. Write down a kernel once, and every kernel algorithm runs on it.

>>> import mercer
>>> k = 2.0 * mercer.Gaussian(length_scale=1.5) + mercer.Linear()
>>> k.certificate().status
'valid'
"""

from importlib import import_module as _import_module
from typing import Any

from mercer.registry import public_names as _public_names

__version__ = "0.3.0"

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
