"""A mixed table with 30 % holes, and a table with text and molecules: `python -m benchmarks.table_holes [--splits 10]`.

Holes: spam or not (`cls_spambase`, ten columns, one of them cut into categories) with 30 %
of all cells removed at random; `TableClassifier` beside impute + one-hot + RBF SVC tuned by three folds, paired over splits.
Text: solubility of molecules (`str_smiles_esol`) from RDKit's weight, atoms and rings, with and without text and graph.
"""

from __future__ import annotations

import argparse
import gzip
import json
from typing import Any

import numpy as np
import polars as pl

from benchmarks.table_sets import DATA, load_classification

ROWS, TESTED = 300, 500


def holed(seed: int) -> tuple[pl.DataFrame, Any]:
    """Ten columns of spambase, the last as three categories, with 30 % of the cells taken out."""
    X, y = load_classification("spambase")
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(y))[: ROWS + TESTED]
    chosen = [6, 15, 20, 22, 23, 24, 51, 52, 55, 56]
    X = np.log1p(X[rows][:, chosen])
    words = np.array(["none", "some", "much"])[np.digitize(X[:, 3], [1e-9, 0.3])]
    table: dict[str, list[Any]] = {f"v{i}": X[:, i].tolist() for i in range(len(chosen)) if i != 3}
    table["word"] = words.tolist()
    for name, cells in table.items():
        table[name] = [None if rng.random() < 0.3 else cell for cell in cells]
    return pl.DataFrame(table), y[rows]


def pipeline(numbers: list[str]) -> Any:
    """Impute, one-hot, scale, RBF SVC with C and gamma by three folds."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    from sklearn.svm import SVC

    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
        (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")), ["word"]),
    )
    grid = {"svc__C": [0.3, 1.0, 3.0, 10.0, 30.0], "svc__gamma": ["scale", 0.01, 0.03, 0.1]}
    return GridSearchCV(make_pipeline(columns, SVC()), grid, cv=3)


def show_holes(splits: int) -> None:
    """Accuracies, and the paired difference with its standard error."""
    from mercer import TableClassifier, frame_kernel

    pairs = []
    for seed in range(splits):
        frame, y = holed(seed)
        train, test = frame[:ROWS], frame[ROWS:]
        model = TableClassifier(random_state=seed).fit(train, y[:ROWS])
        kernel = model.members_[0].model.kernel
        pandas = frame.to_pandas().replace({None: np.nan})
        rival = pipeline([name for name in frame.columns if name != "word"]).fit(pandas[:ROWS], y[:ROWS])
        pairs.append((np.mean(model.predict(test) == y[ROWS:]), rival.score(pandas[ROWS:], y[ROWS:])))
        print(seed, [round(float(value), 4) for value in pairs[-1]], kernel.certificate().status, flush=True)
    K = frame_kernel(frame)(frame)
    mine, theirs = np.array(pairs).T
    gap, error = (mine - theirs).mean(), (mine - theirs).std(ddof=1) / np.sqrt(len(pairs)) if len(pairs) > 1 else np.nan
    print(f"holes: smallest eigenvalue of the Gram matrix {np.linalg.eigvalsh(K)[0]:.2g}; accuracy {mine.mean():.4f}")
    print(f"against {theirs.mean():.4f} of impute + one-hot + SVC; {gap:+.4f} +- {error:.4f} over {len(pairs)} splits")


def molecules() -> tuple[Any, Any]:
    """The table of `str_smiles_esol` with RDKit's weight, atoms and rings, the text and the graph; and the solubility."""
    import pandas as pd
    from rdkit import Chem
    from rdkit.Chem.Descriptors import MolWt

    from mercer import Graph

    with gzip.open(DATA / "str_smiles_esol.json.gz") as file:
        data = json.load(file)
    read = [Chem.MolFromSmiles(text) for text in data["strings"]]
    frame = pd.DataFrame(
        {
            "weight": [MolWt(molecule) for molecule in read],
            "atoms": [float(molecule.GetNumAtoms()) for molecule in read],
            "rings": [float(molecule.GetRingInfo().NumRings()) for molecule in read],
            "smiles": data["strings"],
        }
    )
    frame["molecule"] = [Graph.from_smiles(text) for text in data["strings"]]
    return frame, np.array(data["targets"], dtype=float)


def show_text(splits: int) -> None:
    """RMSE from weight, atoms and rings alone, with the text, with the molecule, and with both."""
    from mercer import TableRegressor

    frame, y = molecules()
    parts = {"counts": ["smiles", "molecule"], "with text": ["molecule"], "with molecule": ["smiles"], "with both": []}
    errors: dict[str, list[float]] = {name: [] for name in parts}
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[:700], order[700:]
        for name, without in parts.items():
            part = frame.drop(columns=without)
            model = TableRegressor(random_state=seed).fit(part.iloc[train], y[train])
            errors[name].append(float(np.sqrt(np.mean((model.predict(part.iloc[test]) - y[test]) ** 2))))
        print(f"esol, split {seed}: " + ", ".join(f"{k} {v[-1]:.3f}" for k, v in errors.items()), flush=True)
    print("esol, mean RMSE: " + ", ".join(f"{name} {np.mean(values):.3f}" for name, values in errors.items()))


def main() -> None:
    """Both parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--part", choices=("holes", "text", "both"), default="both")
    options = parser.parse_args()
    if options.part != "text":
        show_holes(options.splits)
    if options.part != "holes":
        show_text(min(options.splits, 3))


if __name__ == "__main__":
    main()
