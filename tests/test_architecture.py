"""Read every import in src/mercer and fail on an arrow that points the wrong way.

The table LAYERS is the diagram of docs/design.md. An import inside a function is still an arrow; being inside a
function only matters for what must not be loaded by ``import mercer``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "mercer"
MAX_LINES = 400

# layer -> the layers it may import; a layer may always import itself
_GROUND = {"errors", "inputs"}
_KERNELS = _GROUND | {"numeric", "kernels"}
_ENGINE = _KERNELS | {"validity", "gram", "geometry", "solvers"}
_ESTIMATORS = _ENGINE | {"selection", "plan"}
_MODELS = _ESTIMATORS | {"estimators", "explanations", "twosample"}
_TOP = _MODELS | {"distributed", "persist"}
LAYERS: dict[str, set[str]] = {
    "errors": set(),
    "inputs": {"errors"},
    "numeric": _GROUND,
    "kernels": _GROUND | {"numeric"},
    "validity": _KERNELS,
    "gram": _KERNELS,
    "geometry": _KERNELS | {"gram"},
    "solvers": {"errors", "numeric"},  # a solver knows arrays and operators, never a kernel
    "plan": _ENGINE,
    "selection": _ENGINE | {"plan"},
    "estimators": _ESTIMATORS,
    "twosample": _ESTIMATORS,
    "explanations": _KERNELS,  # of models by what every dual model has: never an estimator by name
    "distributed": _MODELS,
    "persist": _MODELS | {"distributed"},
    "report": _TOP,
    "testing": _MODELS,
    "cli": _TOP | {"report", "testing", "__init__"},
    "__init__": _TOP | {"testing"},  # the command line and the figures are reached by their own names only
}

# The one door that goes up: Kernel.certificate asks validity, inside the function. (module, target layer)
DOORS = {("mercer.kernels.base", "validity")}

# Too slow to load, or not installed: never at the top of a module, except where a person asked for them.
HEAVY = {
    "dask",
    "distributed",
    "duckdb",
    "matplotlib",
    "networkx",
    "pandas",
    "polars",
    "pyarrow",
    "rdkit",
    "rich",
    "skops",
    "typer",
}
HEAVY_ALLOWED = {"cli", "report"}
COMPILED = "mercer.numeric.compiled"


@dataclass(frozen=True)
class Import:
    target: str  # absolute dotted name
    line: int
    deferred: bool  # inside a function
    type_only: bool  # under `if TYPE_CHECKING:`


def layer_of(dotted: str) -> str:
    """mercer.kernels.base -> kernels; mercer itself -> __init__."""
    parts = dotted.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def _absolute(node: ast.ImportFrom, module: str, is_package: bool) -> str:
    if node.level == 0:
        return node.module or ""
    parts = module.split(".")
    base = parts[: len(parts) - node.level + is_package]
    return ".".join([*base, node.module] if node.module else base)


def _targets(node: ast.Import | ast.ImportFrom, module: str, is_package: bool) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    origin = _absolute(node, module, is_package)
    for alias in node.names:
        # `from mercer import errors` reaches for a layer, `from mercer import Gaussian` for the whole front door;
        # `from mercer.numeric import compiled` has to be seen as the package it is.
        name = f"{origin}.{alias.name}"
        is_layer = origin == "mercer" and alias.name in LAYERS
        yield name if is_layer or name == COMPILED else origin


def _is_type_checking(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def imports(source: str, module: str, is_package: bool = False) -> list[Import]:
    """Every import of a module, with where it stands."""
    found: list[Import] = []

    def walk(node: ast.AST, deferred: bool, type_only: bool) -> None:
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.extend(Import(t, node.lineno, deferred, type_only) for t in _targets(node, module, is_package))
        if isinstance(node, ast.If) and _is_type_checking(node.test):
            for child in node.body:
                walk(child, deferred, True)
            for child in node.orelse:
                walk(child, deferred, type_only)
            return
        inside = deferred or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.iter_child_nodes(node):
            walk(child, inside, type_only)

    walk(ast.parse(source), deferred=False, type_only=False)
    return found


def violations(source: str, module: str, is_package: bool = False) -> list[str]:
    """The sentences to print for one module; an empty list is a clean one."""
    here = layer_of(module)
    if here not in LAYERS:
        return [f"{module}: '{here}' has no place in the layers of docs/design.md"]
    in_compiled = module == COMPILED or module.startswith(COMPILED + ".")
    wrong: list[str] = []
    for found in imports(source, module, is_package):
        where = f"{module}:{found.line}"
        root = found.target.split(".")[0]
        at_top = not (found.deferred or found.type_only)
        if root == "mercer":
            there = layer_of(found.target)
            door = (module, there) in DOORS and not at_top
            if there != here and there not in LAYERS[here] and not door:
                wrong.append(f"{where}: {here} must not import {there} ({found.target})")
            to_compiled = found.target == COMPILED or found.target.startswith(COMPILED + ".")
            if to_compiled and at_top and not in_compiled:
                wrong.append(f"{where}: {COMPILED} is imported inside functions only: it loads numba")
        elif root in ("numba", "llvmlite") and not in_compiled:
            wrong.append(f"{where}: numba is imported in {COMPILED} only")
        elif root in HEAVY and at_top and here not in HEAVY_ALLOWED:
            wrong.append(f"{where}: {root} is imported inside functions only")
    return wrong


def _modules() -> list[tuple[str, Path]]:
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        parts = ["mercer", *path.relative_to(SOURCE).with_suffix("").parts]
        found.append((".".join(parts[:-1] if parts[-1] == "__init__" else parts), path))
    return found


MODULES = _modules()


def test_there_is_something_to_read() -> None:
    assert {"mercer", "mercer.errors", "mercer.inputs", "mercer.kernels.base"} <= {name for name, _ in MODULES}


@pytest.mark.parametrize(("module", "path"), MODULES, ids=[name for name, _ in MODULES])
def test_arrows_point_down(module: str, path: Path) -> None:
    wrong = violations(path.read_text(encoding="utf-8"), module, is_package=path.name == "__init__.py")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("module", "path"), MODULES, ids=[name for name, _ in MODULES])
def test_house_rules_on_files(module: str, path: Path) -> None:
    """A file is short, and its name says what is in it."""
    assert path.stem not in {"utils", "util", "common", "helpers", "misc"}
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= MAX_LINES, f"{module} has {lines} lines; a file has one subject and at most {MAX_LINES} lines"


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("mercer.kernels.vectors", "from mercer.gram import gram"),
        ("mercer.kernels.vectors", "def f():\n    from mercer.solvers import cholesky"),
        ("mercer.kernels.vectors", "def f():\n    from mercer.validity import Certificate"),
        ("mercer.kernels.base", "from mercer.validity import Certificate"),
        ("mercer.kernels.base", "from ..validity import Certificate"),
        ("mercer.kernels.base", "def f():\n    from mercer.gram import gram"),
        ("mercer.numeric.tiles", "from mercer import kernels"),
        ("mercer.numeric.tiles", "from mercer.numeric import compiled"),
        ("mercer.numeric.tiles", "from .compiled import loops"),
        ("mercer.numeric.tiles", "import numba"),
        ("mercer.gram.engine", "def f():\n    import numba"),
        ("mercer.gram.engine", "class A:\n    import mercer.numeric.compiled.loops"),
        ("mercer.solvers.smo", "from mercer.kernels.base import Kernel"),
        ("mercer.solvers.smo", "from mercer.inputs import as_collection"),
        ("mercer.inputs", "try:\n    import pandas\nexcept ImportError:\n    pass"),
        ("mercer.gram.engine", "import matplotlib.pyplot as plt"),
        ("mercer.kernels.text", "from mercer import Gaussian"),
        ("mercer.estimators.svc", "from mercer.report import figures"),
        ("mercer.estimators.svc", "from mercer.testing import naive"),
        ("mercer.plan", "from mercer.estimators import SVC"),
        ("mercer.helpers", ""),
    ],
)
def test_a_wrong_arrow_is_seen(module: str, source: str) -> None:
    assert violations(source, module)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("mercer.kernels.base", "def f():\n    from mercer.validity import derive"),
        ("mercer.kernels.base", "if TYPE_CHECKING:\n    from mercer.validity import Certificate"),
        ("mercer.numeric.tiles", "def f():\n    from mercer.numeric import compiled"),
        ("mercer.numeric.compiled.loops", "from numba import njit"),
        ("mercer.numeric.compiled.loops", "from . import hashes"),
        ("mercer.inputs", "def f():\n    import pandas"),
        ("mercer.inputs", "if TYPE_CHECKING:\n    import networkx"),
        ("mercer.report.figures", "import matplotlib"),
        ("mercer.cli.check", "import typer\nfrom mercer import __version__, parse"),
        ("mercer.testing.laws", "from mercer.estimators import KernelRidge"),
        ("mercer.gram.engine", "from mercer.kernels.base import Kernel\nimport numpy as np"),
    ],
)
def test_a_right_arrow_is_left_alone(module: str, source: str) -> None:
    assert violations(source, module) == []


def test_relative_imports_of_a_package_are_resolved() -> None:
    [found] = imports("from .base import Kernel", "mercer.kernels", is_package=True)
    assert found.target == "mercer.kernels.base"
    [found] = imports("from ..gram import gram", "mercer.kernels.base")
    assert found.target == "mercer.gram"
