"""`find_counterexample`: points at which a function fails to be a kernel, or None."""

from __future__ import annotations

from typing import Any

from mercer.errors import InputError, describe
from mercer.kernels.base import Kernel
from mercer.numeric.threads import one_blas_thread
from mercer.validity.derive import outline
from mercer.validity.points import generated, given
from mercer.validity.search import Search
from mercer.validity.witness import CounterExample


def find_counterexample(kernel: Kernel, X: Any = None) -> CounterExample | None:
    """Return points and a vector c with c'Kc < 0, or points with k(x, z) != k(z, x), or None.

    Single points are tried first, k(x, x) < 0, then pairs, k(x, z)^2 > k(x, x) k(z, z), then larger sets: points of X
    (a sample of a few hundred if X is larger), or points generated where the kernel lives. A kernel with a proof by the
    closure rules has none, so none is sought. What is found has been checked in exact or interval arithmetic where the
    kernel has a formula; for Python functions -c'Kc > 100 n eps max|K| ||c||^2, so that rounding is never called a
    counter-example. The search uses a fixed seed.

    >>> from mercer import Gaussian, Tanh
    >>> find_counterexample(Gaussian()) is None
    True
    >>> found = find_counterexample(Tanh(scale=1.0, offset=1.0))
    >>> len(found.points), found.value < 0, found.kind
    (2, True, 'interval')
    """
    if not isinstance(kernel, Kernel):
        raise InputError(f"find_counterexample takes a kernel; got {describe(kernel)}. For a function f(X, Z): Function(f).")
    if outline(kernel).proven:
        return None
    return search(kernel, X)[0]


def search(kernel: Kernel, X: Any = None) -> tuple[CounterExample | None, str]:
    """Search without asking for a proof first; return what was found, and in words how hard was searched."""
    if X is not None:
        kernel = kernel.resolve(X)
    if kernel.unresolved:
        raise InputError(
            f'{kernel} still has length_scale="median": which function it is depends on data. '
            "Give them, find_counterexample(k, X), or call k.resolve(X) first."
        )
    looking = Search(kernel)
    with one_blas_thread():  # thousands of tiny matrices: a second thread only waits
        found = looking.run([given(X, kernel)] if X is not None else generated(kernel))
    return found, looking.describe()
