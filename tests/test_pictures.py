"""The script that lists pictures finds texts that overlap."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def script() -> Any:
    spec = importlib.util.spec_from_file_location("list_pictures", ROOT / "scripts" / "list_pictures.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_overlapping_texts_are_found_and_others_are_not() -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4, 3))
    axis = figure.add_subplot()
    axis.text(0.2, 0.5, "first words")
    axis.text(0.2, 0.8, "elsewhere")
    assert script().overlapping_texts(figure) == []
    axis.text(0.22, 0.5, "second words")
    assert script().overlapping_texts(figure) == [("first words", "second words")]


def test_labels_of_ticks_beyond_the_limits_are_not_drawn() -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4, 3))
    axis = figure.add_subplot()
    axis.set(xticks=[0.0, 0.5, 1.0, -0.13], yticks=[0.0, 1.0, -0.13], xlim=(0.0, 1.0), ylim=(0.0, 1.0))
    figure.canvas.draw()
    axis.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0))
    assert script().overlapping_texts(figure) == []


def test_the_sheet_holds_all_pictures(tmp_path: Path) -> None:
    from PIL import Image

    paths = [tmp_path / f"{i}.png" for i in range(8)]
    for path in paths:
        Image.new("RGB", (300, 100), "red").save(path)
    script().sheet(paths, tmp_path / "sheet.png")
    with Image.open(tmp_path / "sheet.png") as opened:
        assert opened.size == (6 * 260, 2 * 260)
        assert opened.getpixel((1 * 260 + 100, 260 + 40)) == (255, 0, 0)
