"""Print the lower bounds of pyproject.toml as constraints for pip: numpy>=2.0 becomes numpy==2.0.

The bounds are written once, in pyproject.toml, and `make test-oldest` runs tests at exactly these versions.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
#: The name, the extras of it that a constraint may not repeat, and the bound: dask[array]>=2024.12
REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[^]]*\])?>=([\w.]+)")
#: The project's own extras: mercer[cli,plots]
OWN = re.compile(r"mercer\[([\w,-]+)\]")


def requirements(extras: dict[str, list[str]], name: str) -> Iterator[str]:
    """What an extra asks for, with the project's own extras that it names."""
    for line in extras[name]:
        if own := OWN.fullmatch(line):
            for inner in own[1].split(","):
                yield from requirements(extras, inner)
        else:
            yield line


def constraint(line: str) -> str:
    """The lower bound as the only version."""
    found = REQUIREMENT.match(line)
    if found is None:
        sys.exit(f"pyproject.toml: {line!r} has no lower bound; write it as name>=version")
    return f"{found[1]}=={found[2]}"


if __name__ == "__main__":
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    lines = [*project["dependencies"], *requirements(project["optional-dependencies"], "dev")]
    print("\n".join(sorted({constraint(line) for line in lines})))
