"""A read-only array that can be a field of an immutable value: equal by content, hashable, printable as code."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mercer.arrays import Array, Floats


class FrozenArray:
    """A private read-only copy of an array of floats.

    >>> FrozenArray([[1, 2], [2, 1]]) == FrozenArray(np.array([[1.0, 2.0], [2.0, 1.0]]))
    True
    """

    __slots__ = ("array", "digest")

    array: Floats
    digest: str

    def __init__(self, values: ArrayLike) -> None:
        if np.iscomplexobj(values):  # NumPy would drop the imaginary parts with a warning
            raise ValueError("complex numbers")
        array = np.array(values, dtype=np.float64)  # a copy: the caller's later writes must not reach a frozen value
        array += 0.0  # -0.0 and 0.0 are equal numbers and get equal bytes
        array.flags.writeable = False
        object.__setattr__(self, "array", array)
        object.__setattr__(self, "digest", hashlib.sha256(repr(array.shape).encode() + array.tobytes()).hexdigest()[:16])

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("FrozenArray is read-only.")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FrozenArray) and self.digest == other.digest and np.array_equal(self.array, other.array)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.array, dtype=dtype, copy=True) if copy or dtype else self.array

    def __repr__(self) -> str:
        return repr(self.array.tolist())

    def __reduce__(self) -> tuple[type[FrozenArray], tuple[Floats]]:
        return FrozenArray, (self.array,)
