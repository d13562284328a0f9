"""Run one row and write down everything that was found, as a plain record for JSON."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from typing import Any

from benchmarks import peak
from benchmarks.machine import Constants
from benchmarks.race import Timing, Warm, race, warm
from benchmarks.row import MERCER, Claim, Peer, Row

Record = dict[str, Any]
MISSING = "peer not installed"


def run_row(
    row: Row,
    constants: Constants,
    repeats: int | None = None,
    memory: bool = True,
    say: Callable[[str], None] = lambda text: None,
) -> Record:
    """Warm up, compare, race, measure memory, judge. A contestant that fails is written down, and the others go on."""
    data = row.data()
    records: dict[str, Record] = {one.name: {"name": one.name} for one in row.contestants}
    ready = _warm_all(row, data, records, say)
    _race(row, [(one, ready[one.name]) for one in row.contestants if one.name in ready], data, records, repeats, say)
    del data, ready
    if memory and row.memory:
        for one in row.contestants:
            if "median" in records[one.name]:
                say(f"peak memory of {one.name}")
                records[one.name]["peak_bytes"], reason = peak.of(row, one.name)
                if reason is not None:
                    records[one.name]["peak_error"] = reason
    return _judge(row, constants, records)


def _warm_all(row: Row, data: Any, records: dict[str, Record], say: Callable[[str], None]) -> dict[str, Warm]:
    """Warm every contestant that is there; compare its result with mercer's and let go of it."""
    ready: dict[str, Warm] = {}
    ours: Any = None
    for one in row.contestants:
        record = records[one.name]
        if not one.installed:
            record["missing"] = MISSING
            continue
        say(f"warm up {one.name}")
        try:
            state = warm(one, data)
            if row.quality is not None:
                record["quality"] = row.quality(data, state.result)
            if one.name == MERCER:
                ours = state.result
            elif MERCER in ready and row.agreement is not None:
                record["agreement"] = row.agreement(ours, state.result)
        except Exception as error:
            _fail(record, error)
            continue
        ready[one.name] = Warm(None, state.first, state.loops)
        del state
    return ready


def _race(
    row: Row,
    ready: list[tuple[Peer, Warm]],
    data: Any,
    records: dict[str, Record],
    repeats: int | None,
    say: Callable[[str], None],
) -> None:
    rounds = row.repeats if repeats is None else repeats
    if not ready:
        return
    loops = {one.name: state.loops for one, state in ready}
    times = {one.name: (state.first,) for one, state in ready if one.once}
    often = [one for one, _ in ready if not one.once]
    try:
        times |= race(often, data, rounds, loops, lambda turn: say(f"round {turn} of {rounds}"))
    except Exception as error:  # if one contestant fails, no times are reported for the row
        for one, _ in ready:
            _fail(records[one.name], error)
        return
    for one, state in ready:
        timing = Timing(times[one.name], state.loops, state.first)
        records[one.name] |= {
            "median": timing.median,
            "spread": timing.spread,
            "times": list(timing.times),
            "loops": timing.loops,
            "first": timing.first,
        }


def _fail(record: Record, error: Exception) -> None:
    traceback.print_exception(error, file=sys.stderr)
    record["error"] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}".rstrip(": ")


def _judge(row: Row, constants: Constants, records: dict[str, Record]) -> Record:
    limit = None if row.work is None else row.work.limit(constants)
    ours = records[MERCER]
    for one in row.contestants:
        record = records[one.name]
        if limit is not None and "median" in record:
            record["of_limit"] = limit.seconds / record["median"]
        if record is not ours and one.rival and "median" in record and "median" in ours:
            record["ratio"] = record["median"] / ours["median"]
            record["share"] = ours["median"] / record["median"]
            readings = record["times"] * len(ours["times"]) if one.once else record["times"]
            paired = sorted(a / b for a, b in zip(readings, ours["times"], strict=True))
            record["ratio_range"] = [paired[0], paired[-1]]
        if row.tolerance is not None and "agreement" in record:
            record["agrees"] = bool(record["agreement"] <= row.tolerance)  # nan does not agree
    return {
        "name": row.name,
        "group": row.group,
        "title": row.title,
        "mercer": ours,
        "peers": [records[peer.name] for peer in row.peers],
        "claims": [verdict for claim in row.claims for verdict in _verdicts(claim, row, records)],
        "agreement": None if row.agreement is None else row.agreement.__name__,
        "tolerance": row.tolerance,
        "limit": None if limit is None else {"seconds": limit.seconds, "bound_by": limit.bound_by, "terms": limit.terms},
    }


def _verdicts(claim: Claim, row: Row, records: dict[str, Record]) -> list[Record]:
    """One verdict per peer the claim is about, or one on mercer alone."""
    if not claim.about_peers:
        ours = records[MERCER]
        values: Record = {"seconds": ours.get("median"), "peak_bytes": ours.get("peak_bytes")} | ours.get("quality", {})
        return [_verdict(claim, None, values.get(claim.measure), True)]
    named = [peer.name for peer in row.peers if claim.peer in (None, peer.name)]
    return [_verdict(claim, name, records[name].get(claim.measure), records[name].get("agrees", True)) for name in named]


def _verdict(claim: Claim, peer: str | None, value: float | None, agrees: bool) -> Record:
    if value is None:
        word = "open"
    elif not agrees:
        word = "void"  # a race between different results proves nothing
    else:
        word = "met" if claim.holds(value) else "missed"
    return {"text": claim.text, "peer": peer, "value": value, "verdict": word}


def troubles(record: Record) -> list[str]:
    """What went wrong in a row, for the last lines on the screen: errors and results that differ."""
    found = []
    for one in [record["mercer"], *record["peers"]]:
        if "error" in one:
            found.append(f"{record['name']}: {one['name']} failed with {one['error']}")
        if not one.get("agrees", True):
            found.append(f"{record['name']}: {one['name']} differs from mercer by {one['agreement']:.2g}")
    return found
