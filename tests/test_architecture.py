"""Read every import in src/mercer and fail on an arrow that points the wrong way.

The table LAYERS is the diagram of docs/design.md. An import inside a function is still an arrow; being inside a
function only matters for what must not be loaded by ``import mercer``.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "mercer"
MAX_LINES = 600

# layer -> the layers it may import; a layer may always import itself
_NUMBERS = {"errors", "registry", "writing", "inputs", "numeric", "linalg", "planning"}
_KERNELS = _NUMBERS | {"kernels", "validity", "grams", "geometry"}
_MODELS = _KERNELS | {"selection", "estimators", "explanations", "twosample", "independence", "changes"}
_TOP = _MODELS | {"causal", "persist", "workflow", "datasets", "translation", "export", "mlflow"}
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
    "causal": _KERNELS | {"twosample", "independence"},  # interfaces of other packages for searches of causal graphs
    "changes": _KERNELS | {"estimators", "selection", "explanations", "twosample"},  # a monitor is an estimator
    "explanations": {"errors", "inputs", "numeric", "kernels", "grams", "markup"},  # dual functions: no estimator by name
    "persist": _MODELS,
    "export": _MODELS,  # ONNX and JavaScript of every estimator that has a closed form
    "translation": _MODELS,  # every estimator with a counterpart elsewhere, by name
    "workflow": _MODELS | {"persist"},
    "mlflow": {"errors", "writing", "persist"},  # model files in the folders of MLflow
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
    "onnx",
    "pandas",
    "polars",
    "pyarrow",
    "rdkit",
    "rich",
    "typer",
}
#: Extras of those who develop mercer, not of those who use it.
DEVELOPMENT = {"docs", "bench", "bench-gp", "release", "dev"}
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


#: Packages that users bring along because their objects are given to mercer, and numba's own part, which numba pins.
BROUGHT = {"pandas", "polars", "mlflow", "causallearn", "llvmlite"}


def test_packages_are_declared_where_they_are_imported() -> None:
    """Nothing is imported that only another package asked for."""
    project = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    lines = [
        *project["dependencies"],
        *(line for name, extra in extras.items() if name not in DEVELOPMENT for line in extra),
    ]
    declared = {re.split(r"[\[>=]", line)[0] for line in lines} | {"sklearn", "mercer"} | BROUGHT
    declared |= {part for line in lines for part in re.findall(r"dask\[(.*)\]", line) for part in part.split(",")}
    for module, path in MODULES.items():
        for one in imports(path.read_text(encoding="utf-8"), module, path.name == "__init__.py"):
            name = one.target.split(".")[0]
            assert name in declared or name in sys.stdlib_module_names, f"{module}: {name} is in no extra of pyproject.toml"


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


# -- arithmetic that is defined once -----------------------------------------------------------------------------------

#: Tells whether a node of the syntax tree is a definition of something.
Finder = Callable[[ast.AST], bool]


def _function(*names: str) -> Finder:
    return lambda node: isinstance(node, ast.FunctionDef) and node.name in names


def _is_one_minus(node: ast.AST) -> bool:
    """1 - h, or 1.0 - h[:, j]: what a leave-one-out residual is divided by."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and _is_number(node.left, 1)


def _is_number(node: ast.AST, value: float) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and node.value == value


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} | {
        part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)
    }


def _divides_by_one_minus_leverage(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Div)
        and _is_one_minus(node.right)
        and bool(_names(node.right) & {"h", "leverage", "leverages", "share", "hat"})
    )


def _divides_dual_by_diagonal(node: ast.AST) -> bool:
    """dual / C_ii, whatever the diagonal is called."""
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)):
        return False
    over = bool(_names(node.left) & {"dual"}) and not isinstance(node.left, ast.Constant)
    return over and bool(_names(node.right) & {"diagonal", "diag", "spread", "diag_c"})


def _rounds_a_coverage(node: ast.AST) -> bool:
    """ceil(coverage (n + 1)): a call of ceil or floor on something with a coverage in it."""
    return (
        isinstance(node, ast.Call)
        and bool(_names(node.func) & {"ceil", "floor"})
        and bool(_names(node) & {"coverage", "quantile"})
    )


def _deals_rows_to_folds(node: ast.AST) -> bool:
    """permutation(…) % folds."""
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Mod)
        and "permutation" in _names(node.left)
        and any("fold" in name.lower() for name in _names(node.right))
    )


def _is_expansion_record(node: ast.AST) -> bool:
    """A dataclass with a kernel, rows, dual coefficients and an intercept."""
    if not isinstance(node, ast.ClassDef):
        return False
    fields = {part.target.id for part in node.body if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)}
    points = {"X", "Z", "data", "anchors", "landmarks", "support_vectors"} & fields
    named = {"dual", "dual_coef", "coefficients"} & fields and {"kernel"} <= fields and {"intercept", "intercepts"} & fields
    return bool(named and points) and "alpha_" not in fields


