"""What all tests of the site share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.site.pages import Page, read_site


@pytest.fixture(scope="session")
def site() -> dict[Path, Page]:
    return read_site()
