"""The hyper-parameters of a Gaussian process as one vector of logarithms: names, starts, bounds, priors, what is fixed."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.arrays import Floats, Indices
from mercer.errors import InputError
from mercer.inputs import Rows, count
from mercer.kernels.base import Kernel
from mercer.registry import record

#: The weak prior: log(parameter) is normal around a value taken from the data, with this standard deviation. A factor of 20
#: either way costs half a unit of log density.
SPREAD = 3.0

#: How far parameters may go from where the data put them, if no bounds are given.
REACH = {"length_scale": (1e-3, 1e4), "amplitude": (1e-6, 1e6), "noise": (1e-7, 1e3), "other": (1e-4, 1e4)}

#: The noise a fit starts from, as a share of the variance of y.
NOISE_START = 0.1

#: A column that varies less than this share of its size does not vary.
CONSTANT = 1e-12

#: Rows looked at for the size of k(x, x).
ROWS_FOR_THE_SIZE = 1000


@record()
@dataclass(frozen=True)
class GPParameters:
    """The vector is kernel.theta, then log(noise) where the noise is one number > 0."""

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
    typical: Floats  # (p,) where the data put it; fixed entries as written
    low: Floats  # (p,)
    high: Floats  # (p,)
    fixed: NDArray[np.bool_]  # (p,)
    center: Floats  # (p,) of the priors
    spread: Floats  # (p,) of the priors; infinity is none
    noise: float  # the noise where it is not among the parameters

    @property
    def noise_is_parameter(self) -> bool:
        """Whether the last entry is log(noise)."""
        return len(self.names) > len(self.kernel.theta)

    @property
    def widths(self) -> NDArray[np.bool_]:  # (p,)
        """Which entries are length scales."""
        return np.array([name.split("__")[-1].startswith("length_scale") for name in self.names], dtype=bool)

    def setting(self, vector: Floats) -> tuple[Kernel, float]:  # (p,)
        """The kernel and the noise that a vector stands for."""
        p = len(self.kernel.theta)
        kernel = self.kernel.with_theta(vector[:p]) if p else self.kernel
        return kernel, float(np.exp(vector[p])) if self.noise_is_parameter else self.noise

    def log_prior(self, vector: Floats) -> tuple[float, Floats]:  # (p,) -> value, (p,)
        """The priors' log density up to a constant, and its gradient; fixed entries do not count."""
        pull = np.where(self.fixed, 0.0, (vector - self.center) / self.spread)
        return -0.5 * float(pull @ pull), -pull / self.spread

    def starts(self, further: int, seed: int) -> list[tuple[str, Floats]]:
        """Where to climb from: as written, as the data suggest, and at random round that."""
        found = [("as written", self.start)]
        if further > 0 and not np.allclose(self.start, self.typical, atol=1e-3):
            found.append(("from the data", self.typical))
        rng = np.random.default_rng(seed)
        while len(found) <= further and not self.fixed.all():
            away = np.where(self.fixed, 0.0, rng.normal(scale=1.0, size=len(self.start)))
            found.append(("random", np.clip(self.typical + away, self.low, self.high)))
        return found


@dataclass(frozen=True)
class RowsSeen:
    """What starting values are taken from where the rows are not at hand: some of them, and the spread of their columns."""

    sized: Rows  # the rows that the size of k(x, x) is taken from
    sample: Rows  # those of a median distance
    spreads: Floats | None  # (d,) standard deviations of the columns, 0 for constant ones

    @staticmethod
    def numbers(n: int) -> Indices:
        """The numbers of the rows that the size of k(x, x) is taken from."""
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
) -> GPParameters:
    """The parameters of a resolved kernel and of a noise (None: to be fitted) for targets of variance `unit`."""
    asked = (fixed,) if isinstance(fixed, str) else tuple(fixed)
    template, strip = kernel, False
    if fit and kernel._amplified(2.0) is None and "scale" not in asked:
        template, strip = _size(kernel, X, unit) * kernel, True
    names = [_own_name(name, strip) for name in template.theta_names]
    theta = template.theta
    # where nothing moves, what the data suggest is not asked
    typical, reach = _typical(template, X, unit) if fit else (theta, np.zeros((len(theta), 2)))
    if noise is None or noise > 0:
        names.append("noise")
        theta = np.append(theta, math.log(NOISE_START * unit if noise is None else noise))
        typical = np.append(typical, math.log(NOISE_START * unit))
        reach = np.vstack([reach, np.log(REACH["noise"])])
    held = np.zeros(len(names), dtype=bool) if fit else np.ones(len(names), dtype=bool)
    held |= np.array([name == "noise" and noise is not None for name in names], dtype=bool)
    for name in asked:
        if not (name == "scale" and not strip and "scale" not in names):  # a scale that is fixed is simply not added
            held[_matching(name, names, "fixed")] = True
    low, high = np.minimum(theta, typical) + reach[:, 0], np.maximum(theta, typical) + reach[:, 1]
    low, high = np.where(held, theta, low), np.where(held, theta, high)
    for name, pair in (bounds or {}).items():
        _bound(name, pair, names, held, low, high)
    center, spread = _priors(priors, names, typical)
    start, typical = np.clip(theta, low, high), np.where(held, theta, np.clip(typical, low, high))
    return GPParameters(
        template, tuple(names), start, typical, low, high, held, center, spread, noise if noise is not None else math.nan
    )


