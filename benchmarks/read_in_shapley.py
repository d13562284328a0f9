"""Shapley values of a fitted SVC of scikit-learn that mercer has read in: 200 rows, and shap's exact explainer as witness.

    python -m benchmarks.read_in_shapley

The machine is fitted to scikit-learn's table on breast cancer (30 columns, scaled). 200 rows are explained against 50
background rows. shap's exact explainer enumerates all subsets of columns, so it explains a machine on 6 columns. The exit
code is 1 if values differ from it by more than 1e-8, if they do not add up to 1e-8, or if 200 rows take more than 10 s.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.svm import SVC

import mercer

ROWS, BACKGROUND, FEW, LIMIT = 200, 50, 6, 10.0


def main() -> int:
    """Print seconds and differences."""
    import shap

    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    ours = mercer.from_sklearn(SVC().fit(X, y))
    start = time.perf_counter()
    found = np.array([one.contributions for one in mercer.explain(ours, X[:ROWS], background=X[-BACKGROUND:])])
    seconds = time.perf_counter() - start
    base = ours.decision_function(X[-BACKGROUND:]).mean()
    sums = float(np.abs(found.sum(axis=1) + base - ours.decision_function(X[:ROWS])).max())
    print(
        f"{ROWS} rows, {X.shape[1]} columns, {len(ours.support_)} support vectors: {seconds:.1f} s; sums off by {sums:.1e}"
    )

    small = SVC().fit(X[:, :FEW], y)
    rows, background = X[:5, :FEW], X[-BACKGROUND:, :FEW]
    masker = shap.maskers.Independent(background, max_samples=BACKGROUND)
    theirs = shap.explainers.Exact(small.decision_function, masker)(rows).values
    own = np.array([one.contributions for one in mercer.explain(mercer.from_sklearn(small), rows, background=background)])
    off = float(np.abs(own - theirs).max())
    good = off < 1e-8 and sums < 1e-8 and seconds < LIMIT
    print(f"{'PASS' if good else 'FAIL'}: {seconds:.2f} s for {ROWS} rows; difference from shap's exact explainer {off:.1e}")
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
