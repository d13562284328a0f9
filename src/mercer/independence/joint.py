"""`joint_hsic_test`: a test of joint independence of several variables (dHSIC, Pfister et al. 2018).

dHSIC is the squared distance of the mean features of the joint distribution and of the product of its marginals, with the
product of one kernel per variable. Independent permutations of the rows of each variable but the first give its distribution
under joint independence, which makes the test valid for every sample size. Variables that are independent in pairs may still
be dependent together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.arrays import Array, Floats, Ints
from mercer.errors import InputError, check_whole, readable
from mercer.independence.variables import Variable, read_variable
from mercer.inputs import is_frame
from mercer.kernels.base import Kernel
from mercer.numeric.memory import DEFAULT_BUDGET, check_fits
from mercer.numeric.threads import cpu_count, run

#: Permutations per task of a thread.
PERMUTATIONS_AT_A_TIME = 16


@dataclass(frozen=True, eq=False)
class JointHSICTestResult:
    """The result of `mercer.joint_hsic_test`; unpacks into statistic and pvalue."""

    statistic: float
    pvalue: float
    kernels: tuple[Kernel, ...]
    null_distribution: Floats = field(repr=False)
    n_rows: int
    ignored: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))

    def summary(self) -> str:
        """Return the result as text."""
        return readable("\n".join([
            f"{len(self.kernels)} variables, {self.n_rows} rows: p = {self.pvalue:.4g} for joint independence",
            f"  dHSIC        {self.statistic:.6g} ({len(self.null_distribution)} permutations)",
            *([f"  ignored      constant: {', '.join(self.ignored)}"] if self.ignored else []),
        ]))  # fmt: skip

    def __str__(self) -> str:
        return self.summary()


def joint_hsic_test(
    views: Sequence[Any], kernels: Sequence[Any] | None = None, *, n_permutations: int = 499, random_state: Any = None
) -> JointHSICTestResult:
    """Test whether several variables are jointly independent, by the dHSIC statistic with permutations.

    dHSIC = mean_ij prod_v K_v,ij + prod_v mean_ij K_v,ij - 2 mean_i prod_v mean_j K_v,ij, and
    p = (1 + #{permuted >= observed}) / (1 + B).

    Parameters
    ----------
    views : sequence of at least 2 collections of the same length
        Row i of every view belongs to the same observation. Arrays, data frames, lists of strings or graphs.
    kernels : sequence of Kernel, text or None, optional
        One kernel per view. The default is a Gaussian kernel at the median distance of columns scaled by their spread.
    n_permutations, random_state
        B, the number of permutations, and their seed.

    >>> import numpy as np
    >>> from mercer import joint_hsic_test
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(size=(2, 200))
    >>> c = np.abs(rng.normal(size=200)) * np.sign(a * b)  # independent of a, of b, and not of both
    >>> joint_hsic_test([a, b, c], random_state=0).pvalue < 0.01
    True
    """
    check_whole("joint_hsic_test", "n_permutations", n_permutations, 1)
    if isinstance(views, np.ndarray) or is_frame(views) or len(views) < 2:
        raise InputError(
            "joint_hsic_test: views is a list of at least two collections, one per variable. For the columns of an array "
            "give list(X.T), for those of a data frame [X[[column]] for column in X]."
        )
    if kernels is not None and len(kernels) != len(views):
        raise InputError(f"joint_hsic_test: {len(views)} views and {len(kernels)} kernels; give one kernel per view.")
    given = [None] * len(views) if kernels is None else kernels
    variables = [
        read_variable(data, f"view {place}", kernel, "joint_hsic_test")
        for place, (data, kernel) in enumerate(zip(views, given, strict=True))
    ]
    n = _check(variables)
    grams = np.stack([np.asarray(one.gram(np.arange(n), np.arange(n)), dtype=np.float32) for one in variables])
    orders = _orders(len(variables), n, n_permutations, np.random.default_rng(random_state))
    values = statistics(grams, orders)
    observed, null = float(values[0]), values[1:]
    tolerance = 1e-6 * float(np.prod([gram.max() for gram in grams]))  # rounding of float32
    pvalue = (1.0 + np.count_nonzero(null >= observed - tolerance)) / (1.0 + n_permutations)
    ignored = tuple(name for one in variables for name in one.ignored)
    return JointHSICTestResult(observed, float(pvalue), tuple(one.kernels[0] for one in variables), null, n, ignored)


def _check(variables: list[Variable]) -> int:
    n = len(variables[0])
    for one in variables:
        if len(one) != n:
            raise InputError(f"joint_hsic_test: view 0 has {n} rows, {one.name} has {len(one)}; all need the same number.")
        if one.vectors is not None and one.vectors.shape[1] == 0:
            raise InputError(f"joint_hsic_test: {one.name} is constant, hence independent of everything. Remove it.")
    if n < 4:
        raise InputError(f"joint_hsic_test: {n} rows; at least 4 are needed.")
    check_fits(
        4 * len(variables) * n**2, f"joint_hsic_test: {len(variables)} Gram matrices of {n} rows",
        "Use a random part of the rows.", DEFAULT_BUDGET,
    )  # fmt: skip
    return n


def _orders(count: int, n: int, n_permutations: int, rng: np.random.Generator) -> Ints:  # -> (1 + B, count, n)
    """Return the identity, then independent permutations of every view but the first."""
    orders = np.tile(np.arange(n), (1 + n_permutations, count, 1))
    orders[1:, 1:] = rng.permuted(orders[1:, 1:], axis=2)
    return orders


def statistics(grams: Array, orders: Ints) -> Floats:  # (d, n, n), (b, d, n) -> (b,)
    """Return dHSIC for every set of permutations."""
    from mercer.independence._compiled_joint import permuted_joint_sums

    n = grams.shape[1]
    joint = np.empty(len(orders))

    def work(part: slice, _: int) -> None:
        permuted_joint_sums(grams, orders[part], joint[part])

    starts = range(0, len(orders), PERMUTATIONS_AT_A_TIME)
    parts = [slice(start, start + PERMUTATIONS_AT_A_TIME) for start in starts]
    run(parts, work, min(cpu_count(), len(parts)))
    means = grams.mean(axis=2, dtype=np.float64)  # (d, n)
    product = np.ones((len(orders), n))
    for view, mean in enumerate(means):
        product *= mean[orders[:, view]]
    return np.asarray(joint / n**2 + float(np.prod(means.mean(axis=1))) - 2.0 * product.mean(axis=1))
