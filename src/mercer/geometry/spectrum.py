"""Mercer's eigenfunctions: k(x, z) = sum_l k_l e_l(x) e_l(z), orthonormal under a distribution of the data.

They solve  integral k(x, z) e_l(z) p(z) dz = k_l e_l(x).  For a sample in place of p this is the eigenvalue problem of K/n,
and the same equation, read at a new x, is the Nystroem extension. For a Gaussian kernel and a normal p the solutions are
Hermite functions (Zhu, Williams, Rohwer and Morciniec, 1998).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mercer.arrays import Floats
from mercer.errors import InputError, check_whole
from mercer.grams import gram
from mercer.inputs import count
from mercer.kernels.parsing import as_kernel

#: Eigenvalues of K below this share of the largest are left out: an eigenfunction divides the rounding errors of K by its
#: eigenvalue, and the last one kept has about six correct digits.
SMALLEST = 1e-9


@dataclass(frozen=True, eq=False)
class Eigenfunctions:
    """The first r eigenfunctions: `values` are k_1 >= k_2 >= …, and a call returns e_l(z) as (n, r).

    A function f with coefficients f_l = <f, e_l> under the distribution has ||f||^2 = sum_l f_l^2 / k_l in the space of the
    kernel, and <f, g> = sum_l f_l g_l / k_l.
    """

    values: Floats  # (r,)
    _evaluate: Callable[[Any], Floats]

    def __call__(self, Z: Any) -> Floats:
        """Return e_l(z) for every object z of a collection and every l, (n, r)."""
        return self._evaluate(Z)


def eigenfunctions(kernel: Any, X: Any, n_components: int | None = None) -> Eigenfunctions:
    """Return the eigenfunctions of a kernel on a sample, extended to all objects (Nystroem).

    With K = U diag(s) U' on the n objects, k_l = s_l / n and e_l(x) = sqrt(n) / s_l sum_i u_il k(x_i, x), so that
    e_l(x_i) = sqrt(n) u_il and the mean of e_l e_m over the sample is 1 or 0. Eigenvalues below
    1e-9 of the largest are left out.

    >>> import numpy as np
    >>> from mercer import Gaussian, geometry
    >>> X = np.random.default_rng(0).normal(size=(50, 1))
    >>> e = geometry.eigenfunctions(Gaussian(1.0), X)
    >>> bool(np.allclose(e(X).T @ e(X) / 50, np.eye(len(e.values)), atol=1e-4))
    True
    >>> bool(np.allclose((e(X) * e.values) @ e(X).T, Gaussian(1.0)(X)))
    True
    """
    k, n = as_kernel(kernel), count(X)
    s, U = np.linalg.eigh(np.asarray(gram(k, X), dtype=np.float64))
    if s[-1] <= 0 or s[0] < -SMALLEST * s[-1]:
        raise InputError(f"geometry.eigenfunctions: {k} is not a kernel on these rows; k.repaired(X) gives one close to it.")
    wanted = n if n_components is None else _checked(n_components)
    kept = np.flatnonzero(s > SMALLEST * s[-1])[::-1][:wanted]
    s, U = s[kept], U[:, kept]
    U = U * np.where(U[np.abs(U).argmax(axis=0), np.arange(len(s))] < 0, -1.0, 1.0)  # signs as in KernelPCA
    weights = U * (math.sqrt(n) / s)
    return Eigenfunctions(s / n, lambda Z: np.asarray(gram(k, Z, X), dtype=np.float64) @ weights)


def gaussian_eigenfunctions(length_scale: float, deviation: float, n_components: int) -> Eigenfunctions:
    """Return the eigenfunctions of exp(-(x - z)^2 / (2 length_scale^2)) under a normal distribution of mean 0.

    With a = 1/(4 deviation^2), b = 1/(2 length_scale^2), c = sqrt(a^2 + 2ab) and A = a + b + c,

        k_l = sqrt(2a/A) (b/A)^l,   e_l(x) = (c/a)^(1/4) / sqrt(2^l l!) exp(-(c - a) x^2) H_l(sqrt(2c) x),   l = 0, 1, …

    with Hermite's polynomials H_l. The values add up to k(x, x) = 1. Several columns have products of these.

    >>> import numpy as np
    >>> from mercer import Gaussian, geometry
    >>> e, x = geometry.gaussian_eigenfunctions(1.0, 1.0, 40), np.linspace(-2, 2, 9)[:, None]
    >>> bool(np.allclose((e(x) * e.values) @ e(x).T, Gaussian(1.0)(x))), round(float(e.values.sum()), 9)
    (True, 1.0)
    """
    for name, value in (("length_scale", length_scale), ("deviation", deviation)):
        if not (math.isfinite(value) and value > 0):
            raise InputError(f"geometry.gaussian_eigenfunctions: {name} must be a finite number > 0; got {value!r}.")
    r = _checked(n_components)
    a, b = 1.0 / (4.0 * deviation**2), 1.0 / (2.0 * length_scale**2)
    c = math.sqrt(a * a + 2.0 * a * b)
    A = a + b + c

    def evaluate(Z: ArrayLike) -> Floats:
        x = np.asarray(Z, dtype=np.float64)
        if x.ndim != 2 or x.shape[1] != 1:
            raise InputError(f"geometry.gaussian_eigenfunctions: these are functions of one column; got shape {x.shape}.")
        x = x[:, 0]
        t, found = math.sqrt(2.0 * c) * x, np.empty((len(x), r))
        found[:, 0] = (c / a) ** 0.25 * np.exp(-(c - a) * x * x)
        for m in range(1, r):  # the recurrence of H_l divided by sqrt(2^l l!), which avoids overflow and cancellation
            before = found[:, m - 2] * math.sqrt((m - 1) / m) if m > 1 else 0.0
            found[:, m] = math.sqrt(2.0 / m) * t * found[:, m - 1] - before
        return found

    values = math.sqrt(2.0 * a / A) * np.power(b / A, np.arange(r, dtype=np.float64))
    return Eigenfunctions(values.astype(np.float64), evaluate)


def _checked(n_components: int) -> int:
    return check_whole("geometry.eigenfunctions", "n_components", n_components, 1)
