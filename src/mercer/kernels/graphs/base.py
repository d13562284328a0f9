"""Shared parts of kernels on graphs that are inner products of counts."""

from __future__ import annotations

import abc
from collections.abc import Hashable
from typing import Any, ClassVar

from mercer.inputs import Graph, Rows
from mercer.kernels.counting.profile import CountingRecipe, CountKernel, Profile
from mercer.kernels.counting.table import FeatureTable
from mercer.kernels.fields import one_of
from mercer.kernels.graphs.batch import Batch
from mercer.numeric.encodings import Encoding

#: The rules for graphs without labels.
UNLABELED_RULES = (None, "constant", "degree")


def unlabeled_rule() -> Any:
    """Return the field `unlabeled`, the rule for missing labels."""
    return one_of(UNLABELED_RULES, None)


class GraphCounts(CountKernel):
    """Abstract: the inner product of explicit features of a graph, which `_table` counts for many graphs at once."""

    domain = "graphs"
    _quiet = ("labeled", "edge_labels")
    unlabeled: str | None
    _reads: ClassVar[tuple[str, ...]] = ("node",)  # labels that it uses: of nodes, of edges

    def _encode(self, rows: Rows) -> Encoding:
        return rows.remember(("graph profile", self), lambda: Profile(self._batch_of(rows), CountingRecipe(self._table)))

    def _batch_of(self, rows: Rows) -> Batch:
        """The graphs of a collection end to end, shared by all terms that read the same labels by the same rule."""
        rule, reads = self.unlabeled, self._labels_read()
        key = ("graph batch", rule, reads)
        return rows.remember(key, lambda: Batch(rows.graphs(), rule, reads, rows.name))

    def _labels_read(self) -> tuple[str, ...]:
        return self._reads

    def _alone(self, item: Graph) -> Batch:
        """Return one graph as a batch, to find the places of its features."""
        return Batch([item], self.unlabeled, self._labels_read(), "x")

    @abc.abstractmethod
    def _table(self, batch: Batch) -> FeatureTable:
        """Return phi(x) of every graph."""


def label_text(label: Hashable) -> str:
    """Return a label for a longer name: plain words unchanged, anything else as its repr.

    >>> label_text("C"), label_text("N+"), label_text(1), label_text("1"), label_text("a b")
    ('C', 'N+', '1', "'1'", "'a b'")
    """
    plain = isinstance(label, str) and label[:1].isalpha() and all(c.isalnum() or c in "+-_" for c in label)
    return str(label) if plain and label not in ("None", "True", "False", "inf", "nan") else repr(label)
