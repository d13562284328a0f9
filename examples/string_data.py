"""The strings of the examples: real sets from the folder of shared data, or from another one."""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def arguments(text: str | None, rows: int | None = None) -> argparse.ArgumentParser:
    """A parser with what every example on strings takes."""
    parser = argparse.ArgumentParser(description=(text or "").split("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA, help="the folder with the str_*.json.gz files")
    parser.add_argument("--out", type=Path, help="a folder to write an HTML page of explanations to")
    if rows is not None:
        parser.add_argument("--rows", type=int, default=rows, help="how many strings, drawn by seed")
    return parser


def load(name: str, folder: Path) -> dict[str, Any]:
    """One set: `strings` with `labels` and `label_names`, or `tasks`."""
    path = folder / f"str_{name}.json.gz"
    if not path.exists():
        sys.exit(f"{path} is not there; give the folder that holds it with --data.")
    with gzip.open(path) as file:
        found: dict[str, Any] = json.load(file)
    return found


def labeled(name: str, folder: Path, rows: int | None = None) -> tuple[list[str], np.ndarray]:
    """Strings and the names of their classes, in random order by seed, at most `rows`."""
    found = load(name, folder)
    order = np.random.default_rng(0).permutation(len(found["strings"]))[:rows]
    names = np.array([label.split()[0] for label in found["label_names"]])
    return [found["strings"][i] for i in order], names[np.array(found["labels"])[order]]


def write_page(folder: Path | None, name: str, explanations: list[Any], headings: list[str], title: str) -> None:
    """Write the explanations as an HTML page, if a folder was given."""
    if folder is None:
        return
    from mercer.report.strings import explanation_page

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.html"
    path.write_text(explanation_page(explanations, title=title, headings=headings), encoding="utf-8")
    print(f"\nexplanations: {path}")
