"""Kernels that count: inner products of explicit, sparse features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.kernels.base import Kernel
from mercer.kernels.pair import Pair
from mercer.numeric.encodings import Encoding


class CountKernel(Kernel):
    """Abstract: the inner product of explicit counts, whatever is counted."""

    def _block(self, pair: Pair) -> NDArray[Any]:
        return pair.inner().copy()

    def _diag(self, encoding: Encoding) -> NDArray[Any]:
        return np.asarray(encoding.norms())

    def _lacks_features(self) -> Kernel | None:
        return None

    def _features_shared(self) -> bool:
        return False

    def _features(self, encoding: Encoding, combined: bool) -> Any:
        return encoding.matrix

    def _feature_names(self, encoding: Encoding) -> list[Any]:
        return list(encoding.names)

    def _n_features(self, encoding: Encoding) -> int:
        return int(encoding.matrix.shape[1])
