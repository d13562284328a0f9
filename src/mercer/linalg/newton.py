"""Newton's method for a latent function under a likelihood, and Laplace's approximation around its mode, on arrays.

The mode maximizes  psi = sum_i w_i log p(y_i | f_i + o_i) - 1/2 a'K a,  f = K a + c.  With W the curvature of the likelihood
and B = I + W^1/2 K W^1/2, M = W^1/2 B^-1 W^1/2 = (K + W^-1)^-1, a Newton step is (Rasmussen & Williams, algorithm 3.1)

    da = (I - M K)(g - a) - dc v,   v = M 1,   dc such that 1'(a + da) = 0   (dc = 0 without intercept).

Written with the residual g - a, the step is small where the residual is: an approximate factor, in single precision or of
a W nearby, still leads to the exact mode. Laplace's log marginal likelihood is psi - 1/2 log det B. Its derivative is
<N, dK> with (algorithm 5.1, written with M)

    N = 1/2 (a a' - M + q a' + a q'),   q = s - M K s,   s_i = -1/2 S_ii dW_i/df_i,   S_ii = (1 - (B^-1)_ii) / W_i;

an intercept replaces q by q - v 1'q / 1'v.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from mercer.arrays import Array, Floats
from mercer.errors import NumericalError
from mercer.linalg.cholesky import Factor, Inverse, cholesky
from mercer.linalg.evidence import Evidence, Tile
from mercer.linalg.likelihoods import Likelihood

#: A step is halved at most this often before the solver gives up.
HALVINGS = 40

#: The smallest curvature relative to the largest; smaller ones would divide by zero.
LEAST = 1e-14

#: From this many rows on, steps are found in single precision until the mode is almost reached, and the first ones on half
#: of the rows.
MANY_ROWS = 400

#: Single precision is used if n max(K) max(W), a bound of the condition number, times its rounding is below this.
SAFE = 0.05

#: In single precision a factor is used again while no curvature has changed by more than this share.
KEPT = 0.05

#: Steps in single precision end at a promised gain below this, relative to the objective, or after this many.
NEAR, ROUGH_STEPS = 1e-18, 40

#: A factor belongs to the mode if its curvatures differ by no more than this, relative and summed: an error of log det B.
SAME = 1e-9

#: The objective is known to this share of its size: a step that promises to gain less is judged by its promise.
FLAT = 1e-12

#: Tolerance of the mode on half of the rows.
HALF_TOL = 1e-4


@dataclass(frozen=True)
class Place:
    """Latent values f = K a + c with the objective there."""

    f: Floats  # (n,) or (n, C)
    dual: Floats  # like f
    constant: Any  # number or (C,)
    value: float


class NewtonProblem(Protocol):
    """What `climb` needs of a problem."""

    rough: bool

    def place(self, f: Floats, dual: Floats, constant: Any) -> Place:
        """Return a place with its objective."""

    def slope(self, f: Floats) -> Floats:
        """Return the derivative of the log-likelihood in f."""

    def begin(self, f: Floats) -> Place:
        """Return the maximum of the quadratic model around f, whose dual coefficients are not known."""

    def step(self, here: Place) -> Place:
        """Return the maximum of the quadratic model around a place."""

    def sharpen(self) -> bool:
        """Leave the approximate factors; return False if they were exact."""


def climb(
    task: NewtonProblem, zero: Floats, start: Floats | None, tol: float, max_iter: int
) -> tuple[Place, bool, int, str]:
    """Maximize by Newton steps with halving from latent values `start`; return the end, convergence, steps, a message."""
    here, n_iter, rough_steps = task.place(zero, np.zeros_like(zero), zero.mean(axis=0) * 0.0), 0, 0
    if start is not None:
        first = task.begin(start)
        if first.value >= here.value:  # a start of another problem may be worse than zero
            here, n_iter = first, 1
    while n_iter < max_iter:
        to = task.step(here)
        n_iter += 1
        slope, way = task.slope(here.f), to.f - here.f
        promise = 0.5 * float(np.sum(slope * way) - np.sum(here.dual * (way - to.constant + here.constant)))
        size = 1.0 + abs(here.value)
        done = abs(promise) <= tol * size
        flat = abs(promise) <= max(tol, FLAT) * size  # differences of the objective are rounding errors
        found = _shortened(task, here, to, FLAT * size if flat else 0.0)
        if found is None and not task.sharpen():
            apart = float(np.abs(slope - here.dual).max())
            good = apart <= 1e-4 * (1.0 + float(np.abs(slope).max()))
            rest = "" if good else f", and the slope is {apart:.1e}"
            return here, good, n_iter, f"no shorter step gains anything{rest}"
        here = here if found is None else found
        if done and not task.rough:
            return here, True, n_iter, f"a step promised to gain less than {tol:g}"
        rough_steps += 1
        if task.rough and (abs(promise) <= NEAR * size or rough_steps >= ROUGH_STEPS):
            task.sharpen()
    return here, False, n_iter, f"stopped after {max_iter} steps"


def _shortened(task: NewtonProblem, here: Place, to: Place, slack: float) -> Place | None:
    """Return the longest of the steps 1, 1/2, 1/4, … that loses at most `slack`, or None."""
    share = 1.0
    for _ in range(HALVINGS):
        if to.value >= here.value - slack:
            return to
        share *= 0.5
        to = task.place(
            here.f + 0.5 * (to.f - here.f), here.dual + 0.5 * (to.dual - here.dual),
            here.constant + 0.5 * (to.constant - here.constant),
        )  # fmt: skip
    return None


@dataclass(frozen=True)
class Mode:
    """The most probable latent function given the data, and the factor for its uncertainty."""

    f: Floats  # (n,) without the offset
    dual: Floats  # (n,) a with f = K a + intercept
    intercept: float
    value: float  # psi
    W: Floats  # (n,)
    slope: Floats  # (n,) dW / df
    factor: Factor  # of B
    logdet: float  # log det B
    converged: bool
    n_iter: int
    message: str
    with_intercept: bool

    @property
    def evidence(self) -> float:
        """Laplace's log marginal likelihood."""
        return self.value - 0.5 * self.logdet

    def M(self, X: Array) -> Floats:  # noqa: N802 - a matrix; (n,) or (n, t) -> same
        """Return (K + W^-1)^-1 X."""
        root = np.sqrt(self.W)
        if X.ndim == 2:
            root = root[:, None]
        return root * self.factor.solve(root * X)


