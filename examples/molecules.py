"""Which molecules are mutagenic, and which atoms say so?

Weisfeiler-Lehman kernels on molecules, explanations and pictures.

    python examples/molecules.py [--data FOLDER] [--out FOLDER]

188 nitroaromatic compounds (MUTAG). A support vector machine on the Weisfeiler-Lehman kernel is judged by ten folds, with
the number of iterations and the penalty chosen inside. Then two molecules are taken apart atom by atom: carbon atoms where
rings meet speak for mutagenic, as chemists know of fused rings. The atlas of graphlets is drawn as well.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from string_data import DATA

from mercer import SVC, Graph, WeisfeilerLehman, explain
from mercer.datasets import load_solubility_graphs

ATOMS = {0: "C", 1: "N", 2: "O", 3: "F", 4: "I", 5: "Cl", 6: "Br"}
BONDS = {0: ":", 1: "-", 2: "=", 3: "#"}


def molecules(folder: Path) -> tuple[list[Graph], np.ndarray]:
    """MUTAG with the names of atoms and bonds."""
    path = folder / "graph_MUTAG.json.gz"
    if not path.exists():
        print("MUTAG is not beside this project: 300 molecules of ESOL stand in, which dissolve in water, or hardly.\n")
        found, solubility = load_solubility_graphs()
        rows = np.random.default_rng(0).permutation(len(found))[:300]
        return [found[i] for i in rows], np.where(solubility[rows] > np.median(solubility), "soluble", "not soluble")
    with gzip.open(path) as file:
        data = json.load(file)
    rows = zip(data["n_nodes"], data["edges"], data["node_labels"], data["edge_labels"], strict=True)
    graphs = [Graph(n, edges, [ATOMS[a] for a in atoms], [BONDS[b] for b in bonds]) for n, edges, atoms, bonds in rows]
    return graphs, np.where(np.array(data["graph_labels"]) > 0, "mutagenic", "harmless")


def search() -> GridSearchCV:
    """A machine whose iterations and penalty are chosen by five folds."""
    grid: dict[str, Any] = {"kernel__0__iterations": [1, 2, 3, 4], "C": [1.0, 10.0, 100.0]}
    return GridSearchCV(SVC(WeisfeilerLehman(2).normalized()), grid, cv=5)


def draw(found: list[Any], folder: Path) -> None:
    """The explained molecules side by side, and the atlas of graphlets."""
    from mercer.report.drawing import pyplot
    from mercer.report.graphs import AtlasDisplay, GraphDisplay

    folder.mkdir(parents=True, exist_ok=True)
    figure, axes = pyplot().subplots(1, len(found), figsize=(4.6 * len(found), 4.0), layout="constrained")
    for one, ax in zip(found, axes, strict=True):
        GraphDisplay.from_explanation(one, ax=ax)
    figure.savefig(folder / "mutagenic.png", dpi=100)
    for p in (3, 4, 5):
        AtlasDisplay(p).plot().figure_.savefig(folder / f"atlas{p}.png", dpi=80)
    print(f"pictures: {folder / 'mutagenic.png'}, {folder / 'atlas5.png'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA, help="the folder with graph_MUTAG.json.gz")
    parser.add_argument("--out", type=Path, help="a folder to write pictures to")
    parser.add_argument("--folds", type=int, default=10)
    options = parser.parse_args()
    graphs, classes = molecules(options.data)
    folds = StratifiedKFold(options.folds, shuffle=True, random_state=0)
    scores = cross_val_score(search(), graphs, classes, cv=folds)
    largest = 100.0 * max(np.mean(classes == name) for name in set(classes))
    print(f"accuracy {100.0 * scores.mean():.1f} % over {options.folds} folds (largest class: {largest:.1f} %)\n")
    model = search().fit(graphs, classes).best_estimator_
    print(f"chosen on all molecules: {model.kernel}, C = {model.C:g}")
    decisions = model.decision_function(graphs)
    shown = [int(decisions.argmax()), int(decisions.argmin())]
    found = [explain(model, graphs[i], target=model.classes_[1]) for i in shown]
    for one in found:
        print(f"\n{one}")
    if options.out is not None:
        draw(found, options.out)


if __name__ == "__main__":
    main()
