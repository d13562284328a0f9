"""Points of feature space to find pre-images of: mean + sum_l beta_l f_l, and their distances to the training rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.arrays import Array
from mercer.estimators.pca.components import Components


@dataclass(frozen=True)
class Targets:
    """Targets by their coordinates; `gamma` are their coefficients on the anchors."""

    components: Components
    beta: Array  # (b, q)

    def __len__(self) -> int:
        return len(self.beta)

    def part(self, rows: slice | Array) -> Targets:
        """Some of the targets."""
        return Targets(self.components, self.beta[rows])

    @property
    def gamma(self) -> Array:  # (b, a)
        """target = sum_i gamma_i phi(x_i): the directions' coefficients, and the mean's."""
        return self.beta @ self.components.coef.T + self.components.mean_coef

    @property
    def squared_norms(self) -> Array:  # (b,)
        """||target||^2."""
        found = self.components
        return found.mean_square + 2.0 * self.beta @ found.offset + np.einsum("ij,ij->i", self.beta, self.beta)

    def inner(self) -> Array:  # (b, a)
        """<phi(x_i), target> for every anchor, without a kernel value."""
        return self.beta @ self.components.inner.T + self.components.means

    def squared_distances(self, diagonal: Array) -> Array:  # (a,) -> (b, a)
        """||phi(x_i) - target||^2 for every anchor with k(x_i, x_i) given."""
        return np.maximum(diagonal - 2.0 * self.inner() + self.squared_norms[:, None], 0.0)
