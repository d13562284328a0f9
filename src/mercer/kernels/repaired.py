"""A kernel made from a similarity that is none: repaired on a sample, and carried over to new objects.

With the similarities K = U diag(s) U' of the sample and k_x those of an object against it,

    clip   phi(x) = diag(s_+)^(-1/2) U_+' k_x       on the sample: U_+ diag(s_+) U_+', the nearest psd matrix
    flip   phi(x) = diag(|s|)^(-1/2) U' k_x         on the sample: U diag(|s|) U'
    shift  k(x, z) + |smallest s| 1[x = z]          on the sample: K with a larger diagonal

so rows of new objects change as `mercer.repair(K, method).rows` changes them.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import scipy.sparse as sp

from mercer.arrays import Array, Floats
from mercer.errors import InputError, check_choice
from mercer.inputs import Rows
from mercer.kernels.algebra import Wrapper, child
from mercer.kernels.base import ATOM, Kernel
from mercer.kernels.derivation import Derivation
from mercer.kernels.evaluation import Evaluation, Pair
from mercer.kernels.features import FeatureMap
from mercer.kernels.operators import node
from mercer.kernels.wrappers import Sample
from mercer.numeric import tiles
from mercer.numeric.encodings import Dots, Encoding, Values

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
    def _symmetric(self) -> bool:  # type: ignore[override]
        return self.method != "shift" or self.inner._symmetric

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
