"""List the pictures of the documentation with their sizes, draw a sheet of thumbnails, and find texts that overlap.

    python scripts/list_pictures.py                          # list them all; thumbnails in build/thumbnails.png
    python scripts/list_pictures.py --texts docs/ridge.md    # run the chapter and compare the text boxes of its figures
    python scripts/list_pictures.py --texts                  # the same for all chapters and lectures

Exit code 1 if texts of a figure overlap.
"""

from __future__ import annotations

import sys
from itertools import combinations
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = [ROOT / "docs" / "pictures", ROOT / "build" / "chapter-figures", ROOT / "build" / "site" / "_images"]
#: Texts may touch by this share of the smaller box.
ALLOWED = 0.1


def pictures() -> list[Path]:
    """Return all pictures, without the thumbnails of the gallery."""
    return [path for folder in FOLDERS for path in sorted(folder.glob("*.png")) if "_thumb" not in path.name]


def overlapping_texts(figure: Any) -> list[tuple[str, str]]:
    """Return pairs of visible texts of a figure whose boxes overlap by more than `ALLOWED` of the smaller one."""
    from matplotlib.text import Text

    figure.canvas.draw()
    inside, boxes, hidden = figure.bbox, [], _labels_of_hidden_ticks(figure)
    for text in figure.findobj(Text):
        if text.get_visible() and text.get_text().strip() and id(text) not in hidden:
            box = text.get_window_extent()
            if box.width * box.height > 0 and inside.overlaps(box):
                boxes.append((text.get_text(), box))
    found = []
    for (first, a), (second, b) in combinations(boxes, 2):
        width = min(a.x1, b.x1) - max(a.x0, b.x0)
        height = min(a.y1, b.y1) - max(a.y0, b.y0)
        least = min(a.width * a.height, b.width * b.height)
        if width > 0 and height > 0 and width * height > ALLOWED * least:
            found.append((first, second))
    return found


def _labels_of_hidden_ticks(figure: Any) -> set[int]:
    """Return the identities of labels of ticks beyond the limits of their axis, which matplotlib keeps and does not draw."""
    found = set()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            room = 1e-6 * (high - low)
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                if not (axes.get_visible() and axes.axison and low - room <= tick.get_loc() <= high + room):
                    found |= {id(tick.label1), id(tick.label2)}
    return found


def sheet(paths: list[Path], target: Path, columns: int = 6, side: int = 260) -> None:
    """Write one picture with thumbnails of all pictures."""
    from PIL import Image

    rows = -(-len(paths) // columns)
    canvas = Image.new("RGB", (columns * side, rows * side), "white")
    for i, path in enumerate(paths):
        with Image.open(path) as opened:
            small = opened.convert("RGB")
        small.thumbnail((side - 10, side - 10))
        canvas.paste(small, (i % columns * side + 5, i // columns * side + 5))
    target.parent.mkdir(parents=True, exist_ok=True)
    canvas.save(target)


def check_chapter(path: Path) -> list[str]:
    """Run a chapter and return one line per pair of overlapping texts in its figures."""
    import re

    sys.path.insert(0, str(ROOT / "docs" / "_extensions"))
    import chapter_figures

    found: list[str] = []

    class Checked(chapter_figures.Chapter):
        def drawn(self, figure: Any) -> None:
            number = self.figures + 1
            found.extend(f"{path.name}, figure {number}: {a!r} and {b!r}" for a, b in overlapping_texts(figure))

    chapter = Checked(path)
    for header in re.findall(r"^```\{chapter-figure\} (.*)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE):
        chapter.picture(header)
    return found


def main(arguments: list[str]) -> int:
    """Print the list, or the overlaps."""
    if arguments[:1] == ["--texts"]:
        everything = [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/lectures/*.md")]
        chapters = [Path(name) for name in arguments[1:]] or sorted(everything)
        found = [line for path in chapters for line in check_chapter(path)]
        print("\n".join(found) or "No texts overlap.")
        return bool(found)
    from PIL import Image

    paths = pictures()
    for path in paths:
        with Image.open(path) as opened:
            print(f"{path.relative_to(ROOT)}  {opened.width} x {opened.height}  {path.stat().st_size // 1024} KiB")
    sheet(paths, ROOT / "build" / "thumbnails.png")
    print(f"{len(paths)} pictures; thumbnails in build/thumbnails.png")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
