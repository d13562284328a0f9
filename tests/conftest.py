"""What every test may use: the real data sets when they are there, a seeded generator, and the hypothesis profiles."""

from __future__ import annotations

import os
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


@pytest.fixture(scope="session")
def project_root() -> Path:
    """The folder that holds pyproject.toml."""
    return ROOT


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data sets beside the project; a test that asks for it is skipped where there is none."""
    if not DATA.is_dir():
        pytest.skip("../shared/data is not beside the project: tests on real data are left out")
    return DATA


@pytest.fixture
def rng() -> np.random.Generator:
    """A fresh generator with a fixed seed, so that no test depends on the ones before it."""
    return np.random.default_rng(20240229)
