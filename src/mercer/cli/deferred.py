"""Modules that are executed at the first use of one of their names, because most commands never use one.

scikit-learn imports scipy.stats and pandas, SciPy imports parts of NumPy, and some of mercer's models scipy.optimize: this
takes longer than predicting. `importlib.util.LazyLoader` would not do, because a second import statement is a use there.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from threading import RLock
from types import ModuleType
from typing import Any

#: Modules that take long to load.
SLOW = ("numpy.f2py", "numpy.ma", "numpy.testing", "pandas", "scipy.optimize", "scipy.stats")

#: Attributes that the import system reads from a module in sys.modules.
_READ_BY_IMPORTS = frozenset({"__spec__", "__name__", "__class__", "__dict__", "__loader__"})

#: The attribute in which a deferred module keeps its loader.
_LATER = "__later__"


class _Deferred(ModuleType):
    """A module that is executed at its first use, and is an ordinary module afterwards."""

    def __getattribute__(self, name: str) -> Any:
        if name not in _READ_BY_IMPORTS:
            object.__getattribute__(self, "__dict__")[_LATER].run(self)
        return object.__getattribute__(self, name)


class _Later(Loader):
    """Loader that creates a module without executing it."""

    def __init__(self, loader: Loader) -> None:
        self.loader, self.lock, self.running = loader, RLock(), False

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Return the module of the ordinary loader."""
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Do not execute the module yet."""
        spec: Any = module.__spec__
        spec.loader = module.__loader__ = self.loader
        module.__dict__[_LATER] = self
        module.__class__ = _Deferred

    def run(self, module: ModuleType) -> None:
        """Execute the module in the first thread that uses it; other threads wait."""
        with self.lock:
            if self.running or object.__getattribute__(module, "__class__") is not _Deferred:
                return  # a name that is used while the module is executed, or another thread was first
            self.running = True
            try:
                self.loader.exec_module(module)
            finally:
                self.running = False
            module.__class__ = ModuleType
            del module.__dict__[_LATER]


class _Finder(MetaPathFinder):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the ordinary specification of a slow module, with a loader that defers execution."""
        if name not in SLOW:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Later(spec.loader)
        return spec


def defer() -> None:
    """From now on, import the slow modules without executing them."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
