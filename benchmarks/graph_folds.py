"""`python -m benchmarks.graph_folds`: accuracy of graph kernels on the outer folds of a published comparison of networks.

    python -m benchmarks.graph_folds                    # all six sets, without those that are stored
    python -m benchmarks.graph_folds ENZYMES DD         # some of them anew; the table shows all that are stored

In each of the ten published folds kernels are chosen inside the training part, then fitted to all of it, and the accuracy
is that of the test part. Up to 1,500 graphs the penalty of `KernelRidgeClassifier` is that of the largest exact
leave-one-out accuracy; above, that of the largest accuracy on the published validation part. The decisions of all kernels
whose accuracy is within one standard error of the best one are averaged, because these rows cannot tell them apart. Every
set has the same list: Weisfeiler-Lehman subtrees, their optimal assignment, distributions of degrees and of the degrees of
neighbors, and means of these; sets with attributes of nodes also have their statistics. Degrees stand for missing labels.
The values of kernels on columns depend on the spread of the columns over all graphs of a set, but on no class.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mercer
from benchmarks.graph_sets import DATA, load, record
from benchmarks.results import write_whole

OUT = Path(__file__).resolve().parent / "quality" / "graph_folds.json"
Array = NDArray[Any]

#: The best accuracies that the published comparison lists, in percent.
PUBLISHED = {"DD": 78.4, "NCI1": 80.0, "PROTEINS": 75.8, "IMDB-BINARY": 72.7, "REDDIT-BINARY": 91.6, "ENZYMES": 65.2}

#: The order in which sets are measured: a run that is stopped has stored the quick ones.
QUICK_FIRST = ("PROTEINS", "ENZYMES", "IMDB-BINARY", "DD", "REDDIT-BINARY", "NCI1")

ALPHAS = tuple(10.0 ** np.arange(-2.5, 1.01, 0.5))
FEW = 1500


def neighbors(graph: Any) -> tuple[Array, Array, Array]:
    """Degrees, and the two ends of every edge in both directions."""
    edges = np.asarray(graph.edges, dtype=np.int64).reshape(-1, 2)
    here, there = np.concatenate([edges, edges[:, ::-1]]).T
    return np.bincount(here, minlength=graph.n_nodes), here, there


def degrees(graphs: list[Any]) -> Array:
    """Roots of the shares of nodes by degree, and by the smallest, largest and mean degree of neighbors, in log bins."""
    found = []
    top = np.log1p(max(neighbors(graph)[0].max(initial=1) for graph in graphs))
    for graph in graphs:
        own, here, there = neighbors(graph)
        low, high = np.full(graph.n_nodes, np.inf), np.zeros(graph.n_nodes)
        np.minimum.at(low, here, own[there])
        np.maximum.at(high, here, own[there])
        mean = np.bincount(here, own[there], graph.n_nodes) / np.maximum(own, 1)
        parts = (own, np.where(own > 0, low, 0.0), high, mean)
        found.append(np.concatenate([np.histogram(np.log1p(part), 30, (0.0, top))[0] / graph.n_nodes for part in parts]))
    return np.sqrt(found)


def sizes(graphs: list[Any]) -> Array:
    """Logarithms of the number of nodes and edges, of the largest degree, and of nodes with one neighbor."""
    rows = [(g.n_nodes, len(g.edges), neighbors(g)[0].max(initial=0), (neighbors(g)[0] == 1).sum()) for g in graphs]
    return standardized(np.log1p(np.array(rows, dtype=np.float64)))


def attributes(graphs: list[Any], values: list[Any], labels: list[Any]) -> Array:
    """Mean, spread, extremes and size of the attributes of nodes and of the means over their neighbors; shares of labels."""
    kinds = sorted({label for one in labels for label in one})
    rows = []
    for graph, given, names in zip(graphs, values, labels, strict=True):
        own = np.asarray(given, dtype=np.float64).reshape(graph.n_nodes, -1)
        degree, here, there = neighbors(graph)
        around = np.zeros_like(own)
        np.add.at(around, here, own[there])
        around /= np.maximum(degree, 1)[:, None]
        told = [f(part, axis=0) for part in (own, around) for f in (np.mean, np.std, np.min, np.max)]
        told += [np.log1p(np.abs(own.sum(axis=0))), [np.log1p(graph.n_nodes)], [names.count(kind) for kind in kinds]]
        rows.append(np.concatenate(told))
    return standardized(np.array(rows))


def standardized(X: Array) -> Array:
    """Columns with mean 0 and standard deviation 1; constant ones are left out."""
    X = X[:, X.std(axis=0) > 1e-12]
    return (X - X.mean(axis=0)) / X.std(axis=0)


def gauss(X: Array) -> Array:
    """The Gaussian kernel with the median distance as its length scale."""
    return np.asarray(mercer.Gaussian("median").resolve(X)(X))


def grams(name: str) -> dict[str, Array]:
    """The Gram matrix of every candidate on all graphs of a set."""
    graphs, _ = load(name)
    found = record(name)
    rule: dict[str, Any] = {} if found.get("node_labels") else {"unlabeled": "degree"}
    levels = (1, 3) if len(graphs) <= FEW else (3,)
    K = {f"subtrees {h}": mercer.WeisfeilerLehman(h, **rule).normalized()(graphs) for h in levels}
    K |= {f"assignment {h}": mercer.WLOptimalAssignment(h, **rule).normalized()(graphs) for h in levels}
    spread, size = gauss(degrees(graphs)), gauss(sizes(graphs))
    K |= {"degrees": spread, "degrees and size": (spread + size) / 2, "degrees of size": spread * size}
    K["assignment and degrees"] = (K["assignment 3"] + spread * size) / 2
    if found.get("node_attributes"):
        known = gauss(attributes(graphs, found["node_attributes"], [list(one) for one in found["node_labels"]]))
        K |= {"attributes": known, "attributes and assignment": (known + K["assignment 3"]) / 2}
        K["attributes times assignment"] = known * (K["assignment 3"] + 0.3)
    return K


def one_fold(K: dict[str, Array], y: Array, fold: dict[str, Any]) -> tuple[float, str]:
    """The accuracy on the test part of the mean of the chosen kernels' decisions, and the best of them."""
    test = np.array(fold["test"])
    inner, check = (np.array(fold["model_selection"][0][part]) for part in ("train", "validation"))
    train = np.concatenate([inner, check])
    found = {}
    for name, gram in K.items():
        if len(y) <= FEW:
            model = mercer.KernelRidgeClassifier(mercer.Precomputed(), alpha="loo", alphas=ALPHAS)
            found[name] = model.fit(gram[np.ix_(train, train)], y[train]).best_score_, model
        else:
            tried = [mercer.KernelRidgeClassifier(mercer.Precomputed(), alpha=alpha) for alpha in ALPHAS[2:6]]
            scores = []
            for model in tried:
                model.fit(gram[np.ix_(inner, inner)], y[inner])
                scores.append(float(np.mean(model.predict(gram[np.ix_(check, inner)]) == y[check])))
            found[name] = max(scores), tried[int(np.argmax(scores))]
    top = max(score for score, _ in found.values())
    error = (top * (1.0 - top) / (len(train) if len(y) <= FEW else len(check))) ** 0.5
    chosen = [name for name, (score, _) in found.items() if score >= top - error]
    decisions = []
    for name in chosen:
        model = found[name][1]
        if len(y) > FEW:
            model.fit(K[name][np.ix_(train, train)], y[train])
        decisions.append(model.decision_function(K[name][np.ix_(test, train)]))
    total, classes = np.sum(decisions, axis=0), np.unique(y)
    answers = classes[(total > 0).astype(int) if total.ndim == 1 else total.argmax(axis=1)]
    return float(np.mean(answers == y[test])), max(found, key=lambda name: found[name][0])