def find_mode(  # K (n, n), y (n,) or (n, 2), weights (n,), offset (n,), start (n,)
    K: Floats,
    likelihood: Likelihood,
    y: Array,
    *,
    weights: Floats | None = None,
    offset: Floats | float = 0.0,
    intercept: bool = False,
    start: Floats | None = None,
    tol: float = 1e-10,
    max_iter: int = 100,
) -> Mode:
    """Return the mode of the latent function by Newton's method with step halving.

    `start` are latent values of a problem nearby. It ends when a step promises to gain at most ``tol`` (1 + |psi|).

    >>> from mercer.linalg.likelihoods import Logit
    >>> mode = find_mode(np.eye(2), Logit(), np.array([1.0, 0.0]))
    >>> mode.converged, bool(np.isclose(mode.f[0], 1.0 / (1.0 + np.exp(mode.f[0]))))  # f = g at the mode, if K = I
    (True, True)
    """
    n = len(K)
    w, shift = np.ones(n) if weights is None else weights, np.broadcast_to(np.asarray(offset, dtype=np.float64), (n,))
    task = _Latent(K, likelihood, y, w, shift, intercept)
    if start is None and n >= MANY_ROWS:
        start = task.from_half()
    here, converged, n_iter, message = climb(task, np.zeros(n), start, tol, max_iter)
    W, slope, factor = task.settled(here.f)
    return Mode(
        here.f, here.dual, float(here.constant), here.value, W, slope, factor, factor.logdet, converged, n_iter, message,
        intercept,
    )  # fmt: skip


