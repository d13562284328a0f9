"""Fields: what each rule stores and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer.errors import InputError
from mercer.kernels import fields


def rule(field: Any) -> fields.Rule:
    found: fields.Rule = field.metadata["rule"]
    return found


@pytest.mark.parametrize(
    ("field", "value", "stored"),
    [
        (fields.positive(), np.float32(2), 2.0),
        (fields.nonnegative(), 0, 0.0),
        (fields.real(), -3, -3.0),
        (fields.whole(at_least=1), np.int8(4), 4),
        (fields.flag(False), np.bool_(True), True),
        (fields.length_scale(), [1, 2], (1.0, 2.0)),
        (fields.length_scale(), np.array([0.5]), (0.5,)),
        (fields.length_scale(), "median", "median"),
    ],
)
def test_values_are_stored_as_plain_python(field: Any, value: Any, stored: Any) -> None:
    result = rule(field).check("Owner", "name", value)
    assert result == stored
    assert type(result) is type(stored)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (fields.positive(), 0.0),
        (fields.positive(), np.nan),
        (fields.positive(), True),
        (fields.positive(), "1"),
        (fields.positive(), 10**400),
        (fields.nonnegative(), -1e-300),
        (fields.real(), np.inf),
        (fields.real(), 1j),
        (fields.whole(at_least=1), 0),
        (fields.whole(at_least=1), 2.0),
        (fields.whole(at_least=0), False),
        (fields.flag(True), 0),
        (fields.length_scale(), "mean"),
        (fields.length_scale(), ()),
        (fields.length_scale(), (1.0, np.inf)),
        (fields.length_scale(), np.ones((2, 2))),
    ],
)
def test_a_refusal_names_owner_field_rule_and_value(field: Any, value: Any) -> None:
    with pytest.raises(InputError, match=r"Owner: name must be .*; got"):
        rule(field).check("Owner", "name", value)


def test_free_fields_are_the_positive_numbers() -> None:
    assert rule(fields.positive()).free
    assert rule(fields.length_scale()).free
    assert not rule(fields.positive(free=False)).free
    assert not rule(fields.real()).free
