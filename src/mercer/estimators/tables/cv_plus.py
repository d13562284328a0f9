"""CV+ intervals: held-out residuals around what the model of their fold predicts at a new point."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.errors import InputError

#: New rows taken at a time.
NEW_ROWS = 256


def cv_plus(
    by_fold: Floats, scores: Floats, folds: Indices, coverage: float, widths: Floats | None = None
) -> Floats:  # (folds, n), (m,), (m,), number, (n,) -> (n, 2)
    """Quantiles of f_-k(i)(x) -+ scores_i widths(x) over the training rows i, k(i) the fold of row i.

    The lower end is the floor((1 - coverage)(m + 1))-th smallest, the upper end the ceil(coverage (m + 1))-th smallest;
    infinite where there are too few rows.
    """
    if not 0.0 < coverage < 1.0:
        raise InputError(f"coverage must lie between 0 and 1; got {coverage!r}.")
    if len(folds) and not 0 <= folds.min() <= folds.max() < len(by_fold):
        raise InputError(f"folds must lie in 0 … {len(by_fold) - 1}; the model was damaged or changed after the fit.")
    m, n = len(scores), by_fold.shape[1]
    low, high = int(np.floor((1.0 - coverage) * (m + 1) + 1e-9)), int(np.ceil(coverage * (m + 1) - 1e-9))
    out = np.empty((n, 2))
    for start in range(0, n, NEW_ROWS):
        part = slice(start, start + NEW_ROWS)
        middle = by_fold[folds][:, part]
        reach = np.multiply.outer(scores, np.ones(middle.shape[1]) if widths is None else widths[part])
        out[part, 0] = np.sort(middle - reach, axis=0)[low - 1] if low >= 1 else -np.inf
        out[part, 1] = np.sort(middle + reach, axis=0)[high - 1] if high <= m else np.inf
    return out
