"""`python -m benchmarks`: measure the machine, race the chosen rows, print the table and keep it."""

from __future__ import annotations

import argparse
import datetime
import difflib
import shlex
import sys
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import machine, results, table
from benchmarks.outcome import Record, run_row, troubles
from benchmarks.row import Row
from benchmarks.rows import ON_REQUEST, load_rows

#: Above this load somebody else is computing, and times are not to be trusted.
BUSY = 0.5


def parser() -> argparse.ArgumentParser:
    """The options, without doing anything."""
    options = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    options.add_argument("--row", nargs="+", action="extend", default=[], metavar="NAME", help="only these rows; * matches")
    options.add_argument("--group", help="only the rows of this group")
    options.add_argument("--long", action="store_true", help="the rows that take minutes, and only those")
    options.add_argument("--list", action="store_true", help="print the rows and their targets, and run nothing")
    options.add_argument("--repeats", type=_positive, metavar="N", help="rounds of the race instead of the row's own number")
    options.add_argument("--no-memory", action="store_true", help="leave out the peak memory")
    options.add_argument("--no-save", action="store_true", help="print only, leave benchmarks/results alone")
    return options


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"a whole number >= 1, not {text}")
    return number


def choose(rows: Sequence[Row], names: Sequence[str], group: str | None, long: bool) -> list[Row]:
    """Return the selected rows. A row selected by name runs, however long it takes."""
    if group is not None and group not in {row.group for row in rows}:
        known = ", ".join(sorted({row.group for row in rows}))
        raise ValueError(f"no group {group!r}; there are {known}.")
    pool = [row for row in rows if group in (None, row.group)]
    if not names:
        asked = [row for row in pool if group is not None or row.group not in ON_REQUEST]
        return [row for row in asked if row.long == long]
    for name in names:
        if not any(fnmatchcase(row.name, name) for row in pool):
            near = difflib.get_close_matches(name, [row.name for row in pool], n=3)
            hint = f"; did you mean {', '.join(near)}?" if near else "; --list names them all."
            raise ValueError(f"no row {name!r}{hint}")
    return [row for row in pool if any(fnmatchcase(row.name, name) for name in names)]


def listing(rows: Sequence[Row]) -> str:
    """Names, peers and targets."""
    lines = []
    for row in rows:
        claims = ", ".join(claim.text for claim in row.claims) or "no target"
        peers = ", ".join(peer.name + ("" if peer.installed else " (not installed)") for peer in row.peers) or "no peer"
        lines.append(f"{row.group:10} {row.name:36} {peers:32} {claims}{'  [long]' if row.long else ''}")
    return "\n".join(lines)


def command(asked: argparse.Namespace) -> str:
    """The command that makes the same run, without anything of this machine in it."""
    words = ["python", "-m", "benchmarks"]
    if asked.row:
        words += ["--row", *asked.row]
    if asked.group:
        words += ["--group", asked.group]
    if asked.repeats:
        words += ["--repeats", str(asked.repeats)]
    words += [flag for flag, on in (("--long", asked.long), ("--no-memory", asked.no_memory)) if on]
    return shlex.join(words)


def start_run(asked: argparse.Namespace, rows: Sequence[Row]) -> tuple[str, dict[str, Any], machine.Constants]:
    """Measure the machine and note what is about to run: (id, record, constants)."""
    described = machine.describe()
    if described["load"] is not None and described["load"] > BUSY:
        _say(f"The machine is busy (load {described['load']}): do not trust these times.")
    _say("measuring the machine")
    constants = machine.measure()
    now = datetime.datetime.now(datetime.UTC)
    peers = {one.package for row in rows for one in row.contestants if one.package is not None}
    record = {
        "date": now.strftime("%Y-%m-%d %H:%M UTC"),
        "command": command(asked),
        "machine": described,
        "constants": constants.as_dict(),
        "versions": machine.versions([*machine.PACKAGES, *sorted(peers - set(machine.PACKAGES))]),
    }
    return now.strftime("%Y%m%d-%H%M%S"), record, constants


