"""The next experiments by a saved table model: its heaviest member as a Gaussian process on the training rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.arrays import Indices
from mercer.errors import InputError
from mercer.estimators.gp.gaussian_process import GaussianProcessRegressor
from mercer.estimators.gp.suggest import suggest
from mercer.estimators.tables.base import TableEstimator
from mercer.estimators.tables.fitting import Member
from mercer.inputs import Rows
from mercer.inputs.tables import Table


def suggested(model: TableEstimator, table: Table, n: int, goal: str) -> Indices:
    """Return the places of the n rows of a table to measure next."""
    member = max(model.members_, key=lambda one: one.weight)
    process = as_process(member, model.result_.distinct)
    candidates = model.new_inputs(table)[member.scaling]
    return suggest(process, candidates.data, n, goal)


def as_process(member: Member, rows: int) -> GaussianProcessRegressor:
    """Return the Gaussian process whose mean is the function of a member that was fitted exactly.

    A ridge with penalty alpha has targets y = K a + b + alpha a, and is the mean of a process with kernel s k and noise
    s alpha, for any s; the most likely s is a'(y - b) / n.
    """
    function = member.model
    dual, intercept = function.columns()
    if dual.shape[1] != 1:
        raise InputError("suggest needs a model that predicts one number; this one has several outputs.")
    if len(dual) < rows or not function.alpha > 0:  # a model that is saved may have more rows than were judged
        raise InputError(
            f"the model was fitted on {len(dual):,} landmarks of {rows:,} rows, and suggest needs all training rows; fit it "
            "to fewer rows: --rows 10000."
        )
    known = Rows(function.X)
    a = dual[:, 0]
    y: Any = function.predict(known).reshape(-1) - intercept[0] + function.alpha * a
    size = max(float(a @ y) / len(a), float(np.finfo(np.float64).tiny))
    process = GaussianProcessRegressor(size * function.kernel, noise=size * function.alpha, optimizer=None)
    return process.fit(function.X, y)
