"""What the sections of a report share: columns, encoded samples and predictions, each computed once."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.estimators.tables.members import Member
from mercer.estimators.tables.spectrum import DRAWN, SAMPLED, Neighborhood, Spectrum, neighborhood, spectrum
from mercer.inputs.frames import Column, like, read_columns
from mercer.workflow.dependence import some_rows
from mercer.workflow.scores import Resampled
from mercer.workflow.training import Training


class Material:
    """A training with the views that a report asks for."""

    def __init__(self, training: Training) -> None:
        self.training = training
        self.model = training.model
        self.target = training.question.target
        self.classes = training.classes
        self.rng = np.random.default_rng(training.settings.seed)

    @cached_property
    def train(self) -> list[Column]:
        """The columns of the training rows, those that were left out too."""
        return read_columns(self.training.X_train)

    @cached_property
    def test(self) -> list[Column]:
        """The columns of the held-out rows, of the kinds that they had in training."""
        return like(read_columns(self.training.X_test), self.train)

    @cached_property
    def used(self) -> list[Column]:
        """The training columns that the model looks at."""
        return [column for column in self.train if not self.notes.get(column.name)]

    @cached_property
    def notes(self) -> dict[str, str]:
        """Why columns were left out; empty for those that are used."""
        return {note.name: note.note for note in self.model.result_.columns}

    @property
    def n(self) -> int:
        """Training rows, of which a sample is here where workers have read them."""
        return self.training.n_fitted

    @property
    def m(self) -> int:
        """Held-out rows."""
        return len(self.training.y_test)

    @cached_property
    def resampled(self) -> Resampled:
        """The resamples of the held-out rows that all intervals come from."""
        return Resampled(self.m)

    @cached_property
    def codes(self) -> Indices:
        """Held-out labels as places in `classes`."""
        assert self.classes is not None
        return np.searchsorted(self.classes, self.training.y_test)

    @cached_property
    def relevance(self) -> list[tuple[str, float]]:
        """Columns with their share of what moves the prediction, the largest first; empty for very many columns."""
        try:
            shares = self.model.feature_importances_
        except AttributeError:
            return []
        names = [column.name for column in self.train]
        order = np.argsort(-shares, kind="stable")
        return [(names[i], float(shares[i])) for i in order if not self.notes.get(names[i])]

    @cached_property
    def main_member(self) -> Member:
        """The model that weighs most in the mean."""
        members: tuple[Member, ...] = self.model.members_
        return max(members, key=lambda member: member.weight)

    @cached_property
    def sample(self) -> Indices:
        """Training rows whose Gram matrix is looked at."""
        here = len(self.training.y_train)
        return np.sort(self.rng.choice(here, min(here, SAMPLED), replace=False))

    @cached_property
    def sampled_inputs(self) -> dict[str, Any]:
        """The sample as the members see it."""
        return dict(self.model._inputs_of(some_rows(self.used, self.sample)))

    @cached_property
    def spectrum(self) -> Spectrum:
        """The spectrum of the main member."""
        return spectrum(self.main_member, self.sampled_inputs[self.main_member.scaling], self.n)

    @cached_property
    def neighborhood(self) -> Neighborhood | None:
        """Errors around the chosen length scale and penalty, where the kernel has one length to stretch."""
        Z = self.sampled_inputs[self.main_member.scaling][:DRAWN]
        return neighborhood(self.main_member, Z, self._targets(self.sample[:DRAWN]), self.n)

    def _targets(self, rows: Indices) -> Floats:  # -> (r, t)
        y = self.training.y_train[rows]
        if self.classes is None:
            return np.asarray(y, dtype=np.float64)[:, None]
        return np.eye(len(self.classes))[np.searchsorted(self.classes, y)]

    def outputs(self, columns: list[Column]) -> Floats:  # -> (n, t)
        """Predicted numbers, or probabilities, of any columns."""
        scores = self.model._predictions(self.model._inputs_of(columns))
        return np.asarray(scores if self.classes is None else self.model._probabilities(scores))