def run_all(asked: argparse.Namespace, rows: Sequence[Row], declared: Sequence[Row], folder: Path) -> list[Record]:
    """Run the rows one by one; each is on disk before the next begins, and Ctrl-C loses at most one row."""
    run_id, run, constants = start_run(asked, rows)
    order = [row.name for row in declared]
    found = []
    for i, row in enumerate(rows, 1):
        say = partial(_say_of, f"[{i}/{len(rows)}] {row.name}")
        record = run_row(row, constants, asked.repeats, not asked.no_memory, say)
        found.append({**record, "run": run_id})
        if not asked.no_save:
            results.save(results.merge(results.load(row.group, folder), record, run_id, run, order), folder)
    _say("")
    print(table.rows_table(found))
    print()
    print(table.runs_table({run_id: run}))
    return found


def summary(found: Sequence[Record]) -> str:
    """How many targets were met, and which were not."""
    claims = [(record["name"], claim) for record in found for claim in record["claims"]]
    met = sum(claim["verdict"] == "met" for _, claim in claims)
    lines = [f"{met} of {len(claims)} targets met."]
    for name, claim in claims:
        if claim["verdict"] != "met":
            value = "no value" if claim["value"] is None else f"{claim['value']:.3g}"
            lines.append(f"  {claim['verdict']}: {name}: {claim['text']} (is {value})")
    return "\n".join(lines)


def evidence(record: Record) -> str:
    """Return the result of a row in one line, as the evidence page shows it."""
    ours = record["mercer"]
    parts = []
    for peer in record["peers"]:
        if "ratio" in peer:
            parts.append(
                f"{_digits(peer['ratio'])}x {peer['name']} ({_digits(ours['median'])} s against {_digits(peer['median'])} s)"
            )
    if not parts and "median" in ours:
        parts.append(f"{_digits(ours['median'])} s")
    if "peak_bytes" in ours:
        parts.append(f"peak {ours['peak_bytes'] / 1e6:.0f} MB")
    parts += [f"{name} {value:.4g}" for name, value in ours.get("quality", {}).items()]
    for claim in record["claims"]:
        if claim["verdict"] != "met":
            value = "no value" if claim["value"] is None else f"{claim['value']:.3g}"
            parts.append(f"NOT REACHED: {claim['text']} (is {value})")
    return f"evidence: {record['name']}: {', '.join(parts) or 'no result'}"


def _digits(value: float) -> str:
    """Three digits without an exponent where possible: 1676, 22.7, 2.55, 0.0281."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _say(text: str) -> None:
    """Progress goes to stderr: on a terminal it stays on one line."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
    elif text:
        print(text, file=sys.stderr, flush=True)


def _say_of(row: str, text: str) -> None:
    _say(f"{row}: {text}")


def main(arguments: Sequence[str] | None = None, folder: Path = results.FOLDER) -> int:
    """Return 0 if everything ran, 1 if a contestant failed or results differ, 2 if the command makes no sense.

    A missed target is a result, not an error.
    """
    asked = parser().parse_args(arguments)
    declared = load_rows()
    try:
        rows = choose(declared, asked.row, asked.group, asked.long)
    except ValueError as error:
        print(f"python -m benchmarks: {error}", file=sys.stderr)
        return 2
    if asked.list:
        # without a choice, the list is of everything there is
        print(listing(rows if asked.row or asked.group or asked.long else declared))
        return 0
    if not rows:
        print("No rows to run; --list names them all.", file=sys.stderr)
        return 0
    found = run_all(asked, rows, declared, folder)
    print()
    print(summary(found))
    print("\n".join(evidence(record) for record in found))
    wrong = [line for record in found for line in troubles(record)]
    print("\n".join(wrong), end="\n" if wrong else "", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
