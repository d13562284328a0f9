"""Kernels that count: inner products of explicit, sparse features."""

from __future__ import annotations

import numpy as np

from mercer.arrays import Array
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Pair
from mercer.kernels.features import FeatureMap
from mercer.numeric.encodings import Encoding


class CountKernel(Kernel):
    """Abstract: the inner product of explicit counts, whatever is counted."""

    def _block(self, pair: Pair) -> Array:
        return pair.inner().copy()

    def _diag(self, encoding: Encoding) -> Array:
        return np.asarray(encoding.norms())

    def _feature_map(self, *terms: FeatureMap) -> FeatureMap:
        return FeatureMap(
            lambda encoding, combined: encoding.matrix,
            lambda encoding: int(encoding.matrix.shape[1]),
            lambda encoding: list(encoding.names),
            shared=False,
        )
