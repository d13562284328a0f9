"""The kernel of a detector to which none was given, by the kind of the rows."""

from __future__ import annotations

from typing import Any

from mercer.inputs import is_frame
from mercer.inputs.chunks import as_chunks
from mercer.inputs.frames import NUMBER, read_columns
from mercer.inputs.series import is_series
from mercer.inputs.vectors import looks_like_vectors
from mercer.kernels.base import Kernel
from mercer.kernels.graphs import WeisfeilerLehman
from mercer.kernels.series import GlobalAlignment
from mercer.kernels.stationary import Gaussian, Laplacian
from mercer.kernels.strings.spectrum import Spectrum
from mercer.kernels.tables.frame import frame_kernel

#: What stands for the kernel of numbers until the rows are read.
OF_NUMBERS = Laplacian(1.0)


def default_kernel(X: Any) -> Kernel:
    """Return a kernel for mixed tables, strings, graphs or series; for rows of numbers OF_NUMBERS."""
    if is_frame(X):
        columns = read_columns(X, "X")
        plain = all(column.kind == NUMBER and not column.holes.any() for column in columns)
        return OF_NUMBERS if plain else frame_kernel(X)
    if looks_like_vectors(X) and not is_series(X):
        return OF_NUMBERS
    if is_series(X):
        return GlobalAlignment(Gaussian("median"))
    if as_chunks(X) is not None:
        return OF_NUMBERS
    first = next(iter(X), "")
    return Spectrum(3).normalized() if isinstance(first, (str, list)) else WeisfeilerLehman(3).normalized()
