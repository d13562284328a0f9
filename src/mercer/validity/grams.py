"""Gram matrices: is this one psd, what is its rank, which objects are the same, and how to repair one that is not psd."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from mercer.arrays import Array, Floats
from mercer.errors import InputError, NumericalError, check_choice
from mercer.inputs.vectors import check_dense
from mercer.numeric.memory import check_fits, format_bytes
from mercer.numeric.tiles import row_blocks

METHODS = ("clip", "flip", "shift")

#: An eigenvalue counts as negative below -ROUNDING n eps max|K|; of 900 random Grams none came within a tenth of it.
ROUNDING = 10.0


@dataclass(frozen=True, eq=False)
class GramReport:
    """Report on a square matrix of kernel values.

    psd means symmetric, and smallest eigenvalue >= -tolerance with tolerance = 10 n eps max|K|, eps that of K's dtype:
    eigenvalues are not known more closely than that. `witness` is a vector c with c'Kc < 0 if there is one.
    """

    n: int
    dtype: str
    symmetric: bool
    asymmetry: float
    smallest_eigenvalue: float
    largest_eigenvalue: float
    tolerance: float
    rank: int
    condition: float
    negative_diagonal: tuple[int, ...]
    duplicates: tuple[tuple[int, ...], ...]
    bytes: int
    witness: Floats | None = field(default=None, repr=False)
    eigenvalues: Floats = field(default_factory=lambda: np.empty(0), repr=False)
    eigenvectors: Floats | None = field(default=None, repr=False)

    @property
    def psd(self) -> bool:
        """True if the matrix is symmetric and has no eigenvalue below rounding."""
        return self.symmetric and self.witness is None

    @property
    def status(self) -> str:
        """ "valid" for a psd matrix, else "invalid"."""
        return "valid" if self.psd else "invalid"

    def __str__(self) -> str:
        verdict = "is positive semi-definite: it is a Gram matrix" if self.psd else "is not a Gram matrix"
        lines = [f"This {self.n} x {self.n} matrix ({self.dtype}) {verdict}."]
        lines.append(f"  symmetric: {'yes' if self.symmetric else 'no'}, max|K - K'| = {self.asymmetry:.3g}")
        sign = ">=" if self.witness is None else "<"
        lines.append(
            f"  smallest eigenvalue: {self.smallest_eigenvalue:.6g} {sign} -{self.tolerance:.3g} = -10 n eps max|K| "
            "(eigenvalues are known to such rounding only)"
        )
        rank = f"rank {self.rank} of {self.n}, {self._condition()}"
        lines.append(f"  largest eigenvalue: {self.largest_eigenvalue:.6g}, {rank}")
        if self.negative_diagonal:
            lines.append(f"  negative diagonal: k(x, x) < 0 at {_listed(self.negative_diagonal)}, one point is enough")
        if self.duplicates:
            groups = [" = ".join([*map(str, group[:6]), *["…"] * (len(group) > 6)]) for group in self.duplicates]
            lines.append(f"  the same object to this kernel (equal rows, distance 0): {_listed(groups)}")
        if self.witness is not None:
            lines.append("  c'Kc < 0 for c = .witness; repair(K) makes a psd matrix of it (clip, flip or shift)")
        if self.bytes > 2**28:
            lines.append(f"  the check took {format_bytes(self.bytes)}")
        return "\n".join(lines)

    def _condition(self) -> str:
        return f"condition {self.condition:.3g}" if np.isfinite(self.condition) else "singular (condition inf)"

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data for JSON; what is infinite is None."""
        return {
            "n": self.n,
            "dtype": self.dtype,
            "status": self.status,
            "symmetric": self.symmetric,
            "asymmetry": self.asymmetry,
            "tolerance": self.tolerance,
            "rank": self.rank,
            "smallest_eigenvalue": _finite(self.smallest_eigenvalue),
            "largest_eigenvalue": _finite(self.largest_eigenvalue),
            "condition": _finite(self.condition),
            "negative_diagonal": list(self.negative_diagonal),
            "duplicates": [list(group) for group in self.duplicates],
            "witness": None if self.witness is None else self.witness.tolist(),
        }


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _listed(values: Any) -> str:
    shown = ", ".join(str(v) for v in values[:5])
    return shown if len(values) <= 5 else f"{shown}, … ({len(values)} in all)"


