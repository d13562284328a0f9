"""Check all claims about tests in one run of pytest.

Each claim names test files and perhaps an expression for `-k`. One process for each of them would import the library and
repeat shared tests some hundred times; here every test runs once, and its outcome counts for every claim that selects it.

This module is also the plugin that pytest loads (`-p benchmarks.evidence.together`).
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.evidence.registry import Claim

#: Options of a claim's command that the shared run knows; a command with any other option runs by itself.
KNOWN = {"-k"}
Outcomes = dict[str, tuple[str, float]]


def selection(claim: Claim) -> dict[str, Any] | None:
    """Return the paths and the keyword of a claim about tests, or None if its command has to run by itself."""
    if len(claim.steps) != 1 or claim.steps[0][0] != "pytest":
        return None
    words, paths, keyword = claim.steps[0][1:], [], ""
    while words:
        word = words.pop(0)
        if word.startswith("-"):
            if word not in KNOWN:
                return None
            keyword = words.pop(0)
        else:
            paths.append(word.rstrip("/"))
    return {"paths": paths, "keyword": keyword}


def command(claims: Sequence[Claim], folder: Path, workers: int = 2) -> list[str]:
    """Return the words of one pytest command for these claims; their selections and outcomes are files in `folder`."""
    wanted = {claim.id: selection(claim) for claim in claims}
    (folder / "claims.json").write_text(json.dumps(wanted), encoding="utf-8")
    paths = sorted({path.partition("::")[0] for one in wanted.values() if one for path in one["paths"]})
    return [
        "pytest", "-n", str(workers), "--dist", "loadfile", "-p", "benchmarks.evidence.together", "--claims", str(folder),
        *paths,
    ]  # fmt: skip


def counted(nodes: Sequence[str], outcomes: Outcomes) -> tuple[str, bool, float]:
    """Return "N passed, M skipped", whether the claim holds, and the seconds of its tests.

    A claim without a passed test, or with a test that never ran, does not hold.
    """
    found = [outcomes[node][0] if node in outcomes else "not run" for node in nodes]
    kinds = [kind for kind in ("failed", "passed", "skipped", "not run") if kind in found]
    text = ", ".join(f"{found.count(kind)} {kind}" for kind in kinds) or "no test was selected"
    good = "passed" in found and not {"failed", "not run"} & set(found)
    return text, good, sum(outcomes[node][1] for node in nodes if node in outcomes)


def outcomes_of(folder: Path) -> tuple[dict[str, list[str]], Outcomes]:
    """Read what the plugin wrote: the tests of each claim, and the outcome and seconds of each test."""
    files = [folder / "selected.json", folder / "outcomes.json"]
    selected, outcomes = (json.loads(path.read_text(encoding="utf-8")) if path.exists() else {} for path in files)
    return selected, {node: (kind, seconds) for node, (kind, seconds) in outcomes.items()}


def check(claims: Sequence[Claim], execute: Any, timeout: float) -> tuple[dict[str, tuple[str, bool, float]], str]:
    """Run the tests of all claims once; return text, truth and seconds of each claim, and the end of pytest's output."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        output, _ = execute(command(claims, folder), timeout)
        print(output[-2000:], file=sys.stderr)
        selected, outcomes = outcomes_of(folder)
        return {claim.id: counted(selected.get(claim.id, []), outcomes) for claim in claims}, output


# The plugin.


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option with the folder of the files."""
    parser.addoption("--claims", metavar="FOLDER", help="folder with claims.json; the outcomes are written beside it")


def pytest_configure(config: pytest.Config) -> None:
    """Register the recorder if a folder is given."""
    if config.getoption("--claims"):
        config.pluginmanager.register(Recorder(Path(config.getoption("--claims")), config))


class Recorder:
    """Keep the tests that some claim selects, and write the outcome of each."""

    def __init__(self, folder: Path, config: pytest.Config) -> None:
        self.folder = folder
        self.worker: str | None = getattr(config, "workerinput", {}).get("workerid")
        self.outcomes: dict[str, list[Any]] = {}

    @pytest.hookimpl(trylast=True)  # after pytest has left out slow tests
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        claims = json.loads((self.folder / "claims.json").read_text(encoding="utf-8"))
        selected = {name: [item.nodeid for item in items if selects(claim, item)] for name, claim in claims.items()}
        if self.worker in {None, "gw0"}:
            (self.folder / "selected.json").write_text(json.dumps(selected), encoding="utf-8")
        wanted = {node for nodes in selected.values() for node in nodes}
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in wanted])
        items[:] = [item for item in items if item.nodeid in wanted]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the worst outcome over setup, call and teardown; a test whose setup was skipped is skipped."""
        kind, seconds = self.outcomes.get(report.nodeid, ["passed", 0.0])
        if kind == "passed":
            kind = report.outcome
        self.outcomes[report.nodeid] = [kind, seconds + report.duration]

    def pytest_sessionfinish(self) -> None:
        if self.worker is None:
            (self.folder / "outcomes.json").write_text(json.dumps(self.outcomes), encoding="utf-8")


def selects(claim: dict[str, Any], item: pytest.Item) -> bool:
    """Return whether the paths and the keyword of a claim select this test, by pytest's own rule for -k."""
    from _pytest.mark import KeywordMatcher
    from _pytest.mark.expression import Expression

    if not any(item.nodeid == path or item.nodeid.startswith((f"{path}::", f"{path}/")) for path in claim["paths"]):
        return False
    return not claim["keyword"] or Expression.compile(claim["keyword"]).evaluate(KeywordMatcher.from_item(item))
