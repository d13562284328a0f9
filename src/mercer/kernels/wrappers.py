"""Closure rules that change the features: weights, normalization, Tanimoto, centering, and repair on a sample.

`Repaired` makes a kernel of a similarity that is not one. With the similarities K = U diag(s) U' of the sample and the
similarities k_x of an object with it,

    clip   phi(x) = diag(s_+)^(-1/2) U_+' k_x       on the sample: U_+ diag(s_+) U_+', the nearest psd matrix
    flip   phi(x) = diag(|s|)^(-1/2) U' k_x         on the sample: U diag(|s|) U'
    shift  k(x, z) + |smallest s| 1[x = z]          on the sample: K with a larger diagonal

Rows of new objects change as `mercer.repair(K, method).rows` changes them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Array, Floats
from mercer.errors import InputError, check_choice
from mercer.inputs import Rows, as_graph, is_frame
from mercer.kernels.algebra import Wrapper, child
from mercer.kernels.base import ATOM, Arithmetic, Derivation, Kernel
from mercer.kernels.evaluation import Evaluation, Pair, checked_diag
from mercer.kernels.features import FeatureMap, Summand, times
from mercer.kernels.functions import check_callable, name_of
from mercer.kernels.operators import node
from mercer.kernels.spectral.composition import multiple
from mercer.kernels.spectral.measures import Measure
from mercer.numeric import tiles
from mercer.numeric.encodings import Dots, Encoding, Values, align, dense, dtype_of, gather, length


class Diagonal(Wrapper):
    """Abstract: d(x) k(x, z) d(z) with one number per object; encoded as (inner encoding, numbers)."""

    def _block(self, pair: Pair) -> Array:
        values = self.inner._block(pair.part(0))
        values *= pair.part(1).left.array[:, None]
        values *= pair.part(1).right.array[None, :]
        return values

    def _weights(self, pair: Pair) -> Floats:
        return np.multiply.outer(pair.part(1).left.array, pair.part(1).right.array)

    def _feature_map(self, *terms: FeatureMap) -> FeatureMap:
        [inner] = terms
        return FeatureMap(
            lambda encoding, combined: times(inner.matrix(encoding[0], combined), encoding[1].array),
            lambda encoding: inner.count(encoding[0]),
            lambda encoding: inner.names(encoding[0]),
        )

    def _summands(self, rows: Rows) -> list[Summand]:
        factors = self._encode(rows)[1].array
        return [summand.times(factors) for summand in self.inner._summands(rows)]


@node
@dataclass(frozen=True, repr=False)
class Weighted(Diagonal):
    """f(x) k(x, z) f(z): the feature map times f(x)."""

    f: Callable[[Any], Any] = field()
    inner: Kernel = child()
    domain = "any"

    def __post_init__(self) -> None:
        check_callable(self.f, "weighted", "from a collection of n objects to n numbers")

    def _encode(self, rows: Rows) -> Encoding:
        return self.inner._encode(rows), Values(rows.values(self.f))

    def _diag(self, encoding: Encoding) -> Array:
        return encoding[1].array ** 2 * self.inner._diag(encoding[0])

    def _pullback(self, pair: Pair, W: Array) -> Floats:
        return self.inner._pullback(pair.part(0), W * self._weights(pair))

    def _diag_pullback(self, encoding: Encoding, w: Array) -> Floats:
        return self.inner._diag_pullback(encoding[0], w * encoding[1].array ** 2)

    def _derivation(self) -> Derivation:
        name = name_of(self.f)
        return Derivation("f(x) k(x, z) f(z)", f"c'DKDc with D = diag({name}(x_i)) is d'Kd for d = Dc", (self.inner,))

    def _text(self) -> str:
        return f"{self.inner._bracketed(ATOM)}.weighted({name_of(self.f)})"


def _self_values(kernel: Kernel, inner: Kernel, encoding: Encoding, rows: Rows) -> Floats:  # -> (n,)
    """Return k(x, x) of the inner kernel; raise if one of them is negative."""
    diag = np.asarray(checked_diag(inner, encoding, rows.name), dtype=np.float64)
    if (diag < 0).any():
        row = int(np.argmin(diag))
        raise InputError(
            f"{kernel}: k(x, x) = {diag[row]:.3g} < 0 for row {row} of {rows.name}, so the inner function is not a "
            "kernel and has no norm to divide by."
        )
    return diag


def _with_unit_diagonal(values: Array, pair: Pair) -> Array:
    """Set the entries of a tile that compare an object with itself to 1, and to 0 if k(x, x) = 0, without rounding."""
    if pair.A is pair.B:
        start, stop = max(pair.rows.start, pair.cols.start), min(pair.rows.stop, pair.cols.stop)
        if start < stop:
            common = np.arange(start, stop)
            values[common - pair.rows.start, common - pair.cols.start] = pair.A[1].array[common] > 0
    return values


@node
@dataclass(frozen=True, repr=False)
class Normalized(Diagonal):
    """k(x, z) / sqrt(k(x, x) k(z, z)): the cosine of the angle in feature space; 0 where k(x, x) = 0."""

    inner: Kernel = field(metadata={"child": True})

    def _encode(self, rows: Rows) -> Encoding:
        encoding = self.inner._encode(rows)
        diag = _self_values(self, self.inner, encoding, rows)
        return encoding, Values(np.divide(1.0, np.sqrt(diag), out=np.zeros_like(diag), where=diag > 0))

    def _block(self, pair: Pair) -> Array:
        return _with_unit_diagonal(super()._block(pair), pair)

    def _diag(self, encoding: Encoding) -> Array:
        return (encoding[1].array > 0).astype(np.float64)

    def _pullback(self, pair: Pair, W: Array) -> Floats:
        # log K = log k - (log a_i + log b_j) / 2 with a = k(x, x), b = k(z, z)
        left, right = pair.part(1).left.array, pair.part(1).right.array
        WK = W * super()._block(pair)
        inside = self.inner._pullback(pair.part(0), W * self._weights(pair))
        A, B = pair.A[0], pair.B[0]
        at_left = self.inner._diag_pullback(gather(A, pair.rows), WK.sum(axis=1) * left**2)
        at_right = self.inner._diag_pullback(gather(B, pair.cols), WK.sum(axis=0) * right**2)
        return inside - 0.5 * (at_left + at_right)

    def _spectral(self, width: int) -> Measure:
        inner = self.inner._spectral(width)
        return multiple(inner, 1.0 / inner.mass) if inner.mass > 0 else inner

    def _derivation(self) -> Derivation:
        because = "f(x) k(x, z) f(z) with f(x) = 1 / sqrt(k(x, x)), and 0 where k(x, x) = 0"
        return Derivation("normalization", because, (self.inner,))

    def facts(self) -> frozenset[str]:
        return self.inner.facts() & {"stationary"}

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        norm = m.sqrt(self.inner._value(x, x, m) * self.inner._value(z, z, m))
        return self.inner._value(x, z, m) / norm

    def _text(self) -> str:
        return f"{self.inner._bracketed(ATOM)}.normalized()"


@node
@dataclass(frozen=True, repr=False)
class Tanimoto(Wrapper):
    """k(x, z) / (k(x, x) + k(z, z) - k(x, z)): the share of features in common; 0 where k(x, x) = k(z, z) = 0."""

    inner: Kernel = field(metadata={"child": True})

    def _encode(self, rows: Rows) -> Encoding:
        encoding = self.inner._encode(rows)
        return encoding, Values(_self_values(self, self.inner, encoding, rows))

    def _block(self, pair: Pair) -> Array:
        values = self.inner._block(pair.part(0))
        union = self._union(values, pair)
        positive = union > 0
        np.divide(values, union, out=values, where=positive)
        if not positive.all():
            values[~positive] = 0.0
        return _with_unit_diagonal(values, pair)

    def _union(self, values: Array, pair: Pair) -> Array:
        """k(x, x) + k(z, z) - k(x, z) of a tile; 0 only where both self-values are 0."""
        sides = pair.part(1)
        union = np.add.outer(sides.left.array, sides.right.array).astype(values.dtype, copy=False)
        union -= values
        return union

    def _diag(self, encoding: Encoding) -> Array:
        return (encoding[1].array > 0).astype(np.float64)

    def _pullback(self, pair: Pair, W: Array) -> Floats:
        # dT = ((a + b) dk - k (da + db)) / (a + b - k)^2 with a = k(x, x), b = k(z, z)
        values = self.inner._block(pair.part(0))
        union = self._union(values, pair).astype(np.float64, copy=False)
        scaled = np.divide(W, union**2, out=np.zeros(union.shape), where=union > 0)
        inside = self.inner._pullback(pair.part(0), scaled * (union + values))
        scaled *= values
        A, B = pair.A[0], pair.B[0]
        at_left = self.inner._diag_pullback(gather(A, pair.rows), scaled.sum(axis=1))
        at_right = self.inner._diag_pullback(gather(B, pair.cols), scaled.sum(axis=0))
        return inside - at_left - at_right

    def _quotient(self, rows: Rows, one: Rows) -> tuple[Kernel, Floats]:
        values = np.asarray(self.inner(rows, one), dtype=np.float64)[:, 0]
        union = self.inner.diag(rows) + self.inner.diag(one)[0] - values
        return self.inner, np.divide(1.0, union, out=np.zeros(len(values)), where=union > 0)

    def _why_no_features(self) -> str:
        return ": Nystroem approximates it; the features of the inner kernel, if it has any, are not its own"

    def _derivation(self) -> Derivation:
        because = (
            "with a = k(x, x), b = k(z, z): |k| <= (a + b) / 2, so k / (a + b - k) = sum over m >= 0 of "
            "k^(m+1) (a + b)^-(m+1) converges; k^(m+1) is a product of kernels, and (a + b)^-(m+1) = "
            "integral over t > 0 of t^m / m! exp(-t a) exp(-t b) dt is a limit of sums of f(x) f(z)"
        )
        return Derivation("Tanimoto", because, (self.inner,))

    def facts(self) -> frozenset[str]:
        return self.inner.facts() & {"stationary"}

    def _value(self, x: Any, z: Any, m: Arithmetic) -> Any:
        value = self.inner._value(x, z, m)
        return value / (self.inner._value(x, x, m) + self.inner._value(z, z, m) - value)

    def _text(self) -> str:
        return f"{self.inner._bracketed(ATOM)}.tanimoto()"


def _private(item: Any) -> Any:
    """An object as a value of its own that repr prints in full: later changes by the caller must not reach the kernel."""
    if isinstance(item, (list, tuple)):
        return tuple(_private(part) for part in item)
    if isinstance(item, np.ndarray):
        return _private(item.tolist())
    return as_graph(item, "the sample") if hasattr(item, "is_directed") else item


class Sample:
    """A private collection inside a kernel: equal by content, hashable, printed as a digest."""

    __slots__ = ("data", "digest")

    data: Any
    digest: str

    def __init__(self, data: Any) -> None:
        Rows(data)  # raises if it is not a collection
        frozen: Any
        if sp.issparse(data):
            frozen = sp.csr_array(data, copy=True)
            content = b"".join(part.tobytes() for part in (frozen.indptr, frozen.indices, frozen.data))
            content += repr(frozen.shape).encode()
        elif isinstance(data, np.ndarray) and data.dtype.kind in "fiub":
            frozen = data.copy()
            frozen.flags.writeable = False
            content = repr((frozen.shape, frozen.dtype.str)).encode() + frozen.tobytes()
        elif is_frame(data):
            frozen = data.copy() if hasattr(data, "iloc") else data.clone()
            content = repr((list(map(str, frozen.columns)), frozen.to_numpy().tolist())).encode()
        else:
            frozen = tuple(_private(item) for item in (data.tolist() if isinstance(data, np.ndarray) else data))
            content = repr(frozen).encode()
        object.__setattr__(self, "data", frozen)
        object.__setattr__(self, "digest", hashlib.sha256(content).hexdigest()[:16])

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("Sample is read-only.")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sample) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __reduce__(self) -> tuple[type[Sample], tuple[Any]]:
        return Sample, (self.data,)

    def __repr__(self) -> str:
        return f"<sample {self.digest}>"


@node
def as_sample(X: Any) -> Sample:
    """The sample a centered kernel subtracts the mean of."""
    return X if isinstance(X, Sample) else Sample(X)


def means_pullback(kernel: Kernel, A: Encoding, sample: Encoding, w: Array) -> Floats:
    """sum_i w_i times the gradient of mean_s k(x_i, s) over a sample."""
    pair = Pair.whole(*align(A, sample))
    size = pair.shape[1]
    return tiles.total(
        lambda r, c: kernel._pullback(pair.tile(r, c), np.repeat(w[r, None] / size, c.stop - c.start, axis=1)),
        pair.shape,
        len(kernel.theta),
    )


def grand_pullback(kernel: Kernel, sample: Encoding, weight: float) -> Floats:
    """A weight times the gradient of the mean of k over all pairs of a sample."""
    return means_pullback(kernel, sample, sample, np.full(length(sample), weight / length(sample)))


@node
@dataclass(frozen=True, repr=False)
class Centered(Wrapper):
    """<phi(x) - mean, phi(z) - mean> with the mean feature vector of a sample.

    k(x, z) - mean_i k(x, s_i) - mean_j k(s_j, z) + mean_ij k(s_i, s_j), the sample being part of the kernel's value.
    """

    sample: Sample = field()
    inner: Kernel = child()

    def _encode(self, rows: Rows) -> Encoding:
        encoding, sample = self.inner._encode(rows), self.inner._encode(Rows(self.sample.data, "the sample"))
        offset = self._means(sample, sample).mean() / 2.0  # half the grand mean on each side of the sum
        return encoding, Values(self._means(encoding, sample) - offset)

    def _means(self, A: Encoding, B: Encoding) -> Floats:
        """mean_j k(x_i, s_j) without holding the matrix."""
        pair = Pair.whole(A, B)
        ones = np.full((pair.shape[1], 1), 1.0 / pair.shape[1])
        symmetric = A is B and self.symmetric
        return tiles.product(lambda r, c: self.inner._block(pair.tile(r, c)), pair.shape, ones, symmetric)[:, 0]

    def _block(self, pair: Pair) -> Array:
        values = self.inner._block(pair.part(0))
        values -= pair.part(1).left.array[:, None]
        values -= pair.part(1).right.array[None, :]
        return values

    def _diag(self, encoding: Encoding) -> Array:
        inner = np.asarray(self.inner._diag(encoding[0]), dtype=np.float64)
        values = inner - 2.0 * encoding[1].array
        # what cancellation leaves over at the mean itself is 0: it has no direction, and must not be negative
        values[values < 32 * np.finfo(dtype_of(encoding[0])).eps * np.abs(inner)] = 0.0
        return values

    def _pullback(self, pair: Pair, W: Array) -> Floats:
        sample = self.inner._encode(Rows(self.sample.data, "the sample"))
        inside = self.inner._pullback(pair.part(0), W)
        left = means_pullback(self.inner, gather(pair.A[0], pair.rows), sample, W.sum(axis=1))
        right = means_pullback(self.inner, gather(pair.B[0], pair.cols), sample, W.sum(axis=0))
        return inside - left - right + grand_pullback(self.inner, sample, float(W.sum()))

    def _diag_pullback(self, encoding: Encoding, w: Array) -> Floats:
        sample = self.inner._encode(Rows(self.sample.data, "the sample"))
        inside = self.inner._diag_pullback(encoding[0], w)
        means = means_pullback(self.inner, encoding[0], sample, w)
        return inside - 2.0 * means + grand_pullback(self.inner, sample, float(w.sum()))

    def _feature_map(self, *terms: FeatureMap) -> FeatureMap:
        [inner] = terms

        def both(encoding: Encoding) -> tuple[Encoding, Encoding]:  # what occurs in the sample has columns too
            return align(encoding[0], self.inner._encode(Rows(self.sample.data, "the sample")))

        def matrix(encoding: Encoding, combined: bool) -> Any:
            values, sample = (inner.matrix(part, combined) for part in both(encoding))
            return dense(values) - np.asarray(sample.mean(axis=0))

        # subtracting the mean fills every column: they are not made for other rows
        return FeatureMap(matrix, lambda e: inner.count(both(e)[0]), lambda e: inner.names(both(e)[0]), stay=False)

    def _derivation(self) -> Derivation:
        because = "the inner product of phi(x) - mean and phi(z) - mean, for a fixed mean of features"
        return Derivation("centering", because, (self.inner,))

    def _text(self) -> str:
        return f"{self.inner._bracketed(ATOM)}.centered({self.sample!r})"


METHODS = ("clip", "flip", "shift")

#: Eigenvalues within -ROUNDING n eps max|s| … are zeros.
ROUNDING = 10.0


@node
@dataclass(frozen=True, repr=False)
class Repaired(Wrapper):
    """The kernel nearest to a function on a sample, by clipped, flipped or shifted eigenvalues.

    >>> import numpy as np
    >>> from mercer import Tanh, check_gram, repair
    >>> X = np.random.default_rng(0).normal(size=(20, 2))
    >>> k = Tanh(1.0, offset=-1.0)
    >>> mended = k.repaired(X, method="flip")
    >>> check_gram(k(X)).psd, check_gram(mended(X)).psd, bool(np.allclose(mended(X), repair(k(X), "flip").gram))
    (False, True, True)
    """

    sample: Sample = field()
    method: str = field(default="clip", kw_only=True)
    inner: Kernel = child()

    def __post_init__(self) -> None:
        check_choice("repaired", "method", self.method, METHODS)
        if self.inner.given:
            raise InputError("repaired: given values are repaired by mercer.repair(K), their new rows by .rows(K_new).")

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        return self.method != "shift" or self.inner.symmetric

    def _encode(self, rows: Rows) -> Encoding:
        values, vectors, shift = spectrum(self)
        if self.method == "shift":
            return self.inner._encode(rows), Values(_codes(rows)), Values(np.full(len(rows), shift))
        found = Evaluation(self.inner, rows, Rows(self.sample.data, "the sample"))
        K = tiles.fill(found.block, np.empty(found.shape), False)
        return Dots(K @ (vectors / np.sqrt(np.abs(values))))

    def _block(self, pair: Pair) -> Array:
        if self.method != "shift":
            return pair.inner().copy()
        same = pair.part(1).left.array[:, None] == pair.part(1).right.array[None, :]
        return np.asarray(self.inner._block(pair.part(0)) + pair.part(2).left.array[:, None] * same)

    def _diag(self, encoding: Encoding) -> Array:
        if self.method != "shift":
            return np.asarray(encoding.norms())
        return np.asarray(self.inner._diag(encoding[0]) + encoding[2].array)

    def _feature_map(self, *terms: FeatureMap) -> FeatureMap | None:
        if self.method == "shift":
            return None
        width = len(spectrum(self)[0])
        return FeatureMap(lambda encoding, combined: encoding.array, lambda encoding: width)

    def _map_or_lack(self) -> FeatureMap | Kernel:
        return self._feature_map() or self  # its features are similarities: the function inside needs none

    def _derivation(self) -> Derivation | None:
        if self.method == "shift":
            return None
        because = f"<phi(x), phi(z)> with phi(x) of {len(spectrum(self)[0])} numbers made of the similarities to the sample"
        return Derivation("explicit features", because)

    def _text(self) -> str:
        return f"{self.inner._bracketed(ATOM)}.repaired({self.sample!r}, method={self.method!r})"


@lru_cache(maxsize=16)
def spectrum(kernel: Repaired) -> tuple[Floats, Floats, float]:  # -> (r,), (m, r), shift
    """The eigenvalues that stay, their vectors, and what the shift adds to the diagonal."""
    found = Evaluation(kernel.inner, Rows(kernel.sample.data, "the sample"))
    K = tiles.fill(found.block, np.empty(found.shape), found.symmetric)
    values, vectors = np.linalg.eigh((K + K.T) / 2.0)
    floor = ROUNDING * len(K) * float(np.finfo(found.dtype).eps) * float(np.abs(values).max(initial=0.0))
    kept = values > floor if kernel.method == "clip" else np.abs(values) > floor
    if not kept.any():
        kept = np.zeros(len(values), dtype=bool)
        kept[-1], values = True, np.ones_like(values)  # all similarities are 0: one feature that is 0
        vectors = np.zeros_like(vectors)
    return values[kept], vectors[:, kept], max(0.0, -float(values[0]))


def _codes(rows: Rows) -> Floats:  # -> (n,)
    """A number per object, the same for equal objects: 52 bits of a digest."""
    data = rows.data
    if sp.issparse(data) or (isinstance(data, np.ndarray) and data.dtype.kind in "fiub"):
        array = (data.toarray() if sp.issparse(data) else data).astype(np.float64) + 0.0
        parts = [row.tobytes() for row in array]
    else:
        parts = [repr(data[i]).encode() for i in range(len(rows))]
    return np.array([int.from_bytes(hashlib.sha256(part).digest()[:6], "big") for part in parts], dtype=np.float64)