def _checked(K: ArrayLike, verb: str) -> Array:
    try:
        array = np.asarray(K)
    except ValueError:
        raise InputError(f"{verb}: K is ragged; a Gram matrix is square.") from None
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise InputError(f"{verb}: a Gram matrix is square, (n, n); got shape {array.shape}.")
    return check_dense(array, "K")


def check_gram(K: ArrayLike) -> GramReport:  # (n, n)
    """Return a report on a square matrix: symmetry, smallest eigenvalue against rounding, rank, condition, duplicates.

    >>> check_gram([[2.0, 1.0], [1.0, 2.0]]).psd
    True
    >>> report = check_gram([[1.0, 2.0], [2.0, 1.0]])
    >>> report.psd, round(report.smallest_eigenvalue, 12)
    (False, -1.0)
    >>> c = report.witness
    >>> bool(c @ [[1.0, 2.0], [2.0, 1.0]] @ c < 0)
    True
    """
    array = _checked(K, "check_gram")
    n, eps = len(array), float(np.finfo(array.dtype).eps)
    needed = 3 * n * n * 8
    remedy = "Check a random sample of its rows and columns, K[np.ix_(i, i)]."
    check_fits(needed, f"the eigenvalue decomposition of a {n} x {n} matrix", remedy)
    unit = _unit(array)  # sums of numbers near 1e308 overflow, and 10 n eps times 1e-310 is 0: nothing does in units of K
    tolerance = ROUNDING * n * eps * float(np.abs(array).max() / unit)
    asymmetry = _asymmetry(array, unit)
    S = _symmetric_part(array, unit)
    eigenvalues = scipy.linalg.eigvalsh(S, check_finite=False)
    vectors = None if eigenvalues[0] >= -tolerance else np.linalg.eigh(S)[1]
    with np.errstate(over="ignore"):  # an eigenvalue may be larger than any float: then it is inf
        return GramReport(
            n=n,
            dtype=str(array.dtype),
            symmetric=asymmetry <= tolerance,
            asymmetry=float(asymmetry * unit),
            smallest_eigenvalue=float(eigenvalues[0] * unit),
            largest_eigenvalue=float(eigenvalues[-1] * unit),
            tolerance=float(tolerance * unit),
            rank=int((np.abs(eigenvalues) > tolerance).sum()),
            condition=_condition(eigenvalues, tolerance),
            negative_diagonal=tuple(np.flatnonzero(np.diagonal(S) < -tolerance).tolist()),
            duplicates=_duplicates(S, ROUNDING * eps),
            bytes=needed,
            witness=None if vectors is None else vectors[:, 0].copy(),
            eigenvalues=eigenvalues * unit,
            eigenvectors=vectors,
        )


def _unit(K: Array) -> np.float64:
    """The power of two below max|K|; 1 for K = 0."""
    largest = float(np.abs(K).max())
    return np.float64(2.0 ** (np.frexp(largest)[1] - 1) if largest > 0 else 1.0)


def _condition(eigenvalues: Floats, tolerance: float) -> float:
    sizes = np.abs(eigenvalues)
    return float(sizes.max() / sizes.min()) if sizes.min() > tolerance else np.inf


def _symmetric_part(K: Array, unit: np.float64) -> Floats:
    """(K + K') / 2 in units."""
    S = K.astype(np.float64)
    S /= unit
    S += S.T.copy()
    S *= 0.5
    return S


