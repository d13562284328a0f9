"""What a Gaussian process is fitted to: mean function, units of y, the problem, its parameters; what an engine offers.

The observation model is y = m(x) + f(x) + e with f ~ GP(0, k), e ~ N(0, noise) and m(x) = h(x)' beta. Every engine works
on one zero-mean process and the columns T = [targets | H]; the columns H of the mean function are treated as further
targets. The coefficients beta follow from T' G^-1 T, and predictions from those of the columns H. This holds for
G = K + noise and for approximations of it, therefore no engine depends on the mean function.

The hyper-parameters are one vector of logarithms, whose starts, bounds and priors depend on the data.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer.arrays import Floats, Indices
from mercer.errors import InputError
from mercer.inputs import Rows, count
from mercer.kernels.base import Kernel
from mercer.kernels.fields import plain_values, signed_entries
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


# -- parameters --------------------------------------------------------------------------------------------------------

#: The weak prior: log(parameter) is normal around a value taken from the data, with this standard deviation. A factor of 20
#: either way costs half a unit of log density.
SPREAD = 3.0

#: Default bounds, as factors of the value that the data suggest.
#: A period stays near the one that was written: its multiples and fractions have likelihoods of their own.
REACH = {
    "length_scale": (1e-3, 1e4),
    "amplitude": (1e-6, 1e6),
    "noise": (1e-7, 1e3),
    "period": (0.55, 1.8),
    "other": (1e-4, 1e4),
}

#: The noise a fit starts from, as a share of the variance of y.
NOISE_START = 0.1

#: One of the further starts has length scales shorter by this factor than the data suggest, and this share of the first
#: noise: from much noise a search may end where it explains the data as noise.
SHORT, LITTLE_NOISE = 10.0, 0.01

#: A column that varies less than this share of its size does not vary.
CONSTANT = 1e-12

#: Number of rows from which the mean of k(x, x) is taken.
ROWS_FOR_THE_SIZE = 1000


@record()
@dataclass(frozen=True)
class GPParameters:
    """Starts, bounds and priors of the vector that holds kernel.theta and, if the noise is one number > 0, log(noise)."""

    _stored: ClassVar[dict[str, str]] = {
        "kernel": "kernel",
        "names": "each p: text",
        "start": "real (p,)",
        "typical": "real (p,)",
        "low": "real (p,)",
        "high": "real (p,)",
        "fixed": "bool (p,)",
        "center": "real (p,)",
        "spread": "real (p,)",
    }

    kernel: Kernel  # with numbers, and with an overall scale
    names: tuple[str, ...]
    start: Floats  # (p,) as written
    typical: Floats  # (p,) as the data suggest it; fixed entries as written
    low: Floats  # (p,)
    high: Floats  # (p,)
    fixed: NDArray[np.bool_]  # (p,)
    center: Floats  # (p,) of the priors
    spread: Floats  # (p,) of the priors; infinity is none
    noise: float  # the noise if it is not an entry of the vector

    @property
    def noise_is_parameter(self) -> bool:
        """Whether the last entry is log(noise)."""
        return len(self.names) > len(self.kernel.theta)

    def values(self, vector: Floats) -> Floats:  # (p,) -> (p,)
        """Return the parameters that a vector stands for: exponentials, and numbers of either sign as they are."""
        p = len(self.kernel.theta)
        return np.concatenate([plain_values(self.kernel, vector[:p]), np.exp(vector[p:])])

    @property
    def widths(self) -> NDArray[np.bool_]:  # (p,)
        """Mask of the entries that are length scales."""
        return np.array([name.split("__")[-1].startswith("length_scale") for name in self.names], dtype=bool)

    def setting(self, vector: Floats) -> tuple[Kernel, Any]:  # (p,)
        """Return the kernel and the noise at a vector; several parameters of a likelihood are an array."""
        p = len(self.kernel.theta)
        kernel = self.kernel.with_theta(vector[:p]) if p else self.kernel
        rest = np.exp(vector[p:])
        return kernel, self.noise if not len(rest) else float(rest[0]) if len(rest) == 1 else rest

    def log_prior(self, vector: Floats) -> tuple[float, Floats]:  # (p,) -> value, (p,)
        """Return the log density of the priors up to a constant, and its gradient; fixed entries are left out."""
        pull = np.where(self.fixed, 0.0, (vector - self.center) / self.spread)
        return -0.5 * float(pull @ pull), -pull / self.spread

    def starts(self, further: int, seed: int) -> list[tuple[str, Floats]]:
        """Return labeled starts: as written, as the data suggest, with little noise, and random ones around the second."""
        found = [("as written", self.start)]
        if further > 0 and not np.allclose(self.start, self.typical, atol=1e-3):
            found.append(("from the data", self.typical))
        if len(found) <= further and self.names[-1:] == ("noise",) and not self.fixed[-1]:
            moved = self.widths & ~self.fixed
            short = np.where(moved, np.minimum(self.start, self.typical - math.log(SHORT)), self.start)
            short[-1] += math.log(LITTLE_NOISE)
            found.append(("short length scales, little noise", np.clip(short, self.low, self.high)))
        rng = np.random.default_rng(seed)
        while len(found) <= further and not self.fixed.all():
            away = np.where(self.fixed, 0.0, rng.normal(scale=1.0, size=len(self.start)))
            found.append(("random", np.clip(self.typical + away, self.low, self.high)))
        return found


@dataclass(frozen=True)
class RowsSeen:
    """Some rows and the spread of the columns: the source of starting values if not all rows are in memory."""

    sized: Rows  # rows for the mean of k(x, x)
    sample: Rows  # rows for the median distance
    spreads: Floats | None  # (d,) standard deviations of the columns, 0 for constant ones

    @staticmethod
    def numbers(n: int) -> Indices:
        """Return the numbers of the rows for the mean of k(x, x)."""
        return np.linspace(0, n - 1, min(ROWS_FOR_THE_SIZE, n)).astype(np.intp)


def read_parameters(
    kernel: Kernel,
    X: Any,
    unit: float,
    *,
    noise: float | None,
    fit: bool,
    bounds: Mapping[str, Sequence[float]] | None,
    fixed: Sequence[str],
    priors: Any,
    extras: Mapping[str, float] | None = None,
    noise_start: float | None = None,
) -> GPParameters:
    """Return the parameters of a resolved kernel and of a noise (None: to be fitted) for targets of variance `unit`.

    `noise_start` is where a fitted noise starts, if it is not NOISE_START times `unit`. `extras` are the starts of the
    positive parameters of another likelihood, instead of the noise.
    """
    asked = (fixed,) if isinstance(fixed, str) else tuple(fixed)
    template, strip = kernel, False
    if fit and kernel.amplified(2.0) is None and "scale" not in asked:
        template, strip = size_of(kernel, X, unit) * kernel, True
    names = [_own_name(name, strip) for name in template.theta_names]
    theta, signed = template.theta, set(np.array(names)[signed_entries(template)].tolist())
    # if nothing is fitted, the data are not searched for typical values
    typical, reach = _typical(template, X, unit) if fit else (theta, np.zeros((len(theta), 2)))
    if extras is not None:
        names += list(extras)
        theta, typical = (np.append(part, np.log(list(extras.values()))) for part in (theta, typical))
        reach = np.vstack([reach, np.tile(np.log(REACH["other"]), (len(extras), 1))])
    elif noise is None or noise > 0:
        names.append("noise")
        first = NOISE_START * unit if noise_start is None else noise_start
        theta = np.append(theta, math.log(first if noise is None else noise))
        typical = np.append(typical, math.log(NOISE_START * unit))
        reach = np.vstack([reach, np.log(REACH["noise"])])
    held = np.zeros(len(names), dtype=bool) if fit else np.ones(len(names), dtype=bool)
    held |= np.array([name == "noise" and noise is not None for name in names], dtype=bool)
    for name in asked:
        if not (name == "scale" and not strip and "scale" not in names):  # a fixed scale is not added
            held[_matching(name, names, "fixed")] = True
    low, high = np.minimum(theta, typical) + reach[:, 0], np.maximum(theta, typical) + reach[:, 1]
    low, high = np.where(held, theta, low), np.where(held, theta, high)
    for name, pair in (bounds or {}).items():
        _bound(name, pair, names, held, low, high, signed)
    center, spread = _priors(priors, names, typical, signed)
    start, typical = np.clip(theta, low, high), np.where(held, theta, np.clip(typical, low, high))
    return GPParameters(
        template, tuple(names), start, typical, low, high, held, center, spread, noise if noise is not None else math.nan
    )


def _own_name(name: str, strip: bool) -> str:
    """Return the name in the given kernel; an added scale puts all names one level deeper."""
    return name[len("0__") :] if strip and name.startswith("0__") else name


def size_of(kernel: Kernel, X: Any, unit: float) -> float:
    """Return the factor that makes the mean of k(x, x) equal to the variance of y."""
    rows = X.sized if isinstance(X, RowsSeen) else Rows(X).take(RowsSeen.numbers(count(X)))
    mean = float(np.mean(np.abs(kernel.diag(rows)), dtype=np.float64))
    return unit / mean if mean > 0 else unit


def _typical(kernel: Kernel, X: Any, unit: float) -> tuple[Floats, Floats]:  # -> (p,), (p, 2)
    """Return the theta that the data suggest, and the logarithms of the bounds relative to it."""
    louder = kernel.amplified(math.e)
    amplitude = np.zeros(len(kernel.theta), bool) if louder is None else louder.theta - kernel.theta > 0.5
    sized = kernel.amplified(size_of(kernel, X, unit))
    typical = kernel.theta if sized is None else sized.theta
    reach = np.tile(np.log(REACH["other"]), (len(typical), 1))
    reach[amplitude] = np.log(REACH["amplitude"])
    names = kernel.theta_names
    widths = _data_widths(kernel, X)
    for i, name in enumerate(names):
        if name in widths:
            typical[i], reach[i] = math.log(widths[name]), np.log(REACH["length_scale"])
        elif _plain(name).split("__")[-1] == "period":
            reach[i] = np.log(REACH["period"])
    return typical, reach


def _data_widths(kernel: Kernel, X: Any) -> dict[str, float]:
    """Return a length scale for every such entry of theta: the median distance; per column its spread times sqrt(2 d)."""
    known = set(kernel.get_params(deep=True))
    scales = sorted({_plain(name) for name in kernel.theta_names if name.split("__")[-1].startswith("length_scale")})
    # the length scale of a periodic kernel is not a distance between rows
    scales = [name for name in scales if name[: -len("length_scale")] + "period" not in known]
    if not scales:
        return {}
    with warnings.catch_warnings():
        sample = X.sample if isinstance(X, RowsSeen) else X
        warnings.simplefilter("ignore")  # equal rows have no median distance; a start does not need one
        medians = kernel.set_params(**dict.fromkeys(scales, "median")).resolve(sample).get_params(deep=True)
    widths = {name: float(medians[_plain(name)]) for name in kernel.theta_names if _plain(name) in scales}
    spreads = _spreads(X)
    for name in widths:
        column = re.search(r"\[(\d+)\]$", name)
        width = len(kernel.get_params(deep=True)[_plain(name)]) if column else 0
        if column and spreads is not None and width == len(spreads) and spreads[int(column[1])] > 0:
            widths[name] = float(spreads[int(column[1])]) * math.sqrt(2.0 * width)
    return widths


def _spreads(X: Any) -> Floats | None:
    """Return standard deviations of the columns of dense vectors, 0 for columns that vary by rounding only."""
    if isinstance(X, RowsSeen):
        return X.spreads
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind != "f":
        return None
    return spreads_of(X.std(axis=0, dtype=np.float64), np.abs(X).max(axis=0))


def spreads_of(sd: Floats, most: Floats) -> Floats:  # (d,), (d,) -> (d,)
    """Return the standard deviations, with 0 where they are rounding errors of entries of size `most`."""
    return np.where(sd > CONSTANT * most, sd, 0.0)


def _plain(name: str) -> str:
    return re.sub(r"\[\d+\]$", "", name)


def _matching(asked: str, names: Sequence[str], where: str) -> list[int]:
    """Return the entries that a name selects: itself, its columns, or all entries with this last part."""
    for rule in (lambda n: n == asked, lambda n: _plain(n) == asked, lambda n: _plain(n).split("__")[-1] == asked):
        found = [i for i, name in enumerate(names) if rule(name)]
        if found:
            return found
    raise InputError(f"{where} names {asked!r}, which is not a parameter; the parameters are {', '.join(names) or 'none'}.")


def _bound(
    name: str, pair: Any, names: Sequence[str], held: Any, low: Floats, high: Floats, signed: Collection[str]
) -> None:
    try:
        least, most = (float(value) for value in pair)
    except (TypeError, ValueError):
        raise InputError(f"bounds[{name!r}] must be a pair of numbers (low, high); got {pair!r}.") from None
    chosen = _matching(name, names, "bounds")
    either = all(names[i] in signed for i in chosen)
    if not (-math.inf if either else 0.0) < least <= most < math.inf:
        rule = "finite with low <= high" if either else "0 < low <= high"
        positive = "" if either else " Parameters are positive numbers."
        raise InputError(f"bounds[{name!r}] must be {rule}; got {pair!r}.{positive}")
    for i in chosen:
        if not held[i]:
            low[i], high[i] = (least, most) if either else (math.log(least), math.log(most))


def _priors(priors: Any, names: Sequence[str], typical: Floats, signed: Collection[str]) -> tuple[Floats, Floats]:
    """Return centers and standard deviations of normal priors on the logarithms, or on numbers of either sign."""
    center, spread = typical.copy(), np.full(len(names), SPREAD)
    if priors is None:
        return center, np.full(len(names), np.inf)
    if isinstance(priors, str):
        if priors != "weak":
            raise InputError(f'priors must be "weak", None, or a dict of name: (median, factor); got {priors!r}.')
        return center, spread
    for name, pair in dict(priors).items():
        try:
            median, factor = (float(value) for value in pair)
        except (TypeError, ValueError):
            raise InputError(f"priors[{name!r}] must be a pair (median, factor); got {pair!r}.") from None
        chosen = _matching(name, names, "priors")
        if all(names[i] in signed for i in chosen):
            if not (math.isfinite(median) and 0 < factor < math.inf):
                raise InputError(f"priors[{name!r}] must be (mean, standard deviation > 0); got {pair!r}.")
            center[chosen], spread[chosen] = median, factor
            continue
        if not (median > 0 and factor > 1):
            raise InputError(f"priors[{name!r}] must be (median > 0, factor > 1); got {pair!r}.")
        center[chosen], spread[chosen] = math.log(median), math.log(factor)
    return center, spread
