"""The public names are those of __init__.pyi: taking one away or adding one is a decision, noted in CHANGELOG.md."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

import mercer
from mercer.registry import public_names

# Listed once, in __init__.pyi, which type checkers read too.
PUBLIC = sorted(["__version__", *public_names()])

GEOMETRY = ["center", "distance", "distances", "mean_norm", "norm", "normalize", "projection", "spread"]

# What `import mercer` must leave alone: slow to load, or only there with an extra. pandas and rich are not in the list
# because scikit-learn loads them by itself where they are installed; test_architecture.py watches our own imports.
NOT_LOADED = ["dask", "duckdb", "hypothesis", "matplotlib", "networkx", "numba", "polars", "rdkit", "skops", "typer"]


def run_python(code: str) -> str:
    """Run code in a fresh interpreter and return what it prints."""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def test_the_pinned_list_is_the_list() -> None:
    assert list(mercer.__all__) == PUBLIC


def test_the_list_is_sorted_without_repeats() -> None:
    assert list(mercer.__all__) == sorted(set(mercer.__all__))


@pytest.mark.parametrize("name", PUBLIC)
def test_every_name_is_there(name: str) -> None:
    assert getattr(mercer, name) is not None
    assert name in dir(mercer)


def test_geometry_has_its_names() -> None:
    assert set(GEOMETRY) <= set(mercer.geometry.__all__)


def _documented() -> list[tuple[str, object]]:
    """Public classes and functions, and those of the public modules one step down."""
    found: list[tuple[str, object]] = []
    for name in PUBLIC:
        thing = getattr(mercer, name, None)
        if isinstance(thing, types.ModuleType):
            names = getattr(thing, "__all__", [n for n in vars(thing) if not n.startswith("_")])
            found += [(f"{name}.{n}", getattr(thing, n)) for n in names]
        elif name != "__version__":
            found.append((name, thing))
    return [(label, thing) for label, thing in found if inspect.isclass(thing) or inspect.isroutine(thing)]


DOCUMENTED = _documented()
LABELS = [label for label, _ in DOCUMENTED]


def _own_docstring(thing: object) -> str:
    text = (vars(thing).get("__doc__") if inspect.isclass(thing) else thing.__doc__) or ""
    # dataclass writes the signature into an empty docstring: that is not one
    if dataclasses.is_dataclass(thing) and inspect.isclass(thing) and text.startswith(f"{thing.__name__}("):
        return ""
    return text.strip()


@pytest.mark.parametrize(("label", "thing"), DOCUMENTED, ids=LABELS)
def test_every_public_thing_has_a_docstring(label: str, thing: object) -> None:
    assert _own_docstring(thing), f"mercer.{label} has no docstring of its own"


@pytest.mark.parametrize(("label", "thing"), DOCUMENTED, ids=LABELS)
def test_every_public_method_has_a_docstring(label: str, thing: object) -> None:
    if not inspect.isclass(thing) or not thing.__module__.startswith("mercer"):
        return
    for name, member in vars(thing).items():
        function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if not name.startswith("_") and (inspect.isfunction(function) or isinstance(function, property)):
            # getdoc also looks at the base class: an override need not say the same thing twice
            assert inspect.getdoc(getattr(thing, name)), f"mercer.{label}.{name} has no docstring"


def test_import_loads_nothing_slow() -> None:
    loaded = run_python(f"import sys, mercer; print([m for m in {NOT_LOADED!r} if m in sys.modules])")
    assert loaded == "[]"


def test_no_module_has_the_name_of_a_public_function() -> None:
    """Importing such a module would replace the function in the namespace of the package."""
    modules = {path.stem for path in Path(mercer.__file__).parent.iterdir() if path.suffix == ".py" or path.is_dir()}
    functions = {name for name, module in public_names().items() if module != "mercer"}
    assert not modules & functions


def test_functions_of_a_notebook_may_name_the_package() -> None:
    """Dask sends such a function by its value and refers to the modules that it names."""
    cloudpickle = pytest.importorskip("cloudpickle")
    assert pickle.loads(cloudpickle.dumps(mercer)) is mercer


def test_the_version_is_that_of_the_package() -> None:
    from importlib.metadata import version

    assert mercer.__version__ == version("mercer")
    citation = (Path(mercer.__file__).parents[2] / "CITATION.cff").read_text()
    assert f"\nversion: {mercer.__version__}\n" in citation


@pytest.mark.parametrize("asked", ["repaired([[0.0], [1.0]])", "_repr_latex_()", "_repr_html_()", "exp()", "dates()"])
def test_what_a_kernel_can_do_does_not_wait_for_other_modules(asked: str) -> None:
    """A new process that has loaded one kernel knows every operator."""
    run_python(f"import mercer; mercer.Linear().{asked}")


def test_the_reference_lists_every_name(project_root: Path) -> None:
    """docs/api.rst orders them by subject; a name that it does not list has no page."""
    listed = re.findall(r"^   (\w+)$", (project_root / "docs" / "api.rst").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(public_names())
