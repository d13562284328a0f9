"""Print docstrings of the source picked at random, with file and line: `python scripts/random_docstrings.py [--seed 1]`.

Reading a random sample shows whether the texts follow the rules of writing, where a chosen sample would show the best ones.
"""

from __future__ import annotations

import argparse
import ast
import random
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def docstrings(folder: Path) -> list[tuple[str, int, str, str]]:
    """Return file, line, name and text of every docstring below a folder, in order."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            text = ast.get_docstring(node) if isinstance(node, DOCUMENTED) else None
            if text:
                name = path.relative_to(folder).as_posix()
                found.append((name, getattr(node, "lineno", 1), getattr(node, "name", "module"), text))
    return sorted(found)


def main() -> None:
    """Print the sample."""
    parser = argparse.ArgumentParser(description="Print docstrings of the source, picked at random.")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=ROOT / "src")
    options = parser.parse_args()
    every = docstrings(options.folder)
    for file, line, name, text in sorted(random.Random(options.seed).sample(every, min(options.count, len(every)))):
        print(f"{file}:{line}: {name}\n{textwrap.indent(text, '    ')}\n")
    print(f"{min(options.count, len(every))} of {len(every)} docstrings, seed {options.seed}")


if __name__ == "__main__":
    main()
