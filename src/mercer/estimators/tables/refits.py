"""`RefitMixin`: the choices of a fitted table model on other rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError, plural
from mercer.estimators.tables.base import FEWEST
from mercer.estimators.tables.row_weights import read_weights


class RefitMixin:
    """Gives `refit` to a `TableEstimator` whose members are ridges or logistic regressions."""

    def refit(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Return a model with the same kernels, penalties, scalings and weights of the mean, fitted to other rows.

        Nothing is chosen again, so it takes a fraction of the time of `fit`. This model stays as it is. To add rows, give
        the old and the new ones together: the fitted functions are exactly those of all rows unless the model has
        landmarks. Intervals keep their widths, and probabilities their calibration; with more rows both are cautious.
        """
        columns = self.new_columns(X)
        n = len(columns[0].holes)
        target = self._read_target(y, n)
        count = int(np.count_nonzero(read_weights(type(self).__name__, sample_weight, n)))
        if count < FEWEST:
            raise InputError(f"refit needs at least {FEWEST} rows of positive sample_weight; X has {plural(count, 'row')}.")
        found = self.refitted(columns, target, sample_weight)
        if found is None:
            raise InputError(
                f"refit: the matrix of {n:,} rows does not fit into memory={self.memory!r}; raise memory, give fewer rows, "
                "or call fit, which then uses landmarks."
            )
        whole = [len(m.model.dual) for m in self.members_ if len(m.model.dual) == self.result_.distinct]
        copies = count - len(found.members_[0].model.dual) if len(whole) == len(self.members_) else 0
        found.result_ = replace(found.result_, rows=count, copies=copies)
        return found

    def _read_target(self, y: Any, n: int) -> Array:  # -> (n,)
        """Return checked targets of n rows."""
        raise NotImplementedError  # pragma: no cover - abstract
