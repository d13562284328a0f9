"""Numbers of a report as they are printed."""

from __future__ import annotations

import pytest

from mercer.report.document.training_report import _written
from mercer.workflow.scores import Score


@pytest.mark.parametrize(("value", "text"), [(-0.0004, "0.000"), (-0.0, "0.000"), (-0.0173, "−0.017"), (0.85, "0.850")])
def test_a_number_that_rounds_to_zero_has_no_sign(value: float, text: str) -> None:
    assert _written(Score("R²", value, value, value, False), value) == text
