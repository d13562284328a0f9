"""The clock, the records and the verdicts, on rows that take no time. Nothing here asserts a time."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmarks import agreement
from benchmarks.machine import Constants
from benchmarks.outcome import run_row, troubles
from benchmarks.race import Timing, race, warm
from benchmarks.row import Claim, Peer, Row, Timed, Work

Make = Callable[..., Row]


def test_contestants_take_turns_and_everybody_goes_first_once() -> None:
    calls: list[str] = []
    contestants = [Peer(name=name, run=lambda _, name=name: calls.append(name)) for name in "abc"]
    times = race(contestants, None, 3, dict.fromkeys("abc", 1))
    assert "".join(calls) == "abc" + "bca" + "cab"
    assert {name: len(readings) for name, readings in times.items()} == {"a": 3, "b": 3, "c": 3}


def test_inputs_are_prepared_before_every_call() -> None:
    made: list[list[int]] = []

    def prepare(data: int) -> list[int]:
        made.append([data])
        return made[-1]

    seen: list[int] = []
    race([Peer(name="a", run=lambda box: seen.append(id(box)), prepare=prepare)], 7, 2, {"a": 3})
    assert len(made) == 6
    assert seen == [id(box) for box in made]


def test_warming_runs_twice_and_gives_the_result() -> None:
    calls: list[int] = []

    def run(data: int) -> int:
        calls.append(data)
        return data + 1

    state = warm(Peer(name="a", run=run), 1)
    assert (state.result, len(calls)) == (2, 2)
    assert state.loops > 1, "a call this quick is repeated within one reading of the clock"


def test_a_clock_of_its_own_is_believed() -> None:
    assert race([Peer(name="a", run=lambda _: Timed(4.5))], None, 2, {"a": 1}) == {"a": (4.5, 4.5)}
    assert warm(Peer(name="a", run=lambda _: Timed(4.5, "value")), None).result == "value"


def test_leaving_blas_with_fewer_threads_ends_the_race(tiny: Make, constants: Constants) -> None:
    from threadpoolctl import threadpool_info, threadpool_limits

    before = {lib["filepath"]: lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}
    if not before or max(before.values()) < 2:
        pytest.skip("BLAS has one thread here")
    record = run_row(tiny(mercer=lambda X: threadpool_limits(1, user_api="blas")), constants)
    threadpool_limits(max(before.values()), user_api="blas")
    assert "left BLAS with 1 threads" in record["mercer"]["error"]


def test_median_and_spread() -> None:
    timing = Timing((1.0, 2.0, 3.0, 4.0, 100.0))
    assert (timing.median, timing.spread) == (3.0, 2.0 / 3.0)


def test_the_record_of_a_row(tiny: Make, constants: Constants) -> None:
    row = tiny(
        claims=(
            Claim(measure="ratio", at_least=2.0),
            Claim(measure="share", at_most=0.3),
            Claim(measure="seconds", at_most=2.0),
            Claim(measure="sum", at_least=3.0),
            Claim(measure="peak_bytes", at_most=1.0),
        ),
        tolerance=0.5,
        work=Work(dtype="float64", flops=50.0, exps=5.0, write=10.0),
        quality=lambda data, result: {"sum": float(result.sum())},
    )
    record = run_row(row, constants)
    slow = record["peers"][0]
    assert (record["mercer"]["median"], slow["median"]) == (2.0, 6.0)
    assert (slow["ratio"], slow["share"], slow["ratio_range"]) == (3.0, 1 / 3, [3.0, 3.0])
    assert (slow["agreement"], slow["agrees"], record["agreement"]) == (0.5, True, "absolute")
    assert (record["mercer"]["quality"], slow["quality"]) == ({"sum": 3.0}, {"sum": 4.5})
    assert record["limit"]["seconds"] == 1.0
    assert record["mercer"]["of_limit"] == 0.5
    assert [claim["verdict"] for claim in record["claims"]] == ["met", "missed", "met", "met", "open"]
    assert troubles(record) == []


def test_a_contestant_that_takes_minutes_runs_once(tiny: Make, constants: Constants) -> None:
    calls: list[int] = []

    def slow(X: Any) -> Timed:
        calls.append(1)
        return Timed(8.0 + len(calls), X)

    record = run_row(tiny(peers=(Peer(name="slow", run=slow, once=True),)), constants)
    assert len(calls) == 1
    assert record["peers"][0]["times"] == [9.0]
    assert (record["peers"][0]["ratio"], len(record["mercer"]["times"])) == (4.5, 3)


def test_a_race_between_different_results_is_void(tiny: Make, constants: Constants) -> None:
    record = run_row(tiny(claims=(Claim(measure="ratio", at_least=2.0),), tolerance=0.1), constants)
    assert record["claims"][0]["verdict"] == "void"
    assert troubles(record) == ["tiny: slow differs from mercer by 0.5"]


def test_a_missing_peer_is_named_and_mercer_is_timed(tiny: Make, constants: Constants) -> None:
    absent = Peer(name="absent", run=lambda X: X, modules=("no_such_package_anywhere.sub",))
    record = run_row(tiny(peers=(absent,), claims=(Claim(measure="ratio", at_least=2.0),)), constants)
    assert record["mercer"]["median"] == 2.0
    assert record["peers"][0] == {"name": "absent", "missing": "peer not installed"}
    assert record["claims"][0]["verdict"] == "open"
    assert troubles(record) == []


def test_a_contestant_that_fails_is_written_down(
    capsys: pytest.CaptureFixture[str], tiny: Make, constants: Constants
) -> None:
    def fail(X: Any) -> None:
        raise ArithmeticError("no luck")

    record = run_row(tiny(peers=(Peer(name="broken", run=fail), *tiny().peers)), constants)
    assert record["peers"][0]["error"] == "ArithmeticError: no luck"
    assert record["peers"][1]["ratio"] == 3.0
    assert troubles(record) == ["tiny: broken failed with ArithmeticError: no luck"]
    assert "no luck" in capsys.readouterr().err, "the traceback is shown, for whoever writes the row"


def test_what_stands_beside_for_scale_has_no_ratio(tiny: Make, constants: Constants) -> None:
    beside = dataclasses.replace(tiny().peers[0], rival=False)
    assert "ratio" not in run_row(tiny(peers=(beside,)), constants)["peers"][0]


def test_a_claim_can_name_its_peer(tiny: Make, constants: Constants) -> None:
    fast = Peer(name="fast", run=lambda X: Timed(1.0, X))
    claims = (Claim(measure="ratio", at_least=2.0), Claim(measure="ratio", at_least=0.4, peer="fast"))
    record = run_row(tiny(peers=(*tiny().peers, fast), claims=claims), constants)
    assert [(c["peer"], c["verdict"]) for c in record["claims"]] == [("slow", "met"), ("fast", "missed"), ("fast", "met")]


def test_a_claim_has_one_bound() -> None:
    with pytest.raises(ValueError, match="exactly one bound"):
        Claim(measure="ratio")
    assert not Claim(measure="ratio", at_least=1.0).holds(float("nan"))


@pytest.mark.parametrize(
    ("work", "seconds", "bound_by"),
    [
        (Work(dtype="float64", flops=200.0, exps=10.0), 3.0, "gemm"),
        (Work(dtype="float32", flops=200.0, exps=60.0), 4.0, "exp"),
        (Work(dtype="float32", flops=200.0, exps=20.0, read=100.0, write=50.0), 4.0, "memory"),
        # memory is the largest single part, but arithmetic together takes longer
        (Work(dtype="float64", flops=200.0, exps=20.0, write=75.0), 4.0, "gemm"),
    ],
)
def test_the_limit_adds_arithmetic_and_overlaps_memory(
    work: Work, seconds: float, bound_by: str, constants: Constants
) -> None:
    limit = work.limit(constants)
    assert (limit.seconds, limit.bound_by) == (seconds, bound_by)


def test_differences() -> None:
    a = np.arange(2000.0).reshape(1000, 2)
    b = a.copy()
    b[900, 1] += 3.0
    assert agreement.absolute(a, a) == 0.0
    assert agreement.absolute(a, b) == 3.0
    assert agreement.relative(a, b) == 3.0 / b.max()
    assert agreement.absolute(a, b[:10]) == float("inf")
    assert np.isnan(agreement.absolute(a, np.full_like(a, np.nan)))
    assert agreement.absolute(1.0, 1.5) == 0.5
    assert agreement.absolute(np.float32(0.1), 0.1) > 0.0, "compared in float64"