def measure(name: str) -> dict[str, Any]:
    """Accuracies of the ten folds."""
    start = time.perf_counter()
    with gzip.open(DATA / "graph_splits" / f"{name}{'_full' if name == 'PROTEINS' else ''}_splits.json.gz") as file:
        folds = json.load(file)
    K, y = grams(name), load(name)[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of values from outside it is not known that they are a kernel's
        results = [one_fold(K, y, fold) for fold in folds]
    scores, chosen = zip(*results, strict=True)
    return {"folds": list(scores), "chosen": list(chosen), "seconds": round(time.perf_counter() - start)}


def line(name: str, found: dict[str, Any]) -> str:
    """One set as a line."""
    scores = 100.0 * np.array(found["folds"])
    often = max(set(found["chosen"]), key=found["chosen"].count)
    verdict = "ahead" if scores.mean() > PUBLISHED[name] else "behind"
    accuracy = f"{scores.mean():5.2f} ± {scores.std(ddof=1):.2f}"
    return f"{name:14s} {accuracy}  best published {PUBLISHED[name]}: {verdict}; most often '{often}'"


def main() -> None:
    """Measure the named sets and print all that are stored."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", help=f"{', '.join(PUBLISHED)}; default: those that are not stored")
    stored = json.loads(OUT.read_text()) if OUT.is_file() else {}
    for name in parser.parse_args().names or [name for name in QUICK_FIRST if name not in stored]:
        found = measure(name)
        stored = json.loads(OUT.read_text()) if OUT.is_file() else {}  # another run may have stored a set meanwhile
        stored[name] = found
        write_whole(OUT, json.dumps(stored, indent=1) + "\n")
        print(f"{line(name, stored[name])}; {stored[name]['seconds']} s", flush=True)
    stored = json.loads(OUT.read_text())
    ahead = [name for name in PUBLISHED if name in stored and 100 * np.mean(stored[name]["folds"]) > PUBLISHED[name]]
    print("\n".join(line(name, stored[name]) for name in PUBLISHED if name in stored))
    print(f"ahead on {len(ahead)} of {len(stored)}: {', '.join(ahead)}")


if __name__ == "__main__":
    main()
