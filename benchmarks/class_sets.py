"""Prediction sets of classes: coverage over 200 splits, and sizes beside those of calibrated gradient boosting.

    python -m benchmarks.class_sets [--sets satellite letter spambase]

Each table is cut into 2,000 training rows and at most 5,000 other rows. mercer's model is `TableClassifier()`, the rival
scikit-learn's HistGradientBoostingClassifier with isotonic calibration (CalibratedClassifierCV, five folds). In each of 200
splits, 1,000 of the other rows calibrate the sets of both models by the rule of `predict_set`, and the rest is judged.
Printed are the coverage over all rows and the worst one among classes (method="class", classes with at least 30 calibrating
rows on average), and mean sizes for coverages of 0.9, 0.95 and 0.99. The exit code is 1 if a mean coverage of mercer's sets
differs from the requested one by more than a point.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier

from benchmarks import table_sets as sets
from mercer import TableClassifier
from mercer.estimators.prediction_sets import HeldOutClasses, thresholds

SPLITS, CALIBRATING, FEWEST = 200, 0.6, 100
COVERAGES = (0.9, 0.95, 0.99)
NEAR = 0.01
Array = NDArray[Any]


def fitted(name: str) -> tuple[dict[str, Any], Array, Array]:
    """Return both models, fitted to 2,000 rows, and the other rows with their labels."""
    X, y = sets.load_classification(name)
    train, rest = sets.split(len(y), 0)
    boosting = CalibratedClassifierCV(HistGradientBoostingClassifier(random_state=0), method="isotonic", cv=5)
    models: dict[str, Any] = {"mercer": TableClassifier(), "boosting": boosting}
    for model in models.values():
        model.fit(X[train], y[train])
    return models, X[rest], y[rest]


def coverages(model: Any, P: Array, codes: Array, coverage: float) -> tuple[float, Array, Array, float]:
    """Return means over splits: coverage of all rows, of classes by method="class", rows of these, and the size of a set."""
    rng, count, size = np.random.default_rng(0), P.shape[1], int(CALIBRATING * len(codes))
    rows = np.bincount(codes, minlength=count) * size / len(codes)
    common = rows >= max(FEWEST, 2.0 / (1.0 - coverage))
    inside, sizes, by_class = np.empty(SPLITS), np.empty(SPLITS), np.full((SPLITS, count), np.nan)
    for split in range(SPLITS):
        order = rng.permutation(len(codes))
        part, new = order[:size], order[size:]
        known, scores = HeldOutClasses(P[part], codes[part]), 1.0 - P[new]
        held = thresholds(model, known, None, coverage, "marginal", None) + 1e-12 >= scores
        inside[split], sizes[split] = held[np.arange(len(new)), codes[new]].mean(), held.sum(axis=1).mean()
        for code in np.flatnonzero(common):  # the rule of method="class" for one class
            own = HeldOutClasses(P[part[codes[part] == code]], np.full((codes[part] == code).sum(), code))
            limit = thresholds(model, own, None, coverage, "marginal", None)
            by_class[split, code] = (scores[codes[new] == code, code] <= limit + 1e-12).mean()
    return float(inside.mean()), by_class[:, common].mean(axis=0), rows[common], float(sizes.mean())


def main(words: Sequence[str] | None = None) -> int:
    """Print a line for each table and coverage, and the verdict."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=("spambase", "satellite", "letter"))
    largest, ratios = 0.0, []
    for name in parser.parse_args(words).sets:
        models, X, y = fitted(name)
        probabilities = {kind: np.asarray(model.predict_proba(X)) for kind, model in models.items()}
        codes = np.searchsorted(models["mercer"].classes_, y)
        for coverage in COVERAGES:
            found = {kind: coverages(models["mercer"], P, codes, coverage) for kind, P in probabilities.items()}
            (share, classes, rows, size), (their_share, *_, their_size) = found["mercer"], found["boosting"]
            above = np.append(classes - 1.0 / (rows + 1.0), share) - coverage
            missed = np.maximum(above, coverage - np.append(classes, share)).max()
            largest, ratios = max(largest, float(missed)), [*ratios, size / their_size]
            worst = f", class farthest off {classes[np.abs(classes - coverage).argmax()]:.4f}" if len(classes) else ""
            print(f"{name} at {coverage:g}: covers {share:.4f}{worst}; size {size:.3f}, boosting {their_size:.3f} "
                  f"(covers {their_share:.4f})", flush=True)  # fmt: skip
    mean = float(np.exp(np.mean(np.log(ratios))))
    good = largest <= NEAR
    print(f"{'PASS' if good else 'FAIL'}: largest miss {largest:.4f}; sizes {mean:.3f} of boosting's (geometric mean)")
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
