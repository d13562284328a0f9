"""When to stop though mistakes go on: once the averaged weights get no better.

On data that cannot be separated the mistakes never end, while the averaged weights are as good as they will be after some
epochs. So their errors on the training rows are counted after every epoch, and a problem ends where no epoch of the last
`PATIENCE` has lowered them by more than `TOL`, as in scikit-learn's perceptron. Averaged weights without an error show that
the data can be separated: then the run goes on to its end, which Novikoff's bound promises.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Array
from mercer.estimators.perceptron.budget import Budgeted
from mercer.estimators.perceptron.fit import Values
from mercer.estimators.perceptron.forms import Gram
from mercer.estimators.perceptron.passes import Form, Mistakes
from mercer.grams import GramOperator
from mercer.inputs import take

#: The least share of rows by which errors must fall to count, and the epochs in a row that may fail to do so.
TOL, PATIENCE = 1e-3, 5
#: Rows on which errors are counted where the Gram matrix is not at hand; fewer rows are taken all.
SAMPLE = 2000


class Averages:
    """The errors of the averaged weights, epoch after epoch."""

    def __init__(self, form: Form, values: Values, X: Any, Y: Array) -> None:  # (C, n)
        self.form, self.shift, n = form, values.shift, Y.shape[1]
        self.K: Any
        if isinstance(form, Gram):  # has the shift in it
            self.K, self.Y, self.shift = form.K, Y, 0.0
        else:
            rows = np.sort(np.random.default_rng(0).permutation(n)[:SAMPLE])
            self.K, self.Y = GramOperator(values.K.kernel, take(X, rows), X), Y[:, rows]
        self.all_rows = self.Y.shape[1] == n
        self.signs, self.alpha, self.beta = Y, np.zeros(Y.T.shape), np.zeros(Y.T.shape)
        self.best, self.since = np.full(len(Y), np.inf), np.zeros(len(Y), np.int64)

    def __call__(self, active: Array, mistakes: Mistakes, presented: Array) -> Array:  # (C,) -> (C,)
        """After an epoch: which of the active problems have stopped to improve."""
        errors = self.errors(mistakes, presented)
        better = errors < self.best - TOL
        self.best = np.where(better, errors, self.best)
        self.since = np.where(better, 0, self.since + 1)
        separated = self.all_rows & (errors == 0.0)
        return active & (self.since >= PATIENCE) & ~separated

    def errors(self, mistakes: Mistakes, presented: Array) -> Array:  # -> (C,)
        """The share of rows that the averaged weights have on the wrong side, or on neither."""
        coef = self._coefficients(mistakes, presented)
        scores = np.asarray(self.K @ coef) + self.shift * coef.sum(axis=0)
        return np.mean(self.Y.T * scores <= 0.0, axis=0)

    def _coefficients(self, mistakes: Mistakes, presented: Array) -> Array:  # -> (n, C)
        first, second = mistakes.sums(self.signs)
        self.alpha += first
        self.beta += second
        alpha, beta = self.alpha, self.beta
        if isinstance(self.form, Budgeted):  # which changes weights of earlier epochs
            rows, a, b = self.form.support()
            alpha, beta = np.zeros(alpha.shape), np.zeros(beta.shape)
            alpha[rows], beta[rows] = a, b
        return np.asarray(alpha - beta / np.maximum(presented, 1))
