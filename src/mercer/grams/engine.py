"""`gram`: the matrix k(X, Z) within a memory budget, into memory of the caller's own if given."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.kernels.evaluation import REMEDY, Evaluation
from mercer.kernels.parsing import as_kernel
from mercer.numeric import tiles
from mercer.numeric.memory import allocate, parse_bytes
from mercer.numeric.threads import Progress


def gram(
    kernel: Any,
    X: Any,
    Z: Any = None,
    *,
    out: Array | None = None,
    memory: int | float | str | None = None,
    progress: Progress | None = None,
) -> Array:
    """Return K with K_ij = k(x_i, z_j), tile by tile on all cores; gram(k, X) is gram(k, X, X), exactly symmetric.

    Parameters
    ----------
    kernel : Kernel or str
        A kernel or its text.
    X, Z : collections
        Arrays, CSR, data frames, lists of strings or graphs. float32 data give a float32 matrix.
    out : (n, m) array, optional
        Where to write: float32 or float64, C- or Fortran-ordered. Otherwise a new array is made.
    memory : bytes or text such as "4 GB", optional
        Budget for the new array, 8 GiB if not given. What does not fit is refused before anything is allocated.
    progress : function (done, total), optional
        Called after tiles; raise in it, or press Ctrl-C, to stop.

    >>> import numpy as np
    >>> from mercer import Linear, gram
    >>> X = np.arange(6.0).reshape(3, 2)
    >>> bool(np.all(gram(Linear(), X) == X @ X.T))
    True
    """
    values = Evaluation(as_kernel(kernel), X, Z)
    if out is None:
        out = allocate(values.shape, values.dtype, "the Gram matrix", REMEDY, parse_bytes(memory))
    else:
        _check_out(out, values.shape)
    return tiles.fill(values.block, out, values.symmetric, progress, values.strip)


def _check_out(out: Any, shape: tuple[int, int]) -> None:
    if not isinstance(out, np.ndarray) or out.dtype not in (np.float32, np.float64):
        raise InputError("out must be a float32 or float64 array.")
    if out.shape != shape:
        raise InputError(f"out has shape {out.shape}; the Gram matrix has {shape}.")
    if not out.flags.writeable:
        raise InputError("out is read-only; give an array that may be written.")