class _Latent:
    """Newton steps of one latent function, with a factor of B that is kept while the curvature is the same."""

    def __init__(self, K: Floats, likelihood: Likelihood, y: Array, w: Floats, offset: Floats, intercept: bool) -> None:
        self.K, self.likelihood, self.y, self.w, self.offset, self.intercept = K, likelihood, y, w, offset, intercept
        self.rough = len(K) >= MANY_ROWS
        self.factor: Factor | None = None
        self.W = self.bend = np.empty(0)  # curvature of the factor and its derivative
        self._memory: dict[str, Array] = {}
        self._seen: tuple[Floats, Any] | None = None  # latent values and what `_at` returns there

    def place(self, f: Floats, dual: Floats, constant: float) -> Place:
        with np.errstate(over="ignore", invalid="ignore"):
            fit = float(self.w @ self.likelihood.log_density(self.y, f + self.offset))
        return Place(f, dual, constant, fit - 0.5 * float(dual @ (f - constant)))

    def slope(self, f: Floats) -> Floats:
        return self._at(f)[0]

    def _at(self, f: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the slope, W and dW / df; those of the last f are kept."""
        if self._seen is None or self._seen[0] is not f:
            shifted = f + self.offset
            found = (self.likelihood.derivatives(self.y, shifted)[0], *self.likelihood.curvature(self.y, shifted))
            self._seen = f, tuple(self.w * part for part in found)
        return self._seen[1]

    def begin(self, f: Floats) -> Place:
        self._prepare(f)
        center = float(f.mean()) if self.intercept else 0.0  # a large constant would cost the digits of the rest
        return self._moved(self._solved(self.W * (f - center) + self.slope(f)), center)

    def step(self, here: Place) -> Place:
        self._prepare(here.f)
        return self._moved(here.dual + self._solved(self.slope(here.f) - here.dual), here.constant)

    def sharpen(self) -> bool:
        was, self.rough = self.rough, False
        self.factor = None if was else self.factor
        return was

    def settled(self, f: Floats) -> tuple[Floats, Floats, Factor]:
        """Return W, dW / df and the factor of B at the mode, or so near that log det B is the same."""
        self.sharpen()
        factor = self._prepare(f)
        return self.W, self.bend, factor

    def from_half(self) -> Floats:
        """Return the function whose mode was found on every second row with twice the weight, at all rows."""
        half = slice(0, None, 2)
        found = find_mode(
            np.ascontiguousarray(self.K[half, half]), self.likelihood, self.y[half], weights=2.0 * self.w[half],
            offset=self.offset[half], intercept=self.intercept, tol=HALF_TOL,
        )  # fmt: skip
        return np.asarray(self.K[:, half] @ found.dual + found.intercept)

    def _prepare(self, f: Floats) -> Factor:
        """Return the factor of B at the curvature of f; the present one if it is near enough."""
        _, W, bend = self._at(f)
        W = np.maximum(W, LEAST * max(float(W.max()), 1e-300))
        if self.factor is not None:
            change = np.abs(W / self.W - 1.0)
            if float(change.max()) <= KEPT if self.rough else float(change.sum()) <= SAME:
                return self.factor
        size = float(self.K.diagonal().max()) * float(W.max()) * len(W)
        if self.rough and not size * float(np.finfo(np.float32).eps) <= SAFE:
            self.rough = False
        self.W, self.bend, self.factor = W, bend, None
        try:
            self.factor = self._factor(np.float32 if self.rough else np.float64)
        except NumericalError:
            if not self.rough:
                raise
            self.rough = False
            self.factor = self._factor(np.float64)
        return self.factor

    def _factor(self, dtype: Any) -> Factor:
        root, name = np.sqrt(self.W), np.dtype(dtype).name
        if name not in self._memory:  # the memory of a factor is that of the one before
            self._memory[name] = np.empty(self.K.shape, dtype)
        B = np.multiply(self.K, root, out=self._memory[name], casting="same_kind")
        B *= root[:, None].astype(dtype)
        return cholesky(B, 1.0, overwrite=True)

    def _solved(self, x: Floats) -> Floats:
        """Return (I - M K) x."""
        return x - self._times_m(self.K @ x)

    def _times_m(self, x: Floats) -> Floats:
        assert self.factor is not None
        root = np.sqrt(self.W)
        return root * self.factor.solve(root * x)

    def _moved(self, dual: Floats, constant: float) -> Place:
        change = 0.0
        if self.intercept:
            v = self._times_m(np.ones(len(dual)))
            change = float(dual.sum() / v.sum())
            dual = dual - change * v
        return self.place(self.K @ dual + (constant + change), dual, constant + change)


def laplace_evidence(  # K (n, n)
    mode: Mode,
    K: Floats,
    pullback: Callable[[Tile, Tile], Array],
    extra: Callable[[], list[tuple[Floats, Floats, Floats]]] | None = None,
) -> Evidence:
    """Return Laplace's log marginal likelihood with its gradient; it consumes the factor of the mode.

    `extra` returns, for every parameter of the likelihood, the derivatives in this parameter of log p (n,), of its
    slope g (n,) and of W (n,) at fixed f; the gradient in these parameters is `noise_gradient`.
    """
    value, a, root = mode.evidence, mode.dual, np.sqrt(mode.W)
    v = mode.M(np.ones(len(a))) if mode.with_intercept else None

    jitter = mode.factor.jitter
    inverse: Inverse = mode.factor.inverse()
    variance = (1.0 - inverse.diag()) / mode.W  # S_ii
    s = -0.5 * variance * mode.slope

    def times_m(x: Floats) -> Floats:
        return root * inverse.multiply((root * x)[:, None])[:, 0]

    q = s - times_m(K @ s)
    shift = 0.0  # derivative of s'f in the intercept
    if v is not None:
        shift = float(q.sum() / v.sum())
        q = q - v * shift
    left, right = np.column_stack([0.5 * a + q, 0.5 * a]), np.column_stack([0.5 * a, 0.5 * a + q])

    def tile(rows: slice, cols: slice) -> Array:
        N = inverse.tile(rows, cols) * root[cols]
        N *= -0.5 * root[rows, None]
        N += left[rows] @ right[cols].T
        return N

    def values(rows: slice, cols: slice) -> Array:
        return np.ascontiguousarray(K[rows, cols])

    further = np.zeros(0)
    if extra is not None:
        # df/dp = (I - K M)(K dg + 1 dc) with 1'(dg - W df) = 0; W enters log det B through S
        found = [float(log_p.sum() - 0.5 * variance @ dW + (K @ dg) @ q + shift * dg.sum()) for log_p, dg, dW in extra()]
        further = np.array(found)
    return Evidence(value, pullback(tile, values), further, jitter, variance)


#: Corrections of held-out values end when none of them moves by more, or after this many.
STILL, CORRECTIONS = 0.05, 4


def held_out_latent(mode: Mode, slopes: Callable[[Floats], Floats]) -> Floats:  # (n, n) -> (n, n); -> (n,)
    """Return approximate leave-one-out values of the latent function, exact for a Gaussian likelihood.

    The first is that of the quadratic model around the mode refitted without row i, f_j + T_ji g_i with
    T_ji = C_ji / (W_j C_ii), C = M - v v' / 1'v. It is corrected by steps with the same second derivatives, in which the
    slopes of the other rows are exact. The correction of row i itself is -sum_j T_ji r_ji, with r the errors of the
    linear slopes: n^2 operations. If it is large, all values are corrected, by one matrix product, and it is computed again.
    ``slopes`` returns the derivatives of the weighted log-likelihood for columns of latent values.
    """
    root = np.sqrt(mode.W)
    C = mode.factor.solve(np.diag(root)) * root[:, None]
    if mode.with_intercept:
        v = C.sum(axis=1)
        C -= np.outer(v, v / v.sum())
    kept = np.maximum(C.diagonal(), 1e-12 * mode.W)
    T = C / mode.W[:, None] / kept
    np.fill_diagonal(T, 0.0)
    first = mode.f + mode.dual / mode.W - mode.dual / kept
    moved, found = T * mode.dual, first
    for number in range(CORRECTIONS):
        errors = slopes(mode.f[:, None] + moved) + mode.W[:, None] * moved - mode.dual[:, None]
        np.fill_diagonal(errors, 0.0)
        better = first - np.einsum("ji,ji->i", T, errors)
        change, found = float(np.abs(better - found).max()), better
        if change <= STILL or number == CORRECTIONS - 1:
            break
        scaled = errors / mode.W[:, None]
        scaled -= (C @ scaled) / mode.W[:, None]
        moved = T * (mode.dual - mode.W * scaled.diagonal()) + scaled
        np.fill_diagonal(moved, 0.0)
    return found
