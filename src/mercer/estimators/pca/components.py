"""What a fit leaves behind: principal directions as expansions on rows, the mean, and the eigenvalues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.registry import record

#: Eigenvalues below this share of the largest one count as zero, by the bytes of a kernel value; scikit-learn's numbers.
ZERO = {8: 1e-12, 4: 2e-7}
#: The rounding of one kernel value.
EPS = {8: float(np.finfo(np.float64).eps), 4: float(np.finfo(np.float32).eps)}
#: A negative eigenvalue larger than this share of the largest one is no rounding.
NEGATIVE = {8: 1e-5, 4: 5e-3}


@record()
@dataclass(frozen=True)
class Components:
    """f_l = sum_i coef_il phi(x_i) over anchors x_i, orthonormal, and mean = sum_i mean_coef_i phi(x_i).

    The anchors are the training rows, or the landmarks. `inner` holds <phi(x_i), f_l> and `means` <phi(x_i), mean> for the
    anchors, so that no later question needs the Gram matrix again. `primal` holds the directions and, as its last column,
    the mean in explicit features, where that route was taken.
    """

    _stored: ClassVar[dict[str, str]] = {
        "values": "float (q,)",
        "vectors": "float (_, q)",
        "coef": "float (a, q)",
        "offset": "float (q,)",
        "mean_coef": "float (a,)",
        "mean_square": "float",
        "inner": "float (a, q)",
        "means": "float (a,)",
        "primal": "None | float (_, q+1)",
    }

    values: Array  # (q,) eigenvalues of the centered Gram matrix, falling
    vectors: Array  # (n, q) its unit eigenvectors
    coef: Array  # (a, q)
    offset: Array  # (q,) <mean, f_l>
    mean_coef: Array  # (a,)
    mean_square: float  # ||mean||^2
    inner: Array  # (a, q)
    means: Array  # (a,)
    total: float  # trace of the centered Gram matrix
    weight: float  # sum of the weights
    residual: float = 0.0  # largest ||K v - value v|| / largest value
    n_products: int = 0  # vectors multiplied by Lanczos
    primal: Array | None = None  # (D, q + 1)

    def cut(self, keep: Array) -> Components:  # (q,) bool
        """Only some of the components."""
        primal = None if self.primal is None else self.primal[:, np.append(keep, True)]
        return Components(
            self.values[keep], self.vectors[:, keep], self.coef[:, keep], self.offset[keep], self.mean_coef,
            self.mean_square, self.inner[:, keep], self.means, self.total, self.weight, self.residual, self.n_products,
            primal,
        )  # fmt: skip


def settle(
    values: Array, vectors: Array, w: Array, lowest: float, itemsize: int, scale: float, kernel: Any
) -> tuple[Array, Array]:
    """Refuse an indefinite spectrum, set rounding to zero, and fix signs: the largest projection of a row is positive.

    Of a row, not of an entry of the vector, which has the weight of the row in it: copies of a row count as its weight does.
    `scale` is the size of the kernel values before centering, whose rounding is left when nothing else is.
    """
    largest = float(max(values.max(initial=0.0), 0.0))
    if not np.isfinite(values).all():
        raise InputError(f"KernelPCA: {kernel} has NaN or infinite values on these data.")
    if lowest < -NEGATIVE[itemsize] * max(largest, 1e-300) and lowest < -1e-10:
        raise InputError(
            f"KernelPCA: the centered Gram matrix of {kernel} has the eigenvalue {lowest:.3g} beside {largest:.3g}, so this "
            "is not a kernel: there is no feature space to find directions in. There are significant negative eigenvalues; "
            "repair the matrix (mercer.repair) and use Precomputed(), or take a valid kernel."
        )
    rounding = 2.0 * len(vectors) * EPS[itemsize] * scale
    values = np.where(values <= max(ZERO[itemsize] * largest, rounding), 0.0, values)
    top = np.abs(vectors / np.sqrt(w)[:, None]).argmax(axis=0)
    signs = np.sign(vectors[top, np.arange(vectors.shape[1])])
    return values, vectors * np.where(signs == 0.0, 1.0, signs)


def inverse_roots(values: Array) -> Array:  # (q,)
    """1 / sqrt(values), and 0 where the value is 0: a component that is not there projects everything on 0."""
    return np.divide(1.0, np.sqrt(values), out=np.zeros_like(values), where=values > 0)
