"""The report: what it prints, and that the error carries it."""

from __future__ import annotations

import pickle

import pytest

from mercer.errors import MercerError
from mercer.testing import Law, LawError, Report

REPORT = Report(
    "Linear()", (Law("finite", "passed"), Law("theta", "failed", 1.0, 0.5, "names"), Law("float32", "skipped", note="why"))
)


def test_failures_come_first_with_their_numbers() -> None:
    first, second, *_ = str(REPORT).splitlines()
    assert first == "Linear() breaks 1 of 3 laws"
    assert second.split() == ["failed", "theta", "1", "(at", "most", "0.5)", "names"]


def test_a_report_without_failures_says_so() -> None:
    assert str(Report("k", REPORT.laws[:1])).startswith("k obeys all 1 laws")
    assert Report("k", REPORT.laws[:1]).passed
    assert not REPORT.passed


def test_laws_are_found_by_name() -> None:
    assert REPORT["theta"].bound == 0.5
    with pytest.raises(KeyError):
        REPORT["gravity"]


def test_the_error_is_an_assertion_with_the_report_in_it() -> None:
    error = LawError(REPORT)
    assert isinstance(error, AssertionError)
    assert isinstance(error, MercerError)
    assert str(error) == str(REPORT)
    assert pickle.loads(pickle.dumps(error)).report == REPORT
