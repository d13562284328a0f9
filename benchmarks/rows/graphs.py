"""Kernels on graphs: Gram matrices on real sets against GraKeL, and memory on the largest."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

from benchmarks.agreement import relative
from benchmarks.grakel_once import grakel_kernel, limited, note
from benchmarks.graph_sets import grakel_graphs, load
from benchmarks.row import Claim, Peer, Row

SETS = ("MUTAG", "ENZYMES", "PROTEINS", "NCI1", "DD")

#: Rows on which GraKeL takes minutes: its CPU time is measured once and kept (see grakel_once.py).
SLOW = {("SP", "DD"), *((f"GR {p}", name) for p in ("3", "4 500", "5 500") for name in SETS[1:])}


def graphs(name: str) -> list[Any]:
    """The graphs of a set."""
    return load(name)[0]


def mercer_kernel(text: str) -> Any:
    """mercer's kernel for a name of GraKeL's."""
    import mercer

    kind, *numbers = text.split()
    if kind == "WL":
        return mercer.WeisfeilerLehman(int(numbers[0]))
    if kind == "WLOA":
        return mercer.WLOptimalAssignment(int(numbers[0]))
    if kind == "SP":
        return mercer.ShortestPath()
    # without sampling GraKeL counts connected graphlets; with it all of them, which mercer counts exactly
    return mercer.Graphlet(int(numbers[0]), connected=len(numbers) == 1)


def gram(found: list[Any], kernel: str) -> Any:
    """mercer's matrix from its graphs."""
    return mercer_kernel(kernel)(found)


def grakel_gram(found: list[Any], kernel: str) -> Any:
    """GraKeL's matrix from its graphs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return grakel_kernel(kernel).fit_transform(found)


TITLES = {
    "WL 5": "Weisfeiler-Lehman, 5 iterations",
    "WLOA 5": "Weisfeiler-Lehman optimal assignment, 5 iterations",
    "SP": "shortest paths with labels",
    "GR 3": "connected graphlets of 3 nodes, without sampling",
    "GR 4 500": "graphlets of 4 nodes, exact, against 500 samples per graph",
    "GR 5 500": "graphlets of 5 nodes, exact, against 500 samples per graph",
}


def race(name: str, kernel: str, at_least: float | None) -> Row:
    """One kernel on one set."""
    slow = (kernel, name) in SLOW
    told = note(name, kernel) if slow else ""
    told += "; published C++: 5.7 ms" if (kernel, name) == ("WL 5", "MUTAG") else ""
    run = (lambda found: limited(name, kernel)) if slow else partial(grakel_gram, kernel=kernel)
    sampled, counted = len(kernel.split()) > 2, kernel.startswith("GR")
    return Row(
        name=f"{kernel.split()[0].lower()}{''.join(kernel.split()[1:2])}-{name.lower()}",
        title=f"{name}: {TITLES[kernel]}{told}",
        data=partial(graphs, name),
        mercer=partial(gram, kernel=kernel),
        peers=(
            Peer(
                name="GraKeL",
                run=run,
                modules=("grakel",),
                package="grakel",
                prepare=None if slow else grakel_graphs,
                once=slow or name in ("NCI1", "PROTEINS", "DD") or sampled,
            ),
        ),
        claims=() if at_least is None else (Claim(measure="ratio", at_least=at_least),),
        # GraKeL's graphlets are not comparable: it misses some and counts others twice, see docs/graphs.md
        agreement=None if counted or slow else relative,
        tolerance=None if counted or slow else 0.0,  # sums of whole numbers: no rounding
        repeats=7 if name == "MUTAG" else 3,
        memory=False,
        long=name == "DD" or slow,
    )


def reddit(kernel: str, title: str) -> Row:
    """2000 discussions, up to 3782 nodes, without labels: memory."""

    def ours(found: list[Any]) -> Any:
        import mercer

        return mercer.parse(kernel)(found)

    return Row(
        name=f"reddit-{title}",
        title=f"REDDIT-BINARY: {kernel}, 2,000 graphs with 859,254 nodes",
        data=partial(graphs, "REDDIT-BINARY"),
        mercer=ours,
        claims=(Claim(measure="peak_bytes", at_most=4e9),),
        agreement=None,
        repeats=1,
        long=True,
    )


ROWS = [
    *(race(name, "WL 5", 8.0) for name in SETS),
    *(race(name, "SP", 10.0) for name in SETS),
    *(race(name, "GR 3", 10.0) for name in SETS),
    *(race(name, "GR 4 500", 10.0) for name in SETS),
    *(race(name, "GR 5 500", 10.0) for name in SETS),
    race("MUTAG", "WLOA 5", None),
    reddit("WeisfeilerLehman(5)", "wl"),
    reddit("Graphlet(3)", "graphlet3"),
    reddit("Graphlet(4)", "graphlet4"),
]
