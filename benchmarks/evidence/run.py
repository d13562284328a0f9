"""Run the command of a claim, condense its output to one line, and keep the result."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.evidence import together
from benchmarks.evidence.registry import ROOT, Claim, commit, fingerprint
from benchmarks.results import write_whole

RESULTS = Path(__file__).resolve().parent / "results"
#: Seconds after which a command is stopped.
TIMEOUTS = {"quick": 600.0, "minutes": 3600.0, "long": 8 * 3600.0}
#: At most this many characters of a command's output are kept beside its one line.
KEPT = 4000
Record = dict[str, Any]


def stored(section: str, folder: Path = RESULTS) -> dict[str, Record]:
    """Return the results of a section by claim."""
    path = folder / f"{section}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def store(claim: Claim, record: Record, folder: Path = RESULTS) -> None:
    """Write the result of one claim; the file is replaced as a whole."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {**stored(claim.section, folder), claim.id: record}
    text = json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    write_whole(folder / f"{claim.section}.json", text)


def state(record: Record | None, sources: str) -> str:
    """Return "never run", "stale", or the status of a result: "passed", "failed" or "not reached"."""
    if record is None:
        return "never run"
    return record["status"] if record["sources"] == sources else "stale"


def here() -> dict[str, Any]:
    """Describe this machine: processor, cores, and whether it has AVX-512."""
    flags = ""
    with contextlib.suppress(OSError):
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    described = machine.describe()
    return {"cpu": described["cpu"], "cores": described["threads"], "avx512": "avx512f" in flags}


def run(claims: list[Claim], files: Mapping[str, str], timeout: float | None = None) -> dict[str, Record]:
    """Run the command that these claims share, once, and return a record for each of them."""
    first = claims[0]
    begin = time.perf_counter()
    output, code = "", 0
    for step in first.steps:
        text, code = execute(step, timeout or TIMEOUTS[first.cost])
        output += text
        if code:
            break
    seconds = time.perf_counter() - begin
    records = {}
    for claim in claims:
        text = condense(claim.condense, output)
        records[claim.id] = record(claim, text, status(text, code), output, seconds, files)
    return records


def run_tests(claims: list[Claim], files: Mapping[str, str], timeout: float | None = None) -> dict[str, Record]:
    """Run the tests of all these claims in one pytest process and return a record for each claim."""
    found, output = together.check(claims, execute, timeout or TIMEOUTS["minutes"])
    records = {}
    for claim in claims:
        text, good, seconds = found[claim.id]
        text = f"{text} in {seconds:.1f} s"
        records[claim.id] = record(claim, text, "passed" if good else "failed", text if good else output, seconds, files)
    return records


def record(claim: Claim, text: str, status: str, output: str, seconds: float, files: Mapping[str, str]) -> Record:
    """Return the result of a claim as it is stored: with its sources, date, commit and machine."""
    return {
        "text": text, "status": status, "sources": fingerprint(claim.depends, files),
        "details": without_paths(output)[-KEPT:].strip(),
        "date": f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}", "commit": commit(), "machine": here(),
        "seconds": round(seconds, 1),
    }  # fmt: skip


def without_paths(text: str) -> str:
    """Return an output with the folders of this machine, and what pip says of its own, left out."""
    text = "\n".join(line for line in text.splitlines() if "WARNING: Location" not in line)
    text = re.sub(re.escape(tempfile.gettempdir()) + r"/[\w./-]+", "a temporary folder", text)
    for folder, name in ((sys.prefix, ".venv"), (str(ROOT / ".venv"), ".venv"), (f"{ROOT}/", "")):
        text = text.replace(folder, name)
    return text


def execute(step: list[str], timeout: float, root: Path = ROOT) -> tuple[str, int]:
    """Run one step and return its output and exit code; after the timeout its whole process group is stopped (code 124)."""
    programs = {
        "pytest": [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        "python": [sys.executable],
        "mercer": [sys.executable, "-m", "mercer.cli"],
    }
    if step[0] == "make" and step[1].startswith("show-"):  # the environment is there; make would only look at it again
        step = ["python", "-m", "benchmarks.show", step[1].removeprefix("show-")]
    words = [*programs.get(step[0], step[:1]), *step[1:]]
    environment = {**os.environ, "COLUMNS": "200", "PYTHONUNBUFFERED": "1"}
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as file:
        process = subprocess.Popen(
            words, cwd=root, env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
        try:
            code = process.wait(timeout)
        except BaseException as error:
            _stop(process)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            file.write(f"\nstopped after {timeout:.0f} s\n")
            code = 124
        file.seek(0)
        return file.read(), code


def _stop(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


def condense(how: str, output: str) -> str:
    """Return the one line of a command's output that states its result."""
    lines = [" ".join(line.split()) for line in output.splitlines() if line.strip()]
    if how == "pytest":
        found = [
            line.strip("= ")
            for line in lines
            if re.search(r"\b\d+ (passed|failed|errors?|skipped|deselected)\b.* in ", line)
        ]
        found = [re.sub(r", \d+ (deselected|warnings?)", "", line) for line in found]
    elif how == "bench":
        found = [line.removeprefix("evidence: ") for line in lines if line.startswith("evidence: ")]
        return "; ".join(found) or (lines or ["no output"])[-1]
    elif how.startswith(("find: ", "all: ")):
        kind, _, pattern = how.partition(": ")
        found = [_without_bars(line) for line in lines if re.search(pattern, line)]
        if kind == "all" and found:
            return "; ".join(found)
    else:
        found = lines
    return (found or lines or ["no output"])[-1]


def _without_bars(line: str) -> str:
    """Turn a row of a Markdown table into its cells, separated by commas."""
    return ", ".join(cell.strip() for cell in line.strip("|").split("|") if cell.strip()) if line.startswith("|") else line


def status(text: str, code: int) -> str:
    """Return "not reached" if the line says that a target was missed, otherwise "passed" or "failed" by the exit code."""
    if re.search(r"NOT REACHED|\b[1-9]\d* (lost|missed)\b|(^|; )FAIL\b", text) and code != 124:
        return "not reached"
    return "failed" if code else "passed"


def start_again(claim: Claim, files: Mapping[str, str], folder: Path = RESULTS, root: Path = ROOT) -> None:
    """Move away the file from which a command would resume if it was begun with other sources.

    Commands that take hours keep each finished part. A part is valid only for the sources with which it was measured.
    """
    if claim.keeps is None:
        return
    path, mark = root / claim.keeps, folder / "begun.json"
    begun = json.loads(mark.read_text(encoding="utf-8")) if mark.exists() else {}
    sources = fingerprint(tuple(pattern for pattern in claim.depends if pattern.startswith("src/")), files)
    if begun.get(claim.keeps) == sources:
        return
    if path.exists():
        aside = root / "build" / "evidence" / f"{path.stem}-{time.time_ns()}{path.suffix}"
        aside.parent.mkdir(parents=True, exist_ok=True)
        path.rename(aside)
    write_whole(mark, json.dumps({**begun, claim.keeps: sources}, indent=1, sort_keys=True) + "\n")
