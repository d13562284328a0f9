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
MAX_LINES = 600

# layer -> the layers it may import; a layer may always import itself
_NUMBERS = {"errors", "registry", "writing", "inputs", "numeric", "linalg", "planning"}
_KERNELS = _NUMBERS | {"kernels", "validity", "grams", "geometry"}
_MODELS = _KERNELS | {"selection", "estimators", "explanations", "twosample", "independence"}
_TOP = _MODELS | {"persist", "workflow", "datasets", "translation"}
LAYERS: dict[str, set[str]] = {
    "arrays": set(),
    "markup": {"errors"},  # HTML and SVG as text, for reports and explanations
    "errors": set(),
    "registry": {"errors"},
    "writing": {"errors"},
    "inputs": {"errors"},
    "numeric": {"errors", "inputs"},
    "linalg": {"errors", "numeric"},  # arrays and operators, never a kernel
    "planning": {"errors", "registry", "numeric"},
    "kernels": {"errors", "registry", "inputs", "numeric"},
    "validity": {"errors", "registry", "inputs", "numeric", "kernels"},
    "grams": _NUMBERS | {"kernels"},
    "geometry": _NUMBERS | {"kernels", "grams"},
    "selection": _KERNELS,
    "estimators": _KERNELS | {"selection", "explanations"},  # table models return the explanation of their members
    "twosample": _KERNELS,
    "independence": _KERNELS | {"twosample"},
    "explanations": {"errors", "inputs", "numeric", "kernels", "grams", "markup"},  # dual functions: no estimator by name
    "persist": _MODELS,
    "translation": _MODELS,  # every estimator with a counterpart elsewhere, by name
    "workflow": _MODELS | {"persist"},
    "datasets": {"errors", "inputs"},
    "report": _TOP | {"markup"},
    "testing": _MODELS,
    "lab": _TOP | {"report"},
    "cli": _TOP | {"report", "testing", "lab", "__init__"},
    "__init__": _TOP | {"testing"},  # the command line and the figures are reached by their own names only
}

# The one door that goes up: Kernel.certificate asks validity, inside the function. (module, target layer)
DOORS = {("mercer.kernels.base", "validity")}

