"""`make evidence`: run the claims that are stale or were never run, then write docs/evidence.md.

python -m benchmarks.evidence [--all] [--only PATTERN] [--cost quick|minutes|long] [--render] [--list] [--timeout SECONDS]

Claims about tests are checked first, in one run of pytest. The others run one after another. Every result is on disk
before the next one begins, so an interrupted run can be continued.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from fnmatch import fnmatchcase

from benchmarks.evidence.page import render
from benchmarks.evidence.registry import COSTS, ROOT, Claim, Section, blobs, fingerprint, load
from benchmarks.evidence.run import Record, run, run_tests, start_again, state, store, stored
from benchmarks.evidence.together import selection
from benchmarks.results import write_whole

PAGE = ROOT / "docs" / "evidence.md"


def parser() -> argparse.ArgumentParser:
    """Return the options of the command."""
    options = argparse.ArgumentParser(
        prog="python -m benchmarks.evidence", description="Check the claims of docs/evidence.md."
    )
    options.add_argument("--all", action="store_true", help="run claims that are up to date too")
    options.add_argument(
        "--only", metavar="PATTERN", action="append", help="claims whose id or section matches; * matches anything"
    )
    options.add_argument("--cost", choices=COSTS, default="long", help="leave out claims that cost more than this")
    options.add_argument("--render", action="store_true", help="write the page from the stored results and run nothing")
    options.add_argument("--list", action="store_true", help="print the claims that would run")
    options.add_argument("--timeout", type=float, help="seconds for each command instead of the limit of its cost")
    return options


def results(sections: Sequence[Section]) -> dict[str, Record]:
    """Return the stored results of all claims by id; results of claims that no longer exist are left out."""
    found = {}
    for section in sections:
        kept = stored(section.name)
        found.update({claim.id: kept[claim.id] for claim in section.claims if claim.id in kept})
    return found


def chosen(sections: Sequence[Section], asked: argparse.Namespace, files: dict[str, str]) -> list[Claim]:
    """Return the claims to run: the selected ones whose result is missing, stale or failed."""
    known = results(sections)
    picked = []
    for claim in (claim for section in sections for claim in section.claims):
        named = not asked.only or any(fnmatchcase(claim.id, p) or fnmatchcase(claim.section, p) for p in asked.only)
        cheap = COSTS.index(claim.cost) <= COSTS.index(asked.cost)
        now = state(known.get(claim.id), fingerprint(claim.depends, files))
        if named and cheap and (asked.all or now in {"never run", "stale", "failed"}):
            picked.append(claim)
    return picked


def keep(claims: Sequence[Claim], records: dict[str, Record]) -> bool:
    """Store and print the records of these claims; return whether one of them failed."""
    for claim in claims:
        record = records[claim.id]
        store(claim, record)
        print(f"{claim.id}: {record['status']}: {record['text'][:160]} ({record['seconds']} s)", flush=True)
    return any(record["status"] == "failed" for record in records.values())


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 if every command that ran succeeded, otherwise 1. A target that was not reached is a result, not an error."""
    asked = parser().parse_args(arguments)
    sections = load()
    files = blobs()
    claims = [] if asked.render else chosen(sections, asked, files)
    if asked.list:
        print("\n".join(f"{claim.cost:8} {claim.id:26} {claim.command}" for claim in claims))
        return 0
    tests = [claim for claim in claims if selection(claim)]
    failed = keep(tests, run_tests(tests, files, asked.timeout)) if tests else False
    groups: dict[str, list[Claim]] = {}
    for claim in claims:  # claims that are checked by the same command share one run of it
        if claim not in tests:
            groups.setdefault(claim.command, []).append(claim)
    for i, (command, group) in enumerate(groups.items(), 1):
        print(f"[{i}/{len(groups)}] {command}", file=sys.stderr, flush=True)
        start_again(group[0], files)
        failed |= keep(group, run(group, files, asked.timeout))
    write_whole(PAGE, render(sections, results(sections), blobs()))
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