def _asymmetry(K: Array, unit: np.float64) -> float:
    """max|K - K'| in units, in portions of rows so that no third matrix is held."""
    step = max(1, 2**20 // len(K))
    return float(max(np.abs(K[rows] / unit - K[:, rows].T / unit).max() for rows in row_blocks(len(K), step)))


def _duplicates(S: Floats, eps: float) -> tuple[tuple[int, ...], ...]:
    """Groups of objects at kernel distance 0 (within rounding) whose rows are equal as well."""
    diag = np.diagonal(S)
    free = np.ones(len(S), dtype=bool)
    groups = []
    for i in range(len(S)):
        if not free[i]:
            continue
        later = np.arange(i + 1, len(S))
        near = np.abs(diag[i] + diag[later] - 2.0 * S[i, later]) <= eps * (np.abs(diag[i]) + np.abs(diag[later]))
        near &= free[later]
        limit = 10.0 * eps**0.5 * np.abs(S[i]).max()  # rows of a psd matrix differ by at most distance times norm
        same = [int(j) for j in later[near] if np.abs(S[i] - S[j]).max() <= limit]
        if same:
            free[same] = False
            groups.append((i, *same))
    return tuple(groups)


@dataclass(frozen=True, eq=False)
class Repair:
    """A psd matrix made from one that is not, and the same change for rows of new objects.

    With K = U diag(s) U': clip replaces s by max(s, 0) and flip by |s|; both multiply K, and every new row, by one matrix
    (U diag(s > 0) U', U diag(sign s) U'), so that rows of training objects come out as rows of the repaired matrix. shift
    adds |smallest s| to the diagonal: k(x, z) + shift 1[x is z], which leaves the rows of new objects as they are; rows
    of training objects lack the shift at their own place, because a row of values does not identify its object.
    """

    method: str
    gram: Floats
    shift: float = 0.0
    change: float = 0.0  # the Frobenius norm of (gram - K), relative to that of K
    _vectors: Floats | None = field(default=None, repr=False)
    _signs: Floats | None = field(default=None, repr=False)

    def rows(self, K_new: ArrayLike) -> Floats:  # (m, n) -> (m, n)
        """Return rows of kernel values of new objects against the training set, changed as the matrix was.

        >>> import numpy as np
        >>> K = np.array([[1.0, 2.0], [2.0, 1.0]])
        >>> mended = repair(K, method="clip")
        >>> bool(np.allclose(mended.rows(K), mended.gram))
        True
        """
        rows, n = check_dense(np.asarray(K_new), "K_new"), len(self.gram)
        if rows.shape[1] != n:
            raise InputError(f"rows: K_new has {rows.shape[1]} columns for {n} training objects; give one value for each.")
        if self._vectors is None or self._signs is None:
            return rows.astype(np.float64)
        # two thin products, whose cost is that of the rows: the n x n projector is never formed
        unit = _unit(rows)
        return _in_range((rows / unit @ self._vectors * self._signs) @ self._vectors.T, unit, "rows")


def repair(K: ArrayLike, method: str = "clip", report: GramReport | None = None) -> Repair:  # (n, n)
    """Return a psd matrix near K, and the map for rows of new objects; a psd K comes back as it is.

    clip gives the nearest psd matrix (in Frobenius norm), flip keeps the sizes of all eigenvalues, shift keeps all
    values off the diagonal. A report from check_gram(K) saves the second eigenvalue decomposition.

    >>> import numpy as np
    >>> K = np.array([[1.0, 2.0], [2.0, 1.0]])
    >>> [repair(K, method=m).gram.round(12).tolist() for m in ("clip", "flip", "shift")]
    [[[1.5, 1.5], [1.5, 1.5]], [[2.0, 1.0], [1.0, 2.0]], [[2.0, 2.0], [2.0, 2.0]]]
    """
    check_choice("repair", "method", method, METHODS)
    array = _checked(K, "repair")
    report = check_gram(array) if report is None else report
    if report.n != len(array):
        raise InputError(f"repair: the report is on a {report.n} x {report.n} matrix, but K is {len(array)} x {len(array)}.")
    unit = _unit(array)
    S = _symmetric_part(array, unit)
    if report.eigenvectors is None:
        return Repair(method, S * unit)
    size = float(np.linalg.norm(S)) or 1.0
    U = report.eigenvectors
    s = report.eigenvalues / unit
    if not np.isfinite(s).all():
        s = np.einsum("ik,ik->k", U, S @ U)
    if method == "shift":
        S[np.diag_indices_from(S)] -= s[0]
        gram, shift = _in_range(S, unit, "repair"), -float(s[0] * unit)
        return Repair(method, gram, shift=shift, change=-float(s[0]) * len(S) ** 0.5 / size)
    signs = (s > 0).astype(np.float64) if method == "clip" else np.sign(s)
    gram = (U * (s * signs)) @ U.T
    gram = (gram + gram.T) / 2.0
    change = float(np.linalg.norm(gram - S)) / size
    return Repair(method, _in_range(gram, unit, "repair"), change=change, _vectors=U, _signs=signs)


def _in_range(values: Floats, unit: np.float64, verb: str) -> Floats:
    """Values in units as they are, if they are floats."""
    with np.errstate(over="ignore"):
        values = values * unit
    if not np.isfinite(values).all():
        raise NumericalError(f"{verb}: the repaired values are larger than any float; divide K by a constant first.")
    return values
