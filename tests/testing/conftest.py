"""The functions inside random kernels get names, so that the law parse(repr(k)) == k applies to them too."""

from __future__ import annotations

import mercer
from mercer.testing.random_kernels import MAPS, WEIGHTS

for doubled in {*sum(MAPS.values(), ()), *sum(WEIGHTS.values(), ())}:
    mercer.register(f"testing_{doubled.collection.__name__}", doubled.collection)
