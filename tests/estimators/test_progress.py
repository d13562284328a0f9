"""The meter: silent where nobody watches, one line where somebody does."""

import io

from mercer.estimators.progress import Meter


def test_nothing_is_written_to_a_file() -> None:
    stream = io.StringIO()
    with Meter("work", stream=stream) as meter:
        meter(1, 2)
    assert stream.getvalue() == ""


def test_a_line_is_rewritten_and_ended() -> None:
    stream = io.StringIO()
    with Meter("work", verbose=True, stream=stream) as meter:
        meter(1, 4)
        meter(4, 4)
        meter(0, 0)
    text = stream.getvalue()
    assert "work: 4 of 4 (100 %)" in text
    assert text.endswith("\n")


def test_never_means_never() -> None:
    stream = io.StringIO()
    with Meter("work", verbose=False, stream=stream) as meter:
        meter(2, 2)
    assert stream.getvalue() == ""
