"""Try the mercer that is installed: a few calls of each kind, with the core dependencies or with the extra `cli`.

`check_dist.py` runs it in a fresh environment, from a folder outside the tree.
"""

from __future__ import annotations

import csv
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from operator import methodcaller
from pathlib import Path

import numpy as np
from sklearn.base import is_classifier

import mercer
from mercer.cli.exit_codes import UNAVAILABLE
from mercer.errors import install_command

ROOT = Path(__file__).resolve().parents[1]


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command that the installation made beside this Python."""
    program = Path(sys.executable).with_name("mercer")
    return subprocess.run([program, *arguments], capture_output=True, encoding="utf-8", check=False)


def data() -> tuple[np.ndarray, np.ndarray]:
    """Forty rows of a smooth function."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    return X, np.sin(X[:, 0]) + 0.1 * X[:, 1]


def travels(name: str) -> None:
    """Fit an estimator, save it, load it, and compare what the loaded model says."""
    X, y = data()
    kind = getattr(mercer, name)
    model = kind(mercer.KernelRidge().fit(X[:20], y[:20])) if name == "ConformalRegressor" else kind()
    if name.startswith("Table"):
        model.set_params(time=0.2)
    if name == "KernelCCA":
        X = [X[:, :1], X[:, 1:]]
        model.fit(X)
    else:
        model.fit(X, y > 0 if is_classifier(model) else y)
    mercer.save(model, "any.mercer")
    again = mercer.load("any.mercer")
    method = next(method for method in ("predict", "transform", "update") if method in dir(model))
    for one, other in zip(*(as_list(methodcaller(method, X)(either)) for either in (model, again)), strict=True):
        assert np.array_equal(one, other), name


def as_list(found: object) -> list[object]:
    """Return the parts of a result that may have several views."""
    return list(found) if isinstance(found, (list, tuple)) else [found]


def core() -> None:
    """Try what needs only the core dependencies, and the messages where an extra is needed."""
    X, y = data()
    model = mercer.KernelRidge(mercer.Gaussian(1.0), alpha=1e-2).fit(X, y)
    assert model.score(X, y) > 0.9
    assert mercer.SVC(mercer.Gaussian(1.0), C=10.0).fit(X, y > 0).score(X, y > 0) > 0.9
    texts = ["free prize, call now", "claim your prize", "see you at nine", "home soon"]
    words = mercer.SVC(mercer.Spectrum(4, shortest=2).normalized(), C=10.0).fit(texts, ["spam", "spam", "ham", "ham"])
    assert words.predict(["a prize for you"]).tolist() == ["spam"]
    assert mercer.Gaussian(1.0).certificate().status == "valid"
    # every table that comes with the package, read from where it was installed
    for load in (getattr(mercer.datasets, name) for name in mercer.datasets.__all__):
        load()
    assert find_spec("typer") is None, "typer is in the environment: this is not the core alone"
    for name in sorted(name for name in dir(mercer) if isinstance(getattr(mercer, name), type)):
        if "fit" in dir(getattr(mercer, name)):
            travels(name)
    mercer.save(model, "model.mercer")  # check_dist.py measures a process that loads it
    told = command("--version")
    assert told.returncode == UNAVAILABLE and install_command("cli") in told.stderr and "Traceback" not in told.stderr, told


def cli() -> None:
    """Try what the extra adds: the command."""
    X, y = data()
    told = command("--version")
    assert (told.returncode, told.stdout.strip()) == (0, version("mercer")), told
    with open("table.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["a", "b", "y"], *np.column_stack([X, y]).tolist()])
    fitted = command("fit", "table.csv", "--target", "y", "--out", "results")
    assert fitted.returncode == 0 and Path("results", "report.html").is_file(), fitted
    predicted = command("predict", "results", "table.csv", "--out", "new.csv")
    assert predicted.returncode == 0 and len(Path("new.csv").read_text(encoding="utf-8").splitlines()) == 41, predicted


if __name__ == "__main__":
    place = Path(mercer.__file__).resolve()
    assert not place.is_relative_to(ROOT), f"mercer was imported from the tree: {place}"
    assert mercer.__version__ == version("mercer"), (mercer.__version__, version("mercer"))
    assert all((place.parent / name).is_file() for name in ("py.typed", "__init__.pyi"))
    {"core": core, "cli": cli}[sys.argv[1]]()
    print(f"mercer {mercer.__version__} works ({sys.argv[1]})")
