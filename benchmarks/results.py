"""Results on disk: one JSON and one Markdown file per group, rows replaced by name, each file whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from benchmarks.table import markdown

FORMAT = 1
FOLDER = Path(__file__).resolve().parent / "results"
Record = dict[str, Any]


def load(group: str, folder: Path = FOLDER) -> Record:
    """The results of a group so far; an empty set if there are none."""
    path = folder / f"{group}.json"
    if not path.exists():
        return {"format": FORMAT, "group": group, "runs": {}, "rows": {}}
    found: Record = json.loads(path.read_text(encoding="utf-8"))
    if found.get("format") != FORMAT:
        raise ValueError(f"{path.name} has format {found.get('format')!r}, this code writes {FORMAT}; move it away.")
    return found


def merge(results: Record, row: Record, run_id: str, run: Record, order: list[str]) -> Record:
    """Return the results with one row replaced or added. Runs that no row refers to any more are dropped.

    A row keeps the run that made it - date, command, versions, constants - so that rows of different days can stand in
    one table and still tell where they come from. `order` is that of the declarations; rows no longer declared go last.
    """
    rows: Record = {**results["rows"], row["name"]: {**row, "run": run_id}}
    place = {name: i for i, name in enumerate(order)}
    names = sorted(rows, key=lambda name: (place.get(name, len(place)), name))
    runs = {**results["runs"], run_id: run}
    used = {rows[name]["run"] for name in names}
    return {
        **results,
        "runs": {key: runs[key] for key in sorted(runs) if key in used},
        "rows": {name: rows[name] for name in names},
    }


def save(results: Record, folder: Path = FOLDER) -> None:
    """Write <group>.json and <group>.md."""
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / f"{results['group']}.json", json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    write_whole(folder / f"{results['group']}.md", markdown(results))


def write_whole(path: Path, text: str) -> None:
    """Write beside, flush to disk, rename: a reader or a crash never sees half a file."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(beside, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
