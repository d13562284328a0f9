"""What a Gaussian process is fitted to: mean function, units of y, the problem; and what every engine offers.

The observation model is y = m(x) + f(x) + e with f ~ GP(0, k), e ~ N(0, noise) and m(x) = h(x)' beta. Every engine works
on one zero-mean process and the columns T = [targets | H]; the columns H of the mean function are treated as further
targets. The coefficients beta follow from T' G^-1 T, and predictions from those of the columns H. This holds for
G = K + noise and for approximations of it, therefore no engine depends on the mean function.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.arrays import Floats, Indices
from mercer.errors import InputError
from mercer.inputs import Rows, count
from mercer.kernels.base import Kernel
from mercer.linalg.evidence import Evidence, MeanProfile
from mercer.registry import record

record()(MeanProfile)  # part of saved models; the class belongs to linalg, which registers nothing

KINDS = ("zero", "constant", "linear")


@record()
@dataclass(frozen=True)
class MeanFunction:
    """m(x) = h(x)' beta with h = () for "zero", (1) for "constant", (1, z) for "linear", z the standardized columns of x."""

    _stored: ClassVar[dict[str, str]] = {
        "kind": "text",
        "location": "float (k,)",
        "spread": "real (k,)",
    }

    kind: str
    location: Floats  # (d,) for "linear", else empty
    spread: Floats  # (d,) standard deviations of the columns that vary, infinity for those that do not

    def __post_init__(self) -> None:
        if self.kind not in KINDS or bool(len(self.location)) != (self.kind == "linear"):
            raise InputError(f"a mean function of kind {self.kind!r} cannot have {len(self.location)} locations.")

    @classmethod
    def of(cls, kind: str, X: Any) -> MeanFunction:
        """Return the mean function of a kind, with the averages of the training rows that it uses."""
        if kind not in KINDS:
            raise InputError(f'mean must be "zero", "constant" or "linear"; got {kind!r}.')
        if kind != "linear":
            return cls(kind, np.empty(0), np.empty(0))
        V = _dense_vectors(X)
        return cls.linear(len(V), V.mean(axis=0), V.std(axis=0), np.abs(V).max(axis=0))

    @classmethod
    def linear(cls, n: int, mean: Floats, sd: Floats, most: Floats) -> MeanFunction:  # (d,), (d,), (d,)
        """Return the linear mean function for n rows with these means, standard deviations and largest sizes per column."""
        varies = sd > 1e-12 * most
        if n <= 1 + int(varies.sum()):
            raise InputError(
                f'mean="linear" has {1 + int(varies.sum())} coefficients for {n} rows; give more rows, '
                'or mean="constant" with a Linear() term in the kernel.'
            )
        return cls("linear", mean, np.where(varies, sd, np.inf))

    @property
    def size(self) -> int:
        """q, the number of coefficients."""
        return {"zero": 0, "constant": 1}.get(self.kind, 1 + len(self.location))

    def columns(self, X: Any) -> Floats:  # -> (n, q)
        """Return h(x) for every row."""
        if self.kind == "linear":
            V = _dense_vectors(X)
            return np.column_stack([np.ones(len(V)), (V - self.location) / self.spread])
        return np.ones((count(X), self.size))

    def coefficients(self, beta: Floats) -> tuple[Floats, Floats | None]:  # (q, t) -> (t,), (d, t) or None
        """Return intercept and slopes with respect to x itself."""
        if self.kind == "zero":
            return np.zeros(beta.shape[1]), None
        if self.kind == "constant":
            return beta[0], None
        slopes = beta[1:] / self.spread[:, None]
        return beta[0] - self.location @ slopes, slopes


@record()
@dataclass(frozen=True)
class TargetUnits:
    """Working units of the targets: y = center + scale * (modeled value)."""

    _stored: ClassVar[dict[str, str]] = {
        "center": "float (t,)",
        "scale": "float (t,)",
    }

    center: Floats  # (t,)
    scale: Floats  # (t,)

    @classmethod
    def of(cls, Y: Floats, kind: str, normalize: bool) -> TargetUnits:  # (n, t)
        """Return units that center y unless the mean is "zero" without normalization, and scale several targets alike.

        One target is not scaled: kernel and noise have an overall scale, and stay in the units of y.
        """
        with np.errstate(over="ignore"):  # overflow raises an error later, when y is squared
            return cls.of_moments(Y.mean(axis=0), Y.std(axis=0), kind, normalize)

    @classmethod
    def of_moments(cls, mean: Floats, sd: Floats, kind: str, normalize: bool) -> TargetUnits:  # (t,), (t,)
        """Return the units from means and standard deviations of the targets."""
        t = len(mean)
        center = mean if normalize or kind != "zero" else np.zeros(t)
        scale = np.where(sd > 0, sd, 1.0) if normalize and t > 1 else np.ones(t)
        return cls(center, scale)

    def inside(self, Y: Floats) -> Floats:  # (n, t) -> (n, t)
        """Return the targets in working units."""
        return (Y - self.center) / self.scale

    def outside(self, F: Floats) -> Floats:  # (m, t) -> (m, t)
        """Return predictions in the units of y."""
        return F * self.scale + self.center


def _dense_vectors(X: Any) -> Floats:
    V = Rows(X).vectors()
    if sp.issparse(V):
        raise InputError('mean="linear" takes dense rows; X is sparse. Use mean="constant" and a kernel with Linear().')
    return np.asarray(V, dtype=np.float64)


