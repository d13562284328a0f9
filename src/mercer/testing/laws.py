"""The laws of a kernel, each a number that must stay below a bound, and `check_kernel` that runs them all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.errors import InputError
from mercer.inputs import take
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Evaluation
from mercer.kernels.functions import Precomputed
from mercer.numeric import tiles
from mercer.testing import capabilities, identity
from mercer.testing.case import Case, objects
from mercer.testing.naive import Twin
from mercer.testing.report import Check, Law, LawError, Report, Skip, distance


def check_kernel(kernel: Kernel, X: Any, Z: Any = None, *, twin: Twin | None = None, tol: float | None = None) -> Report:
    """Check every law of kernels on X (and Z), and return the report; raise LawError with it if a law fails.

    X and Z are collections of any kind: arrays, CSR, strings, graphs, data frames. `twin` is an independent function
    (x, z) -> float to compare with; `tol` replaces the default tolerance, relative to the largest value on the way.

    >>> import mercer, numpy as np
    >>> report = check_kernel(mercer.Gaussian() + mercer.Linear(), np.random.default_rng(0).normal(size=(6, 2)))
    >>> report.passed
    True
    """
    if any(isinstance(node, Precomputed) for node in kernel._walk()):
        raise InputError(f"{kernel} has no objects to compare, only a given matrix; ask mercer.check_gram(K) about that.")
    case = Case(kernel, X, Z, twin, tol)
    case.gram.shape  # noqa: B018 - bad input is the caller's error, not a broken law: it raises here as it is
    report = Report(str(kernel), tuple(_outcome(name, law, case) for name, law in LAWS.items()))
    if not report.passed:
        raise LawError(report)
    return report


def _outcome(name: str, law: Callable[[Case], Check | Skip], case: Case) -> Law:
    try:
        result = law(case)
    except Exception as error:  # a law that cannot even be asked is broken, and the others are still worth asking
        return Law(name, "failed", np.inf, 0.0, f"{type(error).__name__}: {error}")
    if isinstance(result, Skip):
        return Law(name, "skipped", note=result.reason)
    status = "passed" if result.error <= result.bound else "failed"  # NaN fails
    return Law(name, status, float(result.error), float(result.bound), result.note)


# -- values --------------------------------------------------------------------------------------------------------------


def finite(case: Case) -> Check:
    """All values are finite."""
    bad = sum(int(np.count_nonzero(~np.isfinite(values))) for values in (case.gram, case.cross, case.diag))
    return Check(float(bad), 0.0, "values that are not finite" if bad else "")


def symmetric(case: Case) -> Check:
    """k(X, Z) = k(Z, X)'."""
    return Check(distance(case.cross, case.kernel(case.Z, case.X).T), case.tolerance)


def gram_symmetric(case: Case) -> Check:
    """k(X) is symmetric: exactly, where the formula promises it."""
    return Check(distance(case.gram, case.gram.T), 0.0 if case.kernel._symmetric else case.tolerance)


def gram_is_cross(case: Case) -> Check:
    """k(X) = k(X, X), and the same with a copy of X that the kernel cannot recognize."""
    same = distance(case.gram, case.kernel(case.X, case.X))
    copy = distance(case.gram, case.kernel(case.X, take(case.X, np.arange(case.n))))
    return Check(copy if same == 0 else np.inf, case.tolerance, "" if same == 0 else f"k(X, X) differs by {same:.3g}")


def diagonal(case: Case) -> Check:
    """k.diag(X) is the diagonal of k(X)."""
    return Check(distance(case.diag, np.diagonal(case.gram)), case.tolerance)


def splits(case: Case) -> Check:
    """The blocks of any split tile the whole, whether the collection is cut or the matrix."""
    worst = 0.0
    for cut in {1, case.n // 2, case.n - 1} - {0, case.n}:
        parts = (take(case.X, np.arange(cut)), take(case.X, np.arange(cut, case.n)))
        worst = max(worst, distance(np.vstack([case.kernel(part, case.Z) for part in parts]), case.cross))
    values = Evaluation(case.kernel, case.X, case.Z)
    for side in (2, 3):
        whole = np.full(values.shape, np.nan)
        for rows, cols in tiles.tiles(values.shape, False, side):
            whole[rows, cols] = values.block(rows, cols)
        worst = max(worst, distance(whole, case.cross))
    return Check(worst, case.tolerance)


def permutations(case: Case) -> Check:
    """Another order of the objects is the same order of rows and columns."""
    order = np.random.default_rng(0).permutation(case.n)
    moved = case.kernel(take(case.X, order.tolist()))
    return Check(distance(moved, case.gram[np.ix_(order, order)]), case.tolerance)


def one_object(case: Case) -> Check:
    """One object alone has the value that it has among others."""
    alone = [case.kernel(take(case.X, [i]))[0, 0] for i in (0, case.n - 1)]
    return Check(distance(np.array(alone), case.gram[[0, -1], [0, -1]]), case.tolerance)


def cauchy_schwarz(case: Case) -> Check | Skip:
    """|k(x, z)|^2 <= k(x, x) k(z, z)."""
    if case.status == "invalid":
        return Skip("the certificate says that it is not a kernel")
    limit = np.sqrt(np.abs(np.multiply.outer(case.diag, np.asarray(case.kernel.diag(case.Z)))))
    return Check(float((np.abs(case.cross) - limit).max()), case.tolerance)


def positive(case: Case) -> Check | Skip:
    """The smallest eigenvalue of k(X) is not below the rounding of a psd matrix, -10 n eps max|K|."""
    if case.status == "invalid":
        return Skip("the certificate says that it is not a kernel")
    K = case.gram.astype(np.float64)
    # a centered kernel is a difference of larger numbers, and has their rounding
    size = case.scale if "centered" in str(case.kernel) else float(np.abs(K).max())
    return Check(-float(np.linalg.eigvalsh((K + K.T) / 2)[0]), 10 * case.n * case.eps * size)


def naive_twin(case: Case) -> Check | Skip:
    """The values are those of the naive twin."""
    if case.twin is None:
        return Skip("no twin was given")
    left, right, twin = objects(case.X), objects(case.Z), case.twin
    cross = np.array([[twin(x, z) for z in right] for x in left])
    gram = np.array([[twin(x, z) for z in left] for x in left])
    return Check(max(distance(case.cross, cross), distance(case.gram, gram)), case.tolerance)


LAWS: dict[str, Callable[[Case], Check | Skip]] = {
    "finite": finite,
    "k(X, Z) = k(Z, X)'": symmetric,
    "k(X) is symmetric": gram_symmetric,
    "k(X) = k(X, X)": gram_is_cross,
    "diag is the diagonal": diagonal,
    "blocks tile the whole": splits,
    "permutation": permutations,
    "one object": one_object,
    "naive twin": naive_twin,
    "Cauchy-Schwarz": cauchy_schwarz,
    "positive semi-definite": positive,
    **capabilities.LAWS,
    **identity.LAWS,
}
