"""Count what the source is made of: `python -m benchmarks.house [--old REVISION] [--where]`.

Per layer: files, lines of code (docstrings, comments and blank lines left out), calls of `getattr` and `hasattr`, uses of a
private attribute of another object, and class names that stand in more than one module. `--where` lists the places of the
calls and the attributes, `--old` counts a revision of the repository instead of the working tree.
"""

from __future__ import annotations

import argparse
import ast
import io
import subprocess
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "src/mercer"


def sources(revision: str | None) -> Iterator[tuple[str, str]]:
    """Path below src/mercer and text of every module, of the working tree or of a revision."""
    if revision is None:
        for path in sorted((ROOT / PACKAGE).rglob("*.py")):
            yield path.relative_to(ROOT / PACKAGE).as_posix(), path.read_text(encoding="utf-8")
        return
    listed = _git("ls-tree", "-r", "--name-only", revision, PACKAGE).splitlines()
    for name in listed:
        if name.endswith(".py"):
            yield name.removeprefix(PACKAGE + "/"), _git("show", f"{revision}:{name}")


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def code_lines(text: str) -> int:
    """Lines that hold code: neither blank, nor comment, nor part of a docstring."""
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in skipped:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - _docstring_lines(ast.parse(text)))


def _docstring_lines(tree: ast.Module) -> set[int]:
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
                found.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return found


def questions(tree: ast.Module) -> list[int]:
    """Lines of calls of getattr and hasattr."""
    names = {"getattr", "hasattr"}
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name))
    return [call.lineno for call in calls if call.func.id in names]  # type: ignore[attr-defined]


def foreign(tree: ast.Module) -> list[int]:
    """Lines that use a private attribute of an object other than self, cls, super() or a module of this file's own."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            owner = node.value
            own = isinstance(owner, ast.Name) and owner.id in {"self", "cls"}
            above = isinstance(owner, ast.Call) and isinstance(owner.func, ast.Name) and owner.func.id == "super"
            if not own and not above:
                found.append(node.lineno)
    return found


@dataclass
class House:
    """The counts of every layer, the places of every class name, and the lines that are counted."""

    table: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    classes: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    asked: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    @property
    def doubled(self) -> dict[str, list[str]]:
        """Class names that stand in more than one module."""
        return {name: places for name, places in self.classes.items() if len(places) > 1}


def count(revision: str | None = None, lines_too: bool = True) -> House:
    """Count the working tree, or a revision; lines of code take most of the time.

    `asked` leaves out inputs and testing, `foreign` leaves out kernels.
    """
    found = House()
    for name, text in sources(revision):
        parts = name.split("/")
        layer = "/".join(parts[:2]) if parts[0] == "estimators" and len(parts) > 2 else parts[0]
        tree, lines = ast.parse(text), text.splitlines()
        asked, private = questions(tree), foreign(tree)
        found.table[layer].update(files=1, code=code_lines(text) if lines_too else 0, asked=len(asked), foreign=len(private))
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                found.classes[node.name].append(name)
        if parts[0] not in {"inputs", "testing"}:
            found.asked += [f"{name}:{line}: {lines[line - 1].strip()}" for line in asked]
        if parts[0] != "kernels":
            found.foreign += [f"{name}:{line}: {lines[line - 1].strip()}" for line in private]
    return found


def main() -> None:
    """Print the table, and the totals that the evidence page shows."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--old", metavar="REVISION")
    options.add_argument("--where", action="store_true")
    chosen = options.parse_args()
    found = count(chosen.old)
    if chosen.where:
        print("\n".join([*(f"asked: {line}" for line in found.asked), *(f"foreign: {line}" for line in found.foreign)]))
    columns = ("files", "code", "asked", "foreign")
    print(f"{'layer':24}" + "".join(f"{column:>9}" for column in columns))
    for layer, counts in sorted(found.table.items()):
        print(f"{layer:24}" + "".join(f"{counts[column]:9}" for column in columns))
    total = sum(found.table.values(), Counter())
    print(f"{'all':24}" + "".join(f"{total[column]:9}" for column in columns))
    print(f"\ncode lines: {total['code']:,} in {total['files']} files")
    print(f"getattr and hasattr outside inputs and testing: {len(found.asked)}")
    print(f"private attributes of others outside kernels: {len(found.foreign)}")
    print(f"class names in more than one place: {len(found.doubled)}")
    for name, places in sorted(found.doubled.items()) if chosen.where else []:
        print(f"  {name}: {', '.join(places)}")


if __name__ == "__main__":
    main()
