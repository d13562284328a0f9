"""Remote relatives among proteins

Remote homology: which proteins belong to a superfamily whose other families the model has seen?

    python examples/protein_family.py [--task 1.34] [--rows N] [--out FOLDER]

A task of the SCOP benchmark: proteins of some families of a superfamily, and others, to learn from; a family left out,
and others, to rank. Gapped substrings see relatives whose letters have changed here and there. Printed is the area under
the ROC curve on the given split.
"""

from __future__ import annotations

import sys

import numpy as np
from sklearn.metrics import roc_auc_score
from string_data import arguments, load, write_page
from string_pictures import draw_roc

from mercer import GappedSpectrum, KernelRidgeClassifier, explain


def main() -> None:
    parser = arguments(__doc__, rows=1500)
    parser.add_argument("--task", default="1.34", help="the name of a superfamily")
    options = parser.parse_args()
    found = load("scop_homology", options.data)
    if options.task not in found["tasks"]:
        sys.exit(f"there is no task {options.task!r}; there are {', '.join(found['tasks'])}")
    task = found["tasks"][options.task]
    order = np.random.default_rng(0).permutation(len(task["train"]))[: options.rows]
    train = [found["strings"][task["train"][i]] for i in order]
    labels = np.array(task["train_labels"])[order]
    kept = [i for i, label in enumerate(task["test_labels"]) if label or i < options.rows]
    test, truth = [found["strings"][task["test"][i]] for i in kept], np.array(task["test_labels"])[kept]
    model = KernelRidgeClassifier(GappedSpectrum(4, gaps=2).normalized(), alpha=0.1, verbose=False).fit(train, labels)
    scores = model.decision_function(test)
    print(f"superfamily {options.task}: {len(train)} proteins to learn from, {labels.sum()} of the superfamily;")
    print(f"{len(test)} to rank, {truth.sum()} of a family never seen")
    print(f"area under the ROC curve {roc_auc_score(truth, scores):.4f}")
    ranks = np.sort((-scores).argsort().argsort()[truth == 1] + 1)
    print(f"places of the family in the ranking: {', '.join(map(str, ranks))}\n")
    best = int(np.where(truth == 1, scores, -np.inf).argmax())
    one = explain(model, test[best])
    print(one)
    draw_roc(options.out, "protein_family", scores, truth)
    write_page(options.out, "protein_family", [one], [f"superfamily {options.task}"], "A protein family")


if __name__ == "__main__":
    main()
