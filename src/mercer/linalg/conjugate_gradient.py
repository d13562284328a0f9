"""Preconditioned conjugate gradients for a matrix that is known only by its products."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError, NumericalError
from mercer.linalg.solution import Solution, penalties, targets


class Operator(Protocol):
    """A symmetric matrix, or anything that multiplies like one."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(n, n)."""
        ...

    def __matmul__(self, other: Any, /) -> Any:  # (n, t) -> (n, t)
        """The product with a block of vectors."""
        ...


@dataclass(frozen=True)
class Progress:
    """Number and residual of an iteration."""

    n_iter: int
    max_iter: int
    residual: float  # the worst column of ||b - A x|| / ||b||, as the recursion sees it
    tol: float


def conjugate_gradient(  # A (n, n), B (n, *t), shift () or (n,), start (n, *t)
    A: Operator,
    B: Array,
    *,
    shift: float | Array = 0.0,
    preconditioner: Callable[[Array], Array] | None = None,
    start: Array | None = None,
    tol: float = 1e-8,
    max_iter: int | None = None,
    callback: Callable[[Progress], bool | None] | None = None,
) -> Solution:
    """Solve ``(A + diag(shift)) X = B`` for all columns at once, one product with A per iteration.

    Columns are independent systems and leave the product as they converge: ||b - A x|| <= tol ||b||. The default
    preconditioner is the diagonal where A has ``diag()``. Convergence is claimed only after the true residual has
    been computed; when that disagrees with the recursion the iteration restarts from it. ``callback`` sees the
    progress after each iteration and stops the run by returning True; Ctrl-C leaves all arguments as they were.

    >>> A = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> s = conjugate_gradient(A, np.array([3.0, 0.0]), shift=1.0)
    >>> s.value.round(8), s.converged, s.n_iter  # as many steps as there are distinct eigenvalues
    (array([ 1.125, -0.375]), True, 2)
    """
    n = A.shape[0]
    if len(A.shape) != 2 or A.shape[1] != n:
        raise InputError(f"conjugate gradients need a square matrix; got shape {A.shape}.")
    rhs = targets(B, n, "B").astype(np.float64)
    ridge = penalties(shift, "shift")[:, None]
    X = np.zeros_like(rhs) if start is None else targets(start, n, "start").astype(np.float64)
    if X.shape != rhs.shape:
        raise InputError(f"start must have the shape of B, {rhs.shape}; got {X.shape}.")
    state = _State(A, rhs, ridge, preconditioner or _jacobi(A, ridge), X, tol)
    limit = 10 * n if max_iter is None else max_iter
    message = state.run(limit, callback)
    return Solution(state.X.reshape(np.shape(B)), state.converged, state.n_iter, state.residual, message)


def _jacobi(A: Operator, ridge: Array) -> Callable[[Array], Array]:  # ridge (1 | n, 1)
    diag = getattr(A, "diag", None)
    if diag is None:
        return np.copy
    scale: Array = np.asarray(diag(), dtype=np.float64)[:, None] + ridge
    if not (scale > 0).all():
        row = int(np.flatnonzero(~(scale[:, 0] > 0))[0])
        raise NumericalError(f"the diagonal of A + shift is {scale[row, 0]:.3g} in row {row}; it must be positive.")

    def divide(R: Array) -> Array:  # (n, t) -> (n, t)
        return np.asarray(R / scale)

    return divide


