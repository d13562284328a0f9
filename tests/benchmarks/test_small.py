"""The race of small models: both sides give the same answers, and a line says who was faster."""

from __future__ import annotations

import pytest

from benchmarks import small


@pytest.mark.parametrize("contest", small.contests(), ids=lambda contest: contest.name)
def test_both_sides_predict_the_same(contest: small.Contest) -> None:
    assert [job for job, _, _ in small.jobs(contest, 200)] == ["fit", "predict", "predict one"]  # which compares them


def test_a_lost_line_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert "LOST" in str(small.Line("SVC", "fit", 50, 2.0, 1.0, 0.5)) and "LOST" not in str(
        small.Line("SVC", "fit", 50, 1.0, 2.0, 2.0)
    )
    small.main(["--only", "k-NN numbers", "--sizes", "50", "--budget", "0.0"])
    assert "3 lines" in capsys.readouterr().out
