"""List formulas that stand as plain text in the pages of the documentation.

    python scripts/plain_formulas.py                 # docs/*.md and docs/lectures/*.md
    python scripts/plain_formulas.py docs/ridge.md

Looked for are fractions, sums, roots, powers and norms outside of code, formulas and links. Exit code 1 if any is found.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
#: Records of the project, and lists of what slides print, are not pages that teach.
LEFT_OUT = {"evidence.md", "design.md", "contributors.md", "coverage.md", "misprints.md", "conventions.md"}
#: Parts of a page that are no prose: blocks, formulas, code, targets of links, comments.
NO_PROSE = [r"^```.*?^```$", r"\$\$.*?\$\$", r"\$[^$]+\$", r"`[^`]*`", r"\]\([^)]*\)", r"<!--.*?-->"]
PATTERNS = {
    "sum": r"\bsum_\w|Σ|∑|\bmean_\w",
    "root": r"\bsqrt\(|√\(?\w",
    "inverse or power": r"\^-?\(?[\w-]|⁻¹",
    "norm": r"\|\|\w|‖\w",
    "transposed product": r"\b[A-Za-z]'[A-Za-z]\b(?<!n't)(?<!'s)(?<!'d)|\(\w\)'\w",
    "inner product": r"<\w[\w()]*, \w[\w()]*>",
    "fraction": r"\)\s*/\s*\(|\b[a-z]\([a-z], [a-z]\) / |\b\d+ ?/ ?sqrt",
}


def prose(text: str) -> list[str]:
    """Return the lines of a page, with everything that is no prose blanked out."""
    for pattern in NO_PROSE:
        blank = lambda found: re.sub(r"[^\n]", " ", found.group())  # noqa: E731
        text = re.sub(pattern, blank, text, flags=re.MULTILINE | re.DOTALL)
    return text.split("\n")


def plain_formulas(path: Path) -> list[str]:
    """Return one line per formula that stands as plain text."""
    found = []
    for number, line in enumerate(prose(path.read_text(encoding="utf-8")), start=1):
        for kind, pattern in PATTERNS.items():
            if hit := re.search(pattern, line):
                found.append(f"{path.name}:{number}: {kind}: {line.strip()[max(0, hit.start() - 40) :][:90]}")
                break
    return found


def pages() -> list[Path]:
    """Return the chapters that are checked."""
    return [path for path in sorted([*DOCS.glob("*.md"), *DOCS.glob("lectures/*.md")]) if path.name not in LEFT_OUT]


def main(arguments: list[str]) -> int:
    """Print what was found."""
    chosen = [Path(name) for name in arguments] or pages()
    found = [line for path in chosen for line in plain_formulas(path)]
    print("\n".join(found) or f"No plain formula in {len(chosen)} pages.")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
