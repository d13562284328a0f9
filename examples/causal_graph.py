"""Which columns depend on each other directly?

The skeleton of a causal graph from tests of conditional independence.

    python examples/causal_graph.py [--out FOLDER]

Six measurements of a machine are simulated: load and weather drive temperature, temperature drives friction and noise,
friction drives wear. Nearly every pair of columns is dependent. An edge is removed if the two columns are independent given
some set of their neighbors (the PC algorithm). The effects are not linear: tests of partial correlation keep wrong edges and
lose true ones, and `mercer.causal.TableCITest` finds the true ones.
"""

from __future__ import annotations

import argparse
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mercer.causal import TableCITest

NAMES = ["load", "weather", "temperature", "friction", "noise", "wear"]
TRUE = {(0, 2), (1, 2), (2, 3), (2, 4), (3, 5)}
PLACES = {0: (0.0, 1.0), 1: (0.0, 0.0), 2: (1.0, 0.5), 3: (2.0, 1.0), 4: (2.0, 0.0), 5: (3.0, 1.0)}
Edge = tuple[int, int]


def machine(rows: int = 400, seed: int = 0) -> NDArray[np.float64]:
    """Draw the six columns; each is a nonlinear function of its causes plus noise."""
    rng = np.random.default_rng(seed)
    load, weather, *noise = rng.normal(size=(6, rows))
    temperature = np.tanh(1.5 * load) + np.sin(1.5 * weather) + 0.4 * noise[0]
    friction = temperature**2 + 0.4 * noise[1]
    loudness = np.cos(1.5 * temperature) + 0.4 * noise[2]
    wear = np.tanh(friction - 1.0) + 0.3 * noise[3]
    return np.column_stack([load, weather, temperature, friction, loudness, wear])


def partial_correlation(data: NDArray[np.float64], a: int, b: int, given: tuple[int, ...]) -> float:
    """Return the p-value of a linear test, for comparison."""
    from scipy.stats import norm

    precision = np.linalg.pinv(np.corrcoef(data[:, [a, b, *given]], rowvar=False))
    r = -precision[0, 1] / np.sqrt(precision[0, 0] * precision[1, 1])
    return float(2.0 * norm.sf(abs(np.arctanh(r)) * np.sqrt(len(data) - len(given) - 3)))


def skeleton(test, columns: int, level: float = 0.05) -> set[Edge]:  # type: ignore[no-untyped-def]
    """Remove edges whose columns are independent given up to two neighbors."""
    edges = set(combinations(range(columns), 2))
    for size in range(3):
        for a, b in sorted(edges):
            near = {c for edge in edges for c in edge if a in edge or b in edge} - {a, b}
            if any(test(a, b, given) > level for given in combinations(sorted(near), size)):
                edges.discard((a, b))
    return edges


def draw(folder: Path, found: dict[str, set[Edge]]) -> None:
    """Draw both skeletons: true edges black, wrong ones red, missing ones dotted."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(1, len(found), figsize=(11, 3.6), layout="constrained")
    for ax, (title, edges) in zip(axes, found.items(), strict=True):
        for edge in sorted(edges | TRUE):
            style = {"color": "black"} if edge in edges & TRUE else {"color": "tab:red", "ls": "-" if edge in edges else ":"}
            ax.plot(*zip(*(PLACES[node] for node in edge), strict=True), lw=2, zorder=1, **style)
        for node, (x, y) in PLACES.items():
            ax.text(x, y, NAMES[node], ha="center", va="center", bbox={"boxstyle": "round", "fc": "white", "ec": "black"})
        ax.set(title=f"{title}: {len(edges & TRUE)} of {len(TRUE)} edges, {len(edges - TRUE)} wrong", xlim=(-0.6, 3.6))
        ax.set_ylim(-0.4, 1.4)
        ax.axis("off")
    figure.savefig(folder / "causal_graph.png", dpi=110)


def main() -> None:
    """Print both skeletons; draw on request."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, help="a folder to write pictures to")
    options = parser.parse_args()
    data = machine()
    found = {
        "partial correlation": skeleton(lambda a, b, given: partial_correlation(data, a, b, given), 6),
        "mercer.causal": skeleton(TableCITest(data, random_state=0), 6),
    }
    for name, edges in found.items():
        pairs = ", ".join(f"{NAMES[a]} - {NAMES[b]}" for a, b in sorted(edges))
        print(f"{name:>20}: {len(edges & TRUE)} of {len(TRUE)} true edges, {len(edges - TRUE)} wrong: {pairs}")
    if options.out is not None:
        draw(options.out, found)


if __name__ == "__main__":
    main()