def _is_log_evidence(node: ast.AST) -> bool:
    """A sum of a log determinant and log 2 pi."""
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Add)
        and "pi" in _names(node.right)
        and any("logdet" in name or "log_det" in name for name in _names(node.left))
    )


#: What is defined once: the module, and what finds a definition.
ONCE: dict[str, tuple[str, Finder]] = {
    "leave-one-out from residuals and leverages": ("mercer.linalg.ridge.held_out", _divides_by_one_minus_leverage),
    "leave-one-out from dual coefficients": ("mercer.linalg.ridge.held_out", _divides_dual_by_diagonal),
    "hold-out of a fold": ("mercer.linalg.ridge.held_out", _function("held_out_groups", "solve_or_nan", "_left_out")),
    "what an intercept takes from the diagonal": ("mercer.linalg.ridge.held_out", _function("centered_diagonal")),
    "rank of a residual": ("mercer.estimators.intervals", _function("conformal_rank")),
    "rounding of a rank": ("mercer.estimators.intervals", _rounds_a_coverage),
    "interval from held-out residuals": ("mercer.estimators.intervals", _function("held_out_interval", "cv_plus")),
    "fold assignment": ("mercer.selection.folds", _deals_rows_to_folds),
    "equal rows": ("mercer.selection.folds", _function("row_groups", "row_digests")),
    "marginal likelihood": ("mercer.linalg.evidence", _is_log_evidence),
    "record of an expansion": ("mercer.grams.dual_function", _is_expansion_record),
}


def definitions(source: str, finds: Finder) -> list[int]:
    """The lines of a module at which something that is to be defined once is defined."""
    return [getattr(node, "lineno", 0) for node in ast.walk(ast.parse(source)) if finds(node)]


@cache
def places() -> dict[str, set[str]]:
    """Return the modules that define each of `ONCE`; every module is parsed once."""
    found: dict[str, set[str]] = {what: set() for what in ONCE}
    for module, path in MODULES.items():
        if module.startswith("mercer.testing"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for what, (_, finds) in ONCE.items():
                if finds(node):
                    found[what].add(module)
    return found


@pytest.mark.parametrize("what", ONCE)
def test_arithmetic_is_defined_once(what: str) -> None:
    home = ONCE[what][0]
    assert places()[what] <= {home}, f"{what} belongs to {home}, and is also in {places()[what] - {home}}"


@pytest.mark.parametrize(
    ("what", "source"),
    [
        ("leave-one-out from residuals and leverages", "loo = residuals / (1.0 - h)[:, None]"),
        ("leave-one-out from residuals and leverages", "loo = (y - f) / (1 - leverage)"),
        ("leave-one-out from dual coefficients", "loo = dual / np.diagonal(inverse)[:, None]"),
        ("leave-one-out from dual coefficients", "loo = self.dual[active] / spread"),
        ("hold-out of a fold", "def _left_out(block, residuals, groups): ..."),
        ("what an intercept takes from the diagonal", "def centered_diagonal(a, b): ..."),
        ("rank of a residual", "def conformal_rank(n, coverage): ..."),
        ("rounding of a rank", "rank = int(np.ceil(coverage * (len(scores) + 1) - 1e-9))"),
        ("rounding of a rank", "low = math.floor((1.0 - coverage) * (m + 1))"),
        ("interval from held-out residuals", "def cv_plus(by_fold, sizes): ..."),
        ("fold assignment", "folds = rng.permutation(n) % n_folds"),
        ("fold assignment", "place = np.random.default_rng(0).permutation(n) % FOLDS"),
        ("equal rows", "def row_groups(X): ..."),
        ("marginal likelihood", "value = -0.5 * (energy + t * logdet + n * t * math.log(2.0 * math.pi))"),
        (
            "record of an expansion",
            "class Expansion:\n    kernel: Kernel\n    X: Any\n    dual: Array\n    intercept: float",
        ),
    ],
)
def test_a_second_definition_is_seen(what: str, source: str) -> None:
    assert definitions(source, ONCE[what][1])


@pytest.mark.parametrize(
    ("what", "source"),
    [
        ("leave-one-out from residuals and leverages", "shrunk = 1.0 / (1.0 + h)"),
        ("rounding of a rank", "count = math.ceil(n / 2)"),
        ("fold assignment", "place = i % n_folds"),
        ("record of an expansion", "class Fit:\n    dual: Array\n    intercept: float"),
        (
            "record of an expansion",  # coefficients of several functions, each of which becomes a DualFunction
            "class Cells:\n    kernel: Kernel\n    dual: Array\n    intercepts: Array\n    starts: Indices",
        ),
    ],
)
def test_other_arithmetic_is_left_alone(what: str, source: str) -> None:
    assert definitions(source, ONCE[what][1]) == []
