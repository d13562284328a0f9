"""Whether a kernel has a psd Gram matrix on the training rows, with a warning if that is not known."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import scipy.linalg

from mercer.errors import warn
from mercer.grams import gram
from mercer.inputs import Rows, count
from mercer.kernels.base import Kernel
from mercer.validity.proofs import outline

#: Rows whose Gram matrix is factored; from more rows this many are drawn.
VERIFIED_ROWS = 1000

#: A matrix counts as psd within this many n eps max|K|, as in `check_gram`.
ROUNDING = 10.0


class NotAKernelWarning(UserWarning):
    """A function that is not known to be a kernel was used as one; bounds that need a kernel are not available."""


@lru_cache(maxsize=256)
def proven(kernel: Kernel) -> bool:
    """Whether the closure rules derive that this is a kernel."""
    return outline(kernel).proven


def known_psd(kernel: Kernel, X: Any, owner: str) -> bool:
    """Return whether the Gram matrix of the training rows is psd for certain; warn if it is not."""
    if proven(kernel):
        return True
    n, rows = count(X), Rows(X)
    if n > VERIFIED_ROWS:
        rows = rows.take(np.sort(np.random.default_rng(0).choice(n, VERIFIED_ROWS, replace=False)))
    psd = _is_psd(np.asarray(gram(kernel, rows, memory=float("inf")), dtype=np.float64))
    if psd and n <= VERIFIED_ROWS:
        return True
    finding = "is not known to be a kernel" if psd else "is not a kernel on these rows"
    warn(
        f"{owner}: {kernel} {finding}, so bounds and duality gaps, which need a kernel, are not available (nan). "
        'k.certificate() gives the details; k.repaired(X, method="clip") is a kernel near it.',
        NotAKernelWarning,
    )
    return False


def _is_psd(K: np.ndarray) -> bool:  # (n, n)
    size = float(np.abs(K).max(initial=0.0))
    if not np.isfinite(size) or float(np.abs(K - K.T).max(initial=0.0)) > 1e-6 * size:
        return False
    shift = ROUNDING * len(K) * float(np.finfo(np.float64).eps) * size
    try:
        scipy.linalg.cholesky(K + (shift + np.finfo(np.float64).tiny) * np.eye(len(K)), lower=True, check_finite=False)
    except scipy.linalg.LinAlgError:
        return False
    return True
