"""Render the claims and their latest results as `docs/evidence.md`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.evidence.registry import Claim, Section, fingerprint
from benchmarks.evidence.run import state

#: Longest row of the page, in characters.
WIDTH = 200
#: Room for the date, the letter of the run and the state, if the result is good and if it is not.
CHECKED, CHECKED_BAD = 20, 32
SHOWN = {
    "failed": "**FAILED**",
    "not reached": "**NOT REACHED**",
    "stale": "stale",
    "never run": "never run",
    "passed": "ok",
}

HEAD = """\
# Evidence

<!-- Made by `make evidence` from benchmarks/evidence; do not edit. -->

Each claim, its latest result, and the command that checks it. `make evidence` runs every claim that is stale or was never
run, `make evidence ONLY=id` a single one, `make evidence COST=quick` those that take less than a minute each.

A claim is *stale* if a source file on which it depends has changed since its result was measured. Times depend on the
machine; ratios of times depend on it less. Numbers that were not reached stay on the page. The whole
output of each command is in `benchmarks/evidence/results`. How the results of version 0.2.0 came about is described in
[its evidence page](../benchmarks/results/evidence-0.2.0.md).
"""


def render(sections: list[Section], results: Mapping[str, Mapping[str, Any]], files: Mapping[str, str]) -> str:
    """Return the whole page; `results` maps claims to records, `files` maps files to their present blob hashes."""
    runs = _runs(results)
    states = {
        claim.id: state(results.get(claim.id), fingerprint(claim.depends, files))
        for section in sections
        for claim in section.claims
    }
    parts = [HEAD, _summary(list(states.values())), "Runs:\n", *[f"- {letter}: {text}" for text, letter in runs.items()], ""]
    for section in sections:
        parts += [f"## {section.title}", ""]
        parts += [section.note, ""] if section.note else []
        parts += ["| id | claim | latest result | checked |", "|---|---|---|---|"]
        parts += [row(claim, results.get(claim.id), states[claim.id], runs) for claim in section.claims]
        parts += ["", "| id | command |", "|---|---|"]
        parts += [f"| {claim.id} | `{_cell(claim.command)}` |" for claim in section.claims]
        links = ", ".join(f"[{link.rpartition('/')[2]}](../{link})" for link in section.links)
        parts += ["", *([f"More: {links}", ""] if links else [])]
    return "\n".join(parts).rstrip() + "\n"


def row(claim: Claim, record: Mapping[str, Any] | None, now: str, runs: Mapping[str, str]) -> str:
    """Return the row of a claim, at most WIDTH characters long; the result is cut if it is longer than its room."""
    checked = SHOWN[now] if record is None else f"{record['date']} {runs[_run(record)]} {SHOWN[now]}"
    if record is not None and now == "stale" and record["status"] != "passed":
        checked = checked.replace("stale", f"{SHOWN[record['status']].strip('*')}, stale")
    start = f"| {claim.id} | {_cell(claim.claim)} | "
    good = record is None or record["status"] == "passed"
    room = WIDTH - len(start) - len(" |  |") - (CHECKED if good else CHECKED_BAD)
    text = _cell(record["text"]) if record is not None else ""
    return f"{start}{text if len(text) <= room else text[: room - 1].rstrip() + '…'} | {checked} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _run(record: Mapping[str, Any]) -> str:
    where = record["machine"]
    avx = "with AVX-512" if where["avx512"] else "without AVX-512"
    return f"commit {record['commit']}, {where['cpu']}, {where['cores']} cores, {avx}"


def _runs(results: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Letters of the commits and machines with which results were measured, the oldest first."""
    first: dict[str, str] = {}
    for record in results.values():
        first[_run(record)] = min(record["date"], first.get(_run(record), record["date"]))
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    order = sorted(first, key=lambda text: (first[text], text))
    return {text: letters[i] if i < 26 else f"{letters[i // 26 - 1]}{letters[i % 26]}" for i, text in enumerate(order)}


def _summary(states: list[str]) -> str:
    count = ", ".join(f"{states.count(name)} {name}" for name in ("passed", "stale", "not reached", "failed", "never run"))
    return f"{len(states)} claims: {count}.\n"