def _own_name(name: str, strip: bool) -> str:
    """The name in the kernel that was given: below an added scale everything stands one level deeper."""
    return name[len("0__") :] if strip and name.startswith("0__") else name


def _size(kernel: Kernel, X: Any, unit: float) -> float:
    """The factor that makes the mean of k(x, x) the variance of y."""
    rows = X.sized if isinstance(X, RowsSeen) else Rows(X).take(RowsSeen.numbers(count(X)))
    mean = float(np.mean(np.abs(kernel.diag(rows)), dtype=np.float64))
    return unit / mean if mean > 0 else unit


def _typical(kernel: Kernel, X: Any, unit: float) -> tuple[Floats, Floats]:  # -> (p,), (p, 2)
    """Values of theta as the data suggest them, and how far below and above they may go, in logarithms."""
    louder = kernel._amplified(math.e)
    amplitude = np.zeros(len(kernel.theta), bool) if louder is None else louder.theta - kernel.theta > 0.5
    sized = kernel._amplified(_size(kernel, X, unit))
    typical = kernel.theta if sized is None else sized.theta
    reach = np.tile(np.log(REACH["other"]), (len(typical), 1))
    reach[amplitude] = np.log(REACH["amplitude"])
    names = kernel.theta_names
    widths = _data_widths(kernel, X)
    for i, name in enumerate(names):
        if name in widths:
            typical[i], reach[i] = math.log(widths[name]), np.log(REACH["length_scale"])
    return typical, reach


def _data_widths(kernel: Kernel, X: Any) -> dict[str, float]:
    """A length scale for every such entry of theta: the median distance, and per column its spread times sqrt(2 d)."""
    known = set(kernel.get_params(deep=True))
    scales = sorted({_plain(name) for name in kernel.theta_names if name.split("__")[-1].startswith("length_scale")})
    # the width of a periodic kernel is no distance of the data
    scales = [name for name in scales if name[: -len("length_scale")] + "period" not in known]
    if not scales:
        return {}
    with warnings.catch_warnings():
        sample = X.sample if isinstance(X, RowsSeen) else X
        warnings.simplefilter("ignore")  # rows that are all equal have no median distance; here it is only a start
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
    """Standard deviations of the columns of plain vectors; 0 where all that varies is the rounding of the mean."""
    if isinstance(X, RowsSeen):
        return X.spreads
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind != "f":
        return None
    return spreads_of(X.std(axis=0, dtype=np.float64), np.abs(X).max(axis=0))


def spreads_of(sd: Floats, most: Floats) -> Floats:  # (d,), (d,) -> (d,)
    """Standard deviations of columns whose entries are at most so large; 0 where they are rounding."""
    return np.where(sd > CONSTANT * most, sd, 0.0)


def _plain(name: str) -> str:
    return re.sub(r"\[\d+\]$", "", name)


def _matching(asked: str, names: Sequence[str], where: str) -> list[int]:
    """The entries a name stands for: itself, all columns of it, or everything whose last word it is."""
    for rule in (lambda n: n == asked, lambda n: _plain(n) == asked, lambda n: _plain(n).split("__")[-1] == asked):
        found = [i for i, name in enumerate(names) if rule(name)]
        if found:
            return found
    raise InputError(f"{where} names {asked!r}, which is no parameter here; there are {', '.join(names) or 'none'}.")


def _bound(name: str, pair: Any, names: Sequence[str], held: Any, low: Floats, high: Floats) -> None:
    try:
        least, most = (float(value) for value in pair)
    except (TypeError, ValueError):
        raise InputError(f"bounds[{name!r}] must be a pair of numbers (low, high); got {pair!r}.") from None
    if not 0 < least <= most < math.inf:
        raise InputError(f"bounds[{name!r}] must be 0 < low <= high; got {pair!r}. Parameters are positive numbers.")
    for i in _matching(name, names, "bounds"):
        if not held[i]:
            low[i], high[i] = math.log(least), math.log(most)


def _priors(priors: Any, names: Sequence[str], typical: Floats) -> tuple[Floats, Floats]:
    """Centers and spreads of normal priors on the logarithms."""
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
        if not (median > 0 and factor > 1):
            raise InputError(f"priors[{name!r}] must be (median > 0, factor > 1); got {pair!r}.")
        for i in _matching(name, names, "priors"):
            center[i], spread[i] = math.log(median), math.log(factor)
    return center, spread
