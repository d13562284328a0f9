"""Whether a function may be taken for a kernel on the training rows, said once where it may not."""

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

#: Rows whose whole Gram matrix is looked at; of more rows this many are drawn.
VERIFIED_ROWS = 1000

#: A matrix is called psd within this many n eps max|K|, as `check_gram` does.
ROUNDING = 10.0


class NotAKernelWarning(UserWarning):
    """A function that is not known to be a kernel was used as one; bounds that need a kernel are not available."""


@lru_cache(maxsize=256)
def proven(kernel: Kernel) -> bool:
    """Whether the closure rules derive that this is a kernel."""
    return outline(kernel).proven


def stands(kernel: Kernel, X: Any, owner: str) -> bool:
    """Whether the training rows have a psd Gram matrix for certain; says it once where they have not."""
    if proven(kernel):
        return True
    n, rows = count(X), Rows(X)
    looked = (
        rows if n <= VERIFIED_ROWS else rows.take(np.sort(np.random.default_rng(0).choice(n, VERIFIED_ROWS, replace=False)))
    )
    psd = _is_psd(np.asarray(gram(kernel, looked, memory=float("inf")), dtype=np.float64))
    if psd and n <= VERIFIED_ROWS:
        return True
    word = "is not known to be a kernel" if psd else "is not a kernel on these rows"
    warn(
        f"{owner}: {kernel} {word}, so that bounds and gaps which rest on one are not available (nan). "
        'k.certificate() says more; k.repaired(X, method="clip") is a kernel near it.',
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
