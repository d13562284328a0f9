"""Kernels on graphs: common walks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.arrays import Array, Floats, Ints
from mercer.inputs import Rows
from mercer.kernels.base import Derivation, Kernel
from mercer.kernels.evaluation import Pair
from mercer.kernels.fields import positive, whole
from mercer.kernels.graphs.base import unlabeled_rule
from mercer.kernels.graphs.batch import Batch, chunks
from mercer.numeric.encodings import Encoded, Encoding, Index
from mercer.numeric.threads import cpu_count, run


class Walkers(Encoded):
    """The graphs of a collection as rows of a batch, which may hold those of two collections."""

    def __init__(self, batch: Batch, rows: Ints) -> None:
        self.batch, self.rows = batch, rows

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, rows: Index) -> Walkers:
        return Walkers(self.batch, self.rows[rows])

    def align(self, other: Walkers) -> tuple[Walkers, Walkers]:
        if self.batch is other.batch:
            return self, other
        left, right = self.batch.align(other.batch)
        joint = left.joined(right)
        return Walkers(joint, self.rows), Walkers(joint, other.rows + len(self.batch))

    def numbers(self, steps: int) -> Floats | None:  # -> (n, steps + 1)
        """Walks of every length in every graph of the batch; None where labels differ, so that walks must be compared."""
        from mercer.kernels.graphs._compiled_graphs import walk_numbers

        batch = self.batch
        if len(batch.nodes[1]) > 1:
            return None
        indptr, neighbors, _ = batch.adjacency
        parts = chunks(batch)

        def made() -> Floats:
            out = np.empty((len(batch), steps + 1))
            run(
                parts,
                lambda part, worker: walk_numbers(indptr, neighbors, batch.first, *part, out),
                min(cpu_count(), len(parts)),
            )
            return out

        return batch.remember(("walks", steps), made)


@dataclass(frozen=True, repr=False)
class RandomWalk(Kernel):
    """The random-walk kernel: pairs of walks with equal labels, longer ones weighing less.

    k(x, z) = sum over l = 0 … steps of decay^l (pairs of walks of l edges, one in x and one in z, whose nodes have the same
    labels in the same order) = sum_l decay^l 1' A^l 1 with A the adjacency matrix of the direct product of x and z
    (Gaertner et al. 2003). The sum is finite, since the infinite one diverges where decay times the largest eigenvalue of
    A is 1 or more.

    Parameters
    ----------
    decay : float > 0, default 0.1
    steps : int >= 0, default 10
        The number of edges of the longest walks.
    unlabeled : None, "constant" or "degree"
        What stands for a missing label; see `VertexHistogram`.

    >>> from mercer import Graph
    >>> edge, path = Graph(2, [(0, 1)]), Graph(3, [(0, 1), (1, 2)])
    >>> RandomWalk(0.5, steps=1)([edge, path]).tolist()  # 2 * 3 pairs of nodes + 0.5 * 2 * 4 pairs of edges
    [[6.0, 10.0], [10.0, 17.0]]
    """

    domain = "graphs"

    decay: float = positive(0.1, keyword=False, free=False)
    steps: int = whole(10, at_least=0, at_most=10_000)
    unlabeled: str | None = unlabeled_rule()

    def _encode(self, rows: Rows) -> Encoding:
        def made() -> Walkers:
            return Walkers(Batch(rows.graphs(), self.unlabeled, ("node",), rows.name), np.arange(len(rows)))

        return rows.remember(("walkers", self.unlabeled), made)

    def _weights(self) -> Floats:
        return self.decay ** np.arange(self.steps + 1.0)

    def _block(self, pair: Pair) -> Array:
        left, right = pair.left, pair.right
        numbers = left.numbers(self.steps)
        if numbers is not None:
            return np.asarray((numbers[left.rows] * self._weights()) @ numbers[right.rows].T)
        return self._walked(left.batch, left.rows, right.rows)

    def _walked(self, batch: Batch, left: Ints, right: Ints) -> Floats:  # (r,), (c,) -> (r, c)
        from mercer.kernels.graphs._compiled_graphs import walk_block

        indptr, neighbors, _ = batch.adjacency
        out = np.empty((len(left), len(right)))
        walk_block(indptr, neighbors, batch.nodes[0], batch.first, left, right, self.decay, self.steps, out)
        return out

    def _diag(self, encoding: Encoding) -> Array:
        numbers = encoding.numbers(self.steps)
        if numbers is not None:
            return np.asarray(numbers[encoding.rows] ** 2 @ self._weights())
        return np.array([self._walked(encoding.batch, one, one)[0, 0] for one in encoding.rows[:, None]])

    def _derivation(self) -> Derivation:
        because = "<phi(x), phi(z)> with phi_s(x) = decay^(l/2) times the walks of l edges in x whose labels are s"
        return Derivation("explicit features", f"{because}, for every sequence s of at most {self.steps + 1} labels")
