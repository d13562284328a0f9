"""One kernel on one collection, with what many laws need computed once."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Array
from mercer.inputs import Rows, is_frame, take
from mercer.kernels.base import Kernel
from mercer.kernels.views import View
from mercer.kernels.wrappers import Centered
from mercer.testing.naive import Twin


def objects(data: Any) -> list[Any]:
    """Return the single objects of a collection, rows of numbers as lists, for a scalar twin."""
    if sp.issparse(data):
        return list(data.toarray().tolist())
    if is_frame(data):
        return list(data.to_numpy().tolist())
    return list(data.tolist()) if isinstance(data, np.ndarray) else list(data)


class Case:
    """A kernel, two collections X and Z of the same kind, and the size of its numbers."""

    def __init__(self, kernel: Kernel, X: Any, Z: Any, twin: Twin | None, tol: float | None) -> None:
        self.kernel, self.X, self.twin = kernel, X, twin
        self.n = len(Rows(X))
        # a Z that overlaps X and has another length, in another order
        self.Z = take(X, np.arange(self.n - 1, self.n // 3 - 1, -1)) if Z is None else Z
        self.m = len(Rows(self.Z))
        self._tol = tol

    @cached_property
    def gram(self) -> Array:
        """k(X)."""
        return self.kernel(self.X)

    @cached_property
    def cross(self) -> Array:
        """k(X, Z)."""
        return self.kernel(self.X, self.Z)

    @cached_property
    def diag(self) -> Array:
        """k.diag(X)."""
        return np.asarray(self.kernel.diag(self.X))

    @cached_property
    def eps(self) -> float:
        """The rounding of one operation in the dtype of the values."""
        return float(np.finfo(self.gram.dtype).eps)

    @cached_property
    def scale(self) -> float:
        """The largest number that turns up on the way: rounding errors are relative to it, not to the result."""
        both = [magnitude(self.kernel, Rows(data)) for data in (self.X, self.Z)]
        return max(*both, float(np.abs(self.gram).max()))

    @cached_property
    def tolerance(self) -> float:
        """How far apart two ways to the same value may be: some 500 roundings, relative to `scale`.

        A leaf is good to a few eps; exponentials, powers and products of a deep tree each multiply the relative error
        by their order, so that three levels of them reach tens of eps (30 is the most seen). A bug is far above.
        """
        return (500.0 * self.eps if self._tol is None else self._tol) * max(self.scale, np.finfo(float).tiny)

    @cached_property
    def status(self) -> str:
        """What the certificate says."""
        return str(self.kernel.certificate().status)


def magnitude(kernel: Kernel, rows: Rows) -> float:
    """Return the largest k(x, x) of the kernel or of a term inside it."""
    if isinstance(kernel, View):
        return magnitude(kernel.inner, kernel._view(rows))
    own = float(np.abs(kernel.diag(rows)).max())
    if isinstance(kernel, Centered):
        own = max(own, magnitude(kernel.inner, Rows(kernel.sample.data)))
    return max([own, *(magnitude(child, rows) for child in kernel.children)])