class _State:
    """The recursion; X is the only array that outlives it."""

    def __init__(
        self, A: Operator, rhs: Array, ridge: Array, precondition: Callable[[Array], Array], X: Array, tol: float
    ) -> None:
        self.A, self.rhs, self.ridge, self.precondition, self.X, self.tol = A, rhs, ridge, precondition, X, tol
        norms = np.linalg.norm(rhs, axis=0)
        self.norms = np.where(norms > 0, norms, 1.0)
        self.n_iter, self.converged, self.residual = 0, False, float("inf")

    def product(self, P: Array) -> Array:  # (n, t) -> (n, t)
        AP: Array = np.asarray(self.A @ P, dtype=np.float64) + self.ridge * P
        if not np.isfinite(AP).all():
            raise NumericalError("a product with A gave NaN or infinity; look at the data behind the matrix.")
        return AP

    def run(self, limit: int, callback: Callable[[Progress], bool | None] | None) -> str:
        before = np.inf
        while True:
            R = self.rhs - self.product(self.X) if self.X.any() else self.rhs.copy()
            errors = np.linalg.norm(R, axis=0) / self.norms
            self.residual = float(errors.max(initial=0.0))
            active = np.flatnonzero(errors > self.tol)
            if active.size == 0:
                self.converged = True
                return f"converged in {self.n_iter} iterations, relative residual {self.residual:.1e}"
            if self.n_iter >= limit:
                return (
                    f"not converged in {limit} iterations: relative residual {self.residual:.1e}, asked "
                    f"{self.tol:.0e}; raise alpha or max_iter, or give a preconditioner"
                )
            # A restart that gains less than a factor of two has met the rounding of the products.
            if self.n_iter and self.residual > 0.5 * before:
                return (
                    f"stopped after {self.n_iter} iterations at a relative residual of {self.residual:.1e}, asked "
                    f"{self.tol:.0e}: A + shift is singular, or its products are not accurate enough"
                )
            before = self.residual
            if self.sweep(R[:, active], active, limit, callback):
                self.residual = float((np.linalg.norm(self.rhs - self.product(self.X), axis=0) / self.norms).max())
                return f"stopped by the callback after {self.n_iter} iterations, relative residual {self.residual:.1e}"

    def sweep(
        self, R: Array, active: Array, limit: int, callback: Callable[[Progress], bool | None] | None
    ) -> bool:  # R (n, t) of the active columns; True when the callback stopped it
        """Iterate until the recursion calls every active column solved; X is updated in place."""
        Z = self._apply(R)
        P, rz = Z.copy(), np.einsum("ij,ij->j", R, Z)
        while active.size and self.n_iter < limit:
            AP = self.product(P)
            curvature = np.einsum("ij,ij->j", P, AP)
            flat = self._flat(P, AP, curvature)
            step = np.where(flat, 0.0, rz / np.where(flat, 1.0, curvature))
            self.X[:, active] += step * P
            R -= step * AP
            self.n_iter += 1
            errors = np.linalg.norm(R, axis=0) / self.norms[active]
            if callback is not None and callback(Progress(self.n_iter, limit, float(errors.max(initial=0.0)), self.tol)):
                return True
            going = (errors > self.tol) & ~flat
            active, R, P, rz = active[going], R[:, going], P[:, going], rz[going]
            if active.size:
                Z = self._apply(R)
                fresh = np.einsum("ij,ij->j", R, Z)
                P = Z + (fresh / rz) * P
                rz = fresh
        return False

    def _apply(self, R: Array) -> Array:  # (n, t) -> (n, t)
        Z = np.asarray(self.precondition(R), dtype=np.float64)
        if Z.shape != R.shape:
            raise InputError(f"the preconditioner turned {R.shape} into {Z.shape}; it must keep the shape.")
        return Z

    def _flat(self, P: Array, AP: Array, curvature: Array) -> Array:  # (n, t), (n, t), (t,) -> (t,) bool
        """Directions in which A is zero to rounding; a negative one is an error, for then no minimum exists."""
        sizes = np.linalg.norm(P, axis=0) * np.linalg.norm(AP, axis=0)
        slack = P.shape[0] * np.finfo(np.float64).eps * sizes
        negative = np.flatnonzero(curvature < -np.maximum(slack, 1e-6 * sizes))  # products in float32 have 1e-7
        if negative.size:
            direction, value = P[:, negative[0]], curvature[negative[0]]
            raise NumericalError(
                f"A + shift is not positive definite: a direction p with p'Ap / p'p = "
                f"{value / (direction @ direction):.3g} was met. Use a valid kernel, or a larger alpha."
            )
        return np.asarray(curvature <= slack)
