"""The files that a call passes through, in order: `make show-walk`. With --page they are written into docs/design.md.

Every call of a Python function of mercer is recorded, in all threads. A file is printed when it is first entered, indented
by the number of files above it in the call stack. Each walk ends with the pairs of files of one family that call each
other. If calls go down the layers and return once, there are no such pairs except for hooks that a base class calls.
The last lines count the files of every walk, and the conversions of rows (`as_vectors`) in `mercer fit` on 120 rows.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import mercer

ROOT = str(Path(mercer.__file__).parent) + "/"

#: The page that shows the walks, and the lines around them.
PAGE = Path(__file__).resolve().parents[1] / "docs" / "design.md"
BEGIN, END = "<!-- walk -->\n```text\n", "\n```\n<!-- end of walk -->"


@dataclass
class Walk:
    """Files in the order of their first call with their depth then, calls from file to file, and calls by function."""

    files: dict[str, int] = field(default_factory=dict)  # name -> depth at first entry
    functions: dict[str, int] = field(default_factory=dict)  # inputs/vectors.py:as_vectors -> number of calls
    calls: dict[tuple[str, str], int] = field(default_factory=dict)

    def ping_pong(self) -> list[tuple[str, str]]:
        """Pairs of files of one family of which each calls the other."""
        return [
            (one, other)
            for one, other in self.calls
            if family(one) is not None and family(one) == family(other) and one < other and (other, one) in self.calls
        ]

    def __str__(self) -> str:
        lines = ["  " * depth + name for name, depth in self.files.items()]
        pairs = self.ping_pong()
        lines.append(f"{len(self.files)} files; pairs of one family that call each other: {len(pairs)}")
        lines += [f"  {one} <-> {other}" for one, other in pairs]
        return "\n".join(lines)


def family(name: str) -> str | None:
    """estimators/svm/fit.py -> svm."""
    parts = name.split("/")
    return parts[1] if parts[0] == "estimators" and len(parts) == 3 else None


def walk(action: Callable[[], Any]) -> Walk:
    """Run an action and watch where it goes."""
    found = Walk()
    lock = threading.Lock()
    local = threading.local()

    def watch(frame: Any, event: str, argument: Any) -> None:
        path = frame.f_code.co_filename
        if not path.startswith(ROOT) or frame.f_code.co_name == "<module>" or event not in ("call", "return"):
            return
        name = path[len(ROOT) :]
        stack = local.__dict__.setdefault("stack", [])
        if event == "return":
            if stack and stack[-1] == name:
                stack.pop()
            return
        with lock:
            depth = len(dict.fromkeys(stack))
            found.files.setdefault(name, depth)
            function = f"{name}:{frame.f_code.co_name}"
            found.functions[function] = found.functions.get(function, 0) + 1
            if stack and stack[-1] != name:
                found.calls[stack[-1], name] = found.calls.get((stack[-1], name), 0) + 1
        stack.append(name)

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        action()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return found


def actions(folder: str) -> dict[str, Callable[[], Any]]:
    """The calls that the design page shows, on small data."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    labels = np.digitize(X[:, 0], [-0.4, 0.4])
    fitted = mercer.SVC().fit(X, labels)
    return {
        "k(X)": lambda: mercer.Gaussian()(X),
        "KernelRidge.fit": lambda: mercer.KernelRidge().fit(X, y),
        "KernelRidgeCV.fit": lambda: mercer.KernelRidgeCV().fit(X, y),
        "SVC.fit": lambda: mercer.SVC().fit(X, labels),
        "SVC.predict": lambda: fitted.predict(X),
        "GaussianProcessRegressor.fit": lambda: mercer.GaussianProcessRegressor().fit(X, y),
        "mercer fit": fit_command(folder, X),
    }


def fit_command(folder: str, X: Any) -> Callable[[], None]:  # (n, d)
    """Return `mercer fit` on a file of these rows, whose target is the first column."""
    table = Path(folder) / f"{len(X)}-rows.csv"
    names = ",".join(f"x{column}" for column in range(X.shape[1]))
    rows = [",".join(f"{value:.6f}" for value in row) for row in np.column_stack([X, X[:, 0]])]
    table.write_text(f"{names},y\n" + "\n".join(rows) + "\n", encoding="utf-8")

    def run() -> None:
        from mercer.cli.app import app

        with contextlib.suppress(SystemExit):  # a command ends by its exit code
            app(["fit", str(table), "--target", "y", "--out", f"{folder}/out", "--json"])

    return run


def conversions(folder: str) -> int:
    """Return how often `mercer fit` on 120 rows converts rows to vectors."""
    found = quietly(fit_command(folder, np.random.default_rng(0).normal(size=(120, 3))))
    return found.functions.get("inputs/vectors.py:as_vectors", 0)


def quietly(action: Callable[[], Any]) -> Walk:
    """Return the walk of the second run of an action: the first loads modules, and running their bodies is no part of it."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        action()
        return walk(action)


def on_page(text: str) -> dict[str, set[str]]:
    """Return the files of each walk in a listing."""
    found: dict[str, set[str]] = {}
    for block in text.split("== ")[1:]:
        name, *lines = block.splitlines()
        found[name] = {line.strip() for line in lines if line.endswith(".py") and "<->" not in line}
    return found


def main(words: Sequence[str]) -> None:
    """Print every walk."""
    walks, counts = [], []
    with tempfile.TemporaryDirectory() as folder:
        for name, action in actions(folder).items():
            found = quietly(action)
            walks.append(f"== {name}\n{found}\n")
            counts.append(f"{name} {len(found.files)}")
        listing = "\n".join([*walks, "Files: " + ", ".join(counts)])
        print(listing)
        print(f"as_vectors in mercer fit on 120 rows: {conversions(folder)} calls")
    if "--page" in words:
        text = PAGE.read_text(encoding="utf-8")
        before, after = text.split(BEGIN)[0], text.split(END)[1]
        PAGE.write_text(before + BEGIN + listing + END + after, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
