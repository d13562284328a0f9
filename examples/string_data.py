"""The strings of the examples: real sets from a folder of data, what comes with mercer, or made-up ones in their form."""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

import mercer

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def arguments(text: str | None, rows: int | None = None) -> argparse.ArgumentParser:
    """A parser with what every example on strings takes."""
    parser = argparse.ArgumentParser(description=(text or "").split("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA, help="the folder with the str_*.json.gz files")
    parser.add_argument("--out", type=Path, help="a folder for pictures and an HTML page of explanations")
    if rows is not None:
        parser.add_argument("--rows", type=int, default=rows, help="how many strings, drawn by seed")
    return parser


def load(name: str, folder: Path) -> dict[str, Any]:
    """One set: `strings` with `labels` and `label_names`, or `tasks`."""
    path = folder / f"str_{name}.json.gz"
    if not path.exists():
        return _shipped(name)
    with gzip.open(path) as file:
        found: dict[str, Any] = json.load(file)
    return found


def _shipped(name: str) -> dict[str, Any]:
    """What every clone has: the names come with mercer; for the sets that may not be shipped, made-up ones stand in."""
    if name == "names_language":
        names, languages = mercer.datasets.load_names().table.to_numpy().T
        known, labels = np.unique(languages.astype(str), return_inverse=True)
        return {"strings": [str(n) for n in names], "labels": labels.tolist(), "label_names": known.tolist()}
    from made_up_strings import made_up

    print(f"The real strings ({name}) are not beside this project: these are made up, in the same form.\n")
    return made_up(name)


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
