"""What a row of the table declares: data, contestants, claims, the work that has to be done, and how to compare."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.agreement import absolute
from benchmarks.machine import Constants

MERCER = "mercer"


@dataclass(frozen=True)
class Timed:
    """Returned by a contestant that keeps its own clock, such as one that measures a fresh interpreter."""

    seconds: float
    value: Any = None


@dataclass(frozen=True, kw_only=True)
class Peer:
    """Somebody to race against.

    `modules` are imported before any clock starts; if one is missing, the peer is not installed. `prepare` runs before
    every single call, off the clock: for peers that remember results inside their inputs, and for nothing else. `once` is
    for peers that take minutes and have nothing to compile: their first call is their only reading.
    """

    name: str
    run: Callable[[Any], Any]
    modules: tuple[str, ...] = ()
    package: str | None = None  # the distribution whose version is written down
    prepare: Callable[[Any], Any] | None = None
    once: bool = False
    rival: bool = True  # False: its time stands beside mercer's for scale, and a ratio would mean nothing

    @property
    def installed(self) -> bool:
        """True if the top package of every module can be found."""
        return all(importlib.util.find_spec(module.split(".")[0]) is not None for module in self.modules)

    def inputs(self, data: Any) -> Any:
        """What `run` is called with."""
        return data if self.prepare is None else self.prepare(data)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A target from an issue: a measure and the bound it has to keep.

    Measures: "ratio" is peer time / mercer time, "share" is mercer time / peer time, "seconds" and "peak_bytes" are
    mercer's own; any other name is a quality of the row. A ratio or share holds against `peer`, or every peer if None.
    """

    measure: str
    at_least: float | None = None
    at_most: float | None = None
    peer: str | None = None

    def __post_init__(self) -> None:
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError(f"a claim on {self.measure!r} has exactly one bound, at_least or at_most.")

    @property
    def text(self) -> str:
        """The claim for people: "ratio >= 3"."""
        if self.at_least is not None:
            return f"{self.measure} >= {self.at_least:g}"
        return f"{self.measure} <= {self.at_most:g}"

    @property
    def about_peers(self) -> bool:
        """True if the measure compares with a peer."""
        return self.measure in ("ratio", "share")

    def holds(self, value: float) -> bool:
        """A value that is not a number keeps no bound."""
        if self.at_least is not None:
            return bool(value >= self.at_least)
        return bool(value <= self.at_most)  # type: ignore[operator]


@dataclass(frozen=True)
class Limit:
    """The least time the machine could need, and what would take it."""

    seconds: float
    bound_by: str
    terms: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Work:
    """What any method has to do for this row: the least, not what mercer happens to do.

    `flops` count in units of GEMM, two per fused multiply-add; other arithmetic counts by the slots it takes.
    """

    dtype: str
    flops: float = 0.0
    exps: float = 0.0
    read: float = 0.0  # bytes
    write: float = 0.0  # bytes

    def limit(self, constants: Constants) -> Limit:
        """Products and exponentials share the arithmetic units, so they add up; memory works beside them."""
        terms = {
            "gemm": self.flops / constants.gemm[self.dtype],
            "exp": self.exps / constants.exp[self.dtype],
            "memory": self.read / constants.read + self.write / constants.write,
        }
        arithmetic = terms["gemm"] + terms["exp"]
        if terms["memory"] >= arithmetic:
            return Limit(terms["memory"], "memory", terms)
        return Limit(arithmetic, "gemm" if terms["gemm"] >= terms["exp"] else "exp", terms)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the table. Everything but the first four fields may be left out.

    `data` makes the input from a fixed seed. `mercer` and every peer take that input and do the whole job, end to end.
    `agreement(mercer's result, the peer's result)` is one number; above `tolerance` the race does not count.
    `quality(data, result)` gives numbers to print beside the time, for every contestant.
    `rehearsal` makes a small input that every contestant runs on before its memory is measured, where the claim is about
    what the job holds and not about the code it loads.
    """

    name: str
    title: str
    data: Callable[[], Any]
    mercer: Callable[[Any], Any]
    peers: tuple[Peer, ...] = ()
    claims: tuple[Claim, ...] = ()
    agreement: Callable[[Any, Any], float] | None = absolute
    tolerance: float | None = None
    work: Work | None = None
    quality: Callable[[Any, Any], dict[str, float]] | None = None
    repeats: int = 7
    rehearsal: Callable[[], Any] | None = None
    memory: bool = True  # measure the peak of every contestant in a process of its own
    long: bool = False  # left to `--long`
    group: str = ""  # these two are filled in by benchmarks.rows
    module: str = ""

    @property
    def contestants(self) -> tuple[Peer, ...]:
        """mercer first, then the peers."""
        return (Peer(name=MERCER, run=self.mercer, modules=("mercer",), package="mercer"), *self.peers)

    def contestant(self, name: str) -> Peer:
        """The contestant of that name."""
        return next(one for one in self.contestants if one.name == name)