@record()
@dataclass(frozen=True)
class GPProblem:
    """Rows, the columns T = [targets | H], and the ratios of the noise variances of the rows."""

    _stored: ClassVar[dict[str, str]] = {
        "columns": "float (n, c)",
        "X": "rows n",
        "n_targets": "int > 0",
        "ratios": "None | float (n,)",
    }

    X: Any  # a collection of n rows; float64 where they are vectors
    columns: Floats  # (n, t + q): targets in their working units, then the columns of the mean function
    n_targets: int  # t
    ratios: Floats | None = None  # (n,) the noise variance of row i is noise * ratios[i]; None is one for all

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.columns)

    @property
    def at_hand(self) -> bool:
        """True: the rows are in memory and were checked."""
        return True

    def variances(self, noise: float) -> Floats:  # -> (1,) or (n,)
        """Return the noise variances of the rows; one number if all are equal."""
        return np.array([noise]) if self.ratios is None else noise * self.ratios

    def sizes(self) -> tuple[float, bool, float]:
        """Mean square of the targets in working units, whether they vary, and their largest absolute value."""
        Y = self.columns[:, : self.n_targets]
        with np.errstate(over="ignore"):
            spread = float(np.mean(np.square(Y)))
        most = float(np.abs(Y).max())
        return spread, self.n > 1 and bool(np.ptp(Y, axis=0).max() > 1e-12 * most), most

    def starting_rows(self, fit: bool) -> Any:
        """Return the rows for starting values: all rows."""
        return self.X

    def part(self, rows: Indices) -> GPProblem:
        """Return the problem of some rows."""
        ratios = None if self.ratios is None else self.ratios[rows]
        return GPProblem(Rows(self.X).take(rows), self.columns[rows], self.n_targets, ratios)

    @property
    def flat(self) -> NDArray[np.bool_]:  # -> (t,)
        """Mask of the targets that are constant."""
        Y = self.columns[:, : self.n_targets]
        return np.asarray(np.ptp(Y, axis=0) <= 1e-12 * np.abs(Y).max(axis=0, initial=0.0))


@record()
@dataclass(frozen=True)
class SummedProblem:
    """The part of a chunked problem that a fitted model keeps: counts, no rows."""

    _stored: ClassVar[dict[str, str]] = {"n": "int > 0", "n_targets": "int > 0"}

    n: int
    n_targets: int

    @property
    def ratios(self) -> None:
        """None: all rows have the same noise."""
        return None

    def variances(self, noise: float) -> Floats:  # -> (1,)
        """Return the noise variance of the rows."""
        return np.array([noise])


class AnyProblem(Protocol):
    """Members of a problem that a search uses; its rows are in memory or in chunks."""

    @property
    def n(self) -> int: ...

    @property
    def n_targets(self) -> int: ...

    @property
    def at_hand(self) -> bool: ...

    @property
    def flat(self) -> NDArray[np.bool_]: ...

    def sizes(self) -> tuple[float, bool, float]: ...

    def starting_rows(self, fit: bool) -> Any: ...

    def part(self, rows: Indices) -> AnyProblem: ...


class Posterior(Protocol):
    """A zero-mean process conditioned on the columns T. G is the covariance of the observations."""

    @property
    def kernel(self) -> Kernel:
        """The kernel, with numbers."""

    @property
    def quadratic(self) -> Floats:  # (t + q, t + q)
        """T' G^-1 T."""

    @property
    def logdet(self) -> float:
        """log det G, plus the penalty of a bound where there is one."""

    @property
    def jitter(self) -> float:
        """Number added to the diagonal beyond the noise; 0 in most fits."""

    def mean(self, X: Any) -> Floats:  # -> (m, t + q)
        """E f(x) for every column of T."""

    def variance(self, X: Any) -> Floats:  # -> (m,)
        """var f(x) of the latent f, without noise; the same for every column."""

    def moments(self, X: Any) -> tuple[Floats, Floats]:  # -> (m, t + q), (m,)
        """`mean` and `variance` together, which is cheaper for some posteriors."""

    def covariance(self, X: Any) -> Floats:  # -> (m, m)
        """cov(f(x), f(x')), without noise."""


class Evaluator(Protocol):
    """One way to evaluate a marginal likelihood: exact, inducing rows, neighbors, frequencies, Laplace. It serves one fit.

    Problems have rows in memory, or in chunks if the engine works on chunks.
    """

    rounds: int  # how often `prepare` and the ascent alternate on the whole data; 1 for engines without choices
    part_rows: int  # an exact climb on this many rows comes before the engine's own; 0 for none
    tol_per_row: float  # the search stops if a step gains less per row
    max_steps: int  # at most this many steps per round; 0 for no limit

    def prepare(self, problem: Any, kernel: Kernel, noise: Any) -> None:
        """Choose what depends on a rough kernel (inducing points, neighbors) before an ascent starts from it."""

    def evidence(self, problem: Any, kernel: Kernel, noise: Any, gradient: bool) -> Evidence:
        """Return the log marginal likelihood at this setting; raise NumericalError if G cannot be factored."""


class Engine(Evaluator, Protocol):
    """An evaluator for Gaussian noise, whose process can be conditioned on the columns T."""

    def posterior(self, problem: Any, kernel: Kernel, noise: float) -> Posterior:
        """Return the process conditioned on T."""


@dataclass(frozen=True)
class EngineSettings:
    """Parameters of the estimator that engines use."""

    n_inducing: int | None = None
    n_neighbors: int | None = None
    seed: int = 0
    memory: int = 8 * 2**30  # bytes