# Too slow to load, or not installed: never at the top of a module, except where a person asked for them.
HEAVY = {
    "bokeh",
    "dask",
    "distributed",
    "duckdb",
    "finufft",
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
HEAVY_ALLOWED = {"cli", "report", "lab"}


@dataclass(frozen=True)
class Import:
    target: str  # absolute dotted name, as far as the module goes
    line: int
    deferred: bool  # inside a function
    type_only: bool  # under `if TYPE_CHECKING:`


def _modules() -> dict[str, Path]:
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = ["mercer", *path.relative_to(SOURCE).with_suffix("").parts]
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = _modules()


def layer_of(dotted: str) -> str:
    """mercer.kernels.base -> kernels; mercer itself -> __init__."""
    parts = dotted.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def family_of(dotted: str) -> str | None:
    """mercer.estimators.svm.svc -> svm; None for everything that belongs to no family of estimators."""
    parts = dotted.split(".")
    inside = parts[:2] == ["mercer", "estimators"] and len(parts) > 2
    return parts[2] if inside and (SOURCE / "estimators" / parts[2]).is_dir() else None


def is_compiled(dotted: str) -> bool:
    return dotted.startswith("mercer.") and dotted.rpartition(".")[2].startswith("_compiled")


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
        # `from mercer import errors` reaches for a layer, `from mercer import Gaussian` for the whole front door.
        name = f"{origin}.{alias.name}"
        is_module = name in MODULES or is_compiled(name) or (origin == "mercer" and alias.name in LAYERS)
        yield name if is_module else origin


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
        for child in ast.iter_child_nodes(node):  # type: ignore[assignment]
            walk(child, inside, type_only)

    walk(ast.parse(source), deferred=False, type_only=False)
    return found


def violations(source: str, module: str, is_package: bool = False) -> list[str]:
    """The sentences to print for one module; an empty list is a clean one."""
    here = layer_of(module)
    if here not in LAYERS:
        return [f"{module}: '{here}' has no place in the layers of docs/design.md"]
    wrong: list[str] = []
    for found in imports(source, module, is_package):
        where = f"{module}:{found.line}"
        root = found.target.split(".")[0]
        at_top = not (found.deferred or found.type_only)
        if root == "mercer":
            wrong += [f"{where}: {sentence}" for sentence in _own_arrow(module, found.target, at_top)]
        elif root in ("numba", "llvmlite") and not is_compiled(module):
            wrong.append(f"{where}: numba is imported in modules named _compiled* only")
        elif root in HEAVY and at_top and here not in HEAVY_ALLOWED:
            wrong.append(f"{where}: {root} is imported inside functions only")
    return wrong


def _own_arrow(module: str, target: str, at_top: bool) -> Iterator[str]:
    here, there = layer_of(module), layer_of(target)
    door = (module, there) in DOORS and not at_top
    if there not in {here, "arrays", *LAYERS[here]} and not door:
        yield f"{here} must not import {there} ({target})"
    own, other = family_of(module), family_of(target)
    if here == there == "estimators" and other is not None and own != other:
        what = f"the family {own}" if own else "what all families share"
        yield f"{what} must not import the family {other} ({target})"
    if is_compiled(target) and at_top and not is_compiled(module):
        yield f"{target} is imported inside functions only: it loads numba"


def test_there_is_something_to_read() -> None:
    assert {"mercer", "mercer.errors", "mercer.inputs", "mercer.kernels.base"} <= set(MODULES)


@pytest.mark.parametrize("module", MODULES)
def test_arrows_point_down(module: str) -> None:
    path = MODULES[module]
    wrong = violations(path.read_text(encoding="utf-8"), module, is_package=path.name == "__init__.py")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("module", MODULES)
def test_house_rules_on_files(module: str) -> None:
    """A file is short, and its name says what is in it."""
    path = MODULES[module]
    assert path.stem not in {"utils", "util", "common", "helpers", "misc"}
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= MAX_LINES, f"{module} has {lines} lines; a file has one subject and at most {MAX_LINES} lines"


def find_cycle(graph: dict[str, set[str]]) -> list[str]:
    """Some cycle of the graph, or an empty list."""
    state: dict[str, int] = {}
    trail: list[str] = []

    def visit(node: str) -> list[str]:
        state[node] = 1
        trail.append(node)
        for target in sorted(graph.get(node, ())):
            if state.get(target) == 1:
                return [*trail[trail.index(target) :], target]
            if target not in state and (cycle := visit(target)):
                return cycle
        trail.pop()
        state[node] = 2
        return []

    return next((cycle for node in sorted(graph) if node not in state and (cycle := visit(node))), [])


def test_no_cycle_of_imports_even_inside_functions() -> None:
    """Counting every import but those for type checkers, and but the one door."""
    graph: dict[str, set[str]] = {}
    for module, path in MODULES.items():
        found = imports(path.read_text(encoding="utf-8"), module, is_package=path.name == "__init__.py")
        graph[module] = {
            one.target
            for one in found
            if one.target in MODULES and not one.type_only and (module, layer_of(one.target)) not in DOORS
        } - {module}
    assert find_cycle(graph) == []


def test_a_cycle_is_seen() -> None:
    assert find_cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert find_cycle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("mercer.kernels.vectors", "from mercer.grams import gram"),
        ("mercer.kernels.vectors", "def f():\n    from mercer.linalg import cholesky"),
        ("mercer.kernels.vectors", "def f():\n    from mercer.validity import Certificate"),
        ("mercer.kernels.base", "from mercer.validity import Certificate"),
        ("mercer.kernels.base", "from ..validity import Certificate"),
        ("mercer.kernels.base", "def f():\n    from mercer.grams import gram"),
        ("mercer.numeric.tiles", "from mercer import kernels"),
        ("mercer.numeric.tiles", "from mercer.numeric import _compiled_loops"),
        ("mercer.numeric.tiles", "from ._compiled_loops import loop"),
        ("mercer.numeric.tiles", "import numba"),
        ("mercer.grams.operator", "def f():\n    import numba"),
        ("mercer.grams.operator", "class A:\n    import mercer.numeric._compiled_rows"),
        ("mercer.linalg.lanczos", "from mercer.kernels.base import Kernel"),
        ("mercer.linalg.lanczos", "from mercer.inputs import as_collection"),
        ("mercer.inputs", "try:\n    import pandas\nexcept ImportError:\n    pass"),
        ("mercer.grams.operator", "import matplotlib.pyplot as plt"),
        ("mercer.kernels.parsing", "from mercer import Gaussian"),
        ("mercer.estimators.svm.svc", "from mercer.report import figures"),
        ("mercer.estimators.svm.svc", "from mercer.testing import naive"),
        ("mercer.estimators.svm.svc", "from mercer.estimators.ridge.kernel_ridge import KernelRidge"),
        ("mercer.estimators.svm.svc", "from mercer.estimators import ridge"),
        ("mercer.estimators.base", "def f():\n    from mercer.estimators.svm.svc import SVC"),
        ("mercer.selection.surface", "from mercer.estimators.ridge import surface"),
        ("mercer.planning", "from mercer.estimators import SVC"),
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
        ("mercer.numeric.tiles", "def f():\n    from mercer.numeric import _compiled_loops"),
        ("mercer.numeric._compiled_loops", "from numba import njit"),
        ("mercer.numeric._compiled_loops", "from mercer.numeric._compiled_hashes import mix"),
        ("mercer.inputs", "def f():\n    import pandas"),
        ("mercer.inputs", "if TYPE_CHECKING:\n    import networkx"),
        ("mercer.report.figures", "import matplotlib"),
        ("mercer.cli.check", "import typer\nfrom mercer import __version__, parse"),
        ("mercer.testing.laws", "from mercer.estimators.ridge.kernel_ridge import KernelRidge"),
        ("mercer.estimators.svm.svc", "from mercer.estimators.svm.model import Solver\nfrom mercer.estimators import base"),
        ("mercer.grams.operator", "from mercer.kernels.base import Kernel\nimport numpy as np"),
    ],
)
def test_a_right_arrow_is_left_alone(module: str, source: str) -> None:
    assert violations(source, module) == []


def test_relative_imports_of_a_package_are_resolved() -> None:
    [found] = imports("from .base import Kernel", "mercer.kernels", is_package=True)
    assert found.target == "mercer.kernels.base"
    [found] = imports("from ..grams import gram", "mercer.kernels.base")
    assert found.target == "mercer.grams"
