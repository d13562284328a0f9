"""Peak memory of one contestant, in a fresh process of its own: what one run of the job adds to its inputs.

The process imports the contestant's modules and makes the data; then the peak is set back to what is in use, and the job
runs once, cold. Compilation and lazy imports therefore count, as they do for a user, unless the row has a rehearsal: then
the job has run on that small input before.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.row import Row

ROOT = Path(__file__).resolve().parents[1]
TIMEOUT = 3600.0  # seconds; longer than any row, and a peer that hangs is stopped


def of(row: Row, contestant: str) -> tuple[int | None, str | None]:
    """Return the peak in bytes beyond the inputs and, where there is none, the reason."""
    answer = in_fresh_process("benchmarks.peak", [row.module, row.name, contestant])
    value = answer.get("peak")
    if value is not None:
        return int(value), None
    return None, str(answer.get("error", "this system does not tell"))


def in_fresh_process(module: str, arguments: Sequence[str], timeout: float = TIMEOUT) -> dict[str, float | str | None]:
    """Run `python -m module arguments` and return the JSON object of its last line, or {"error": why}."""
    command = [sys.executable, "-m", module, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=timeout)
    except subprocess.TimeoutExpired:
        return {"error": f"no answer after {timeout:g} s"}
    lines = done.stdout.strip().splitlines()
    if done.returncode != 0 or not lines:
        said = done.stderr.strip().splitlines()
        return {"error": said[-1] if said else f"exit code {done.returncode}"}
    answer: dict[str, float | str | None] = json.loads(lines[-1])
    return answer


class Meter:
    """The memory of this process: `start()`, the job, then `beyond()`."""

    def __init__(self) -> None:
        self._before: int | None = None

    def start(self) -> None:
        """Count from here."""
        gc.collect()
        # Where the peak cannot be set back it counts from the old peak: that may hide something small, never invent it.
        self._before = in_use() if reset() else peak()

    def beyond(self) -> int | None:
        """The peak since `start`, in bytes beyond what was in use then."""
        now = peak()
        return None if now is None or self._before is None else max(0, now - self._before)


def peak() -> int | None:
    """The largest resident size of this process so far, in bytes.

    VmHWM belongs to the memory of this very program. ru_maxrss does not: on Linux a child starts with the value of the
    process that started it. It is the fallback where there is no /proc.
    """
    high = _status("VmHWM")
    return high if high is not None else _maxrss()


def in_use() -> int | None:
    """The resident size now, in bytes."""
    return _status("VmRSS")


def reset() -> bool:
    """Set the peak back to what is in use; False where the system does not offer it."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return False
    return in_use() is not None


def _status(field: str) -> int | None:
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith(field + ":"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def _maxrss() -> int | None:
    try:
        import resource
    except ImportError:
        return None  # Windows
    value = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return value if sys.platform == "darwin" else value * 1024  # macOS counts bytes, others KiB


def main(arguments: Sequence[str] | None = None) -> int:
    """The fresh process: run one contestant once and print its peak."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peak", description=__doc__)
    parser.add_argument("module", help="the module that declares the row in its ROWS")
    parser.add_argument("row")
    parser.add_argument("contestant")
    asked = parser.parse_args(arguments)
    row = next(row for row in importlib.import_module(asked.module).ROWS if row.name == asked.row)
    contestant = row.contestant(asked.contestant)
    for module in contestant.modules:
        importlib.import_module(module)
    if row.rehearsal is not None:
        contestant.run(contestant.inputs(row.rehearsal()))
    inputs = contestant.inputs(row.data())
    meter = Meter()
    meter.start()
    result = contestant.run(inputs)
    found = meter.beyond()
    del result  # alive until the peak is read
    print(json.dumps({"peak": found}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
