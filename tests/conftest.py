"""Fixtures for all tests: the folder of real data sets, a seeded generator, and the profiles of hypothesis."""

from __future__ import annotations

import os
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"

# No deadline: the first example may wait for a compilation, and a slow machine is not a bug.
settings.register_profile("local", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# In continuous integration a failure has to come back on the next run, so the examples are the same every time.
settings.register_profile("ci", settings.get_profile("local"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Shuffle the tests within each file, and the files, if MERCER_TEST_ORDER holds a seed (`make test-cpus`)."""
    seed = os.environ.get("MERCER_TEST_ORDER")
    if seed:
        draw = random.Random(int(seed))
        files = sorted({str(item.path) for item in items})
        place = dict(zip(files, draw.sample(range(len(files)), len(files)), strict=True))
        draw.shuffle(items)
        items.sort(key=lambda item: place[str(item.path)])


@pytest.fixture(scope="session")
def project_root() -> Path:
    """The folder that holds pyproject.toml."""
    return ROOT


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data sets beside the project; tests that need it are skipped if it is missing."""
    if not DATA.is_dir():
        pytest.skip("../shared/data is not beside the project: tests on real data are skipped")
    return DATA


@pytest.fixture
def rng() -> np.random.Generator:
    """A fresh generator with a fixed seed, which makes tests independent of each other."""
    return np.random.default_rng(20240229)
