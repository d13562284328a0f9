"""Reports of small fits, and a real browser to open them in: Debian's chromium, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mercer.inputs.tables import Table
from mercer.report.document.comparison_report import comparison_report
from mercer.report.document.training_report import write_report
from mercer.workflow.comparison import compare_tables
from mercer.workflow.question import FitSettings, ask
from mercer.workflow.training import train

#: Names and labels that would do harm if they were not escaped.
EVIL = "<script>document.title='harm'</script><img src=x onerror=\"document.title='harm'\">\x1b[2J\u202e"


def mixed(n: int = 90, shift: float = 0.0) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    age = rng.normal(40.0 + shift, 10.0, n)
    age[::9] = np.nan
    city = rng.choice(["Rome", EVIL, "Bonn"], n).astype(object)
    days = (np.datetime64("2024-01-01") + rng.integers(0, 500, n)).astype("datetime64[us]")
    words = np.array([" ".join(rng.choice(["red", "fast", "slow"], 3)) for _ in range(n)], dtype=object)
    return {f"age {EVIL}": age, "city": city, "day": days, "words": words, "x": rng.normal(size=n)}


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One page of every kind: numbers from a complete table, classes from a mixed one, and a comparison."""
    folder = tmp_path_factory.mktemp("reports")
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 3))
    numbers = Table(
        {"a": X[:, 0], "b": X[:, 1], "c": 1e5 * X[:, 2], "y": np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=90)}
    )
    data = mixed()
    age = np.nan_to_num(data[f"age {EVIL}"], nan=40.0)
    labels = np.where(age > 44, EVIL, np.where(age > 36, "mid", "low")).astype(object)
    found = {}
    for name, table, target in (("regression", numbers, "y"), ("classification", Table({**data, "class": labels}), "class")):
        training = train(ask(f"{name}.csv", table, target), FitSettings(time=0.5), command=f"mercer fit {EVIL}")
        found[name] = folder / f"{name}.html"
        write_report(training, found[name])
    comparison = compare_tables(Table(mixed()), Table(mixed(80, 15.0)), ("A.csv", EVIL))
    found["comparison"] = folder / "comparison.html"
    found["comparison"].write_text(comparison_report(comparison, "mercer compare"), encoding="utf-8")
    return found


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium without a window; tests that ask for it are skipped, with the reason, where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install -e '.[dev]'")
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("no chromium is installed (Debian: apt-get install chromium): reports are not opened in a browser")
    with playwright.sync_playwright() as driver:
        # a sandbox cannot be made by root
        arguments = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        chromium = driver.chromium.launch(executable_path=path, args=arguments)
        yield chromium
        chromium.close()
