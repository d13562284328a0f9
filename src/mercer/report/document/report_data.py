"""Columns, samples and predictions that the sections of a report share, each computed once."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from mercer.arrays import Floats, Indices
from mercer.estimators.tables.fitting import Member
from mercer.inputs.frames import Column, some_rows
from mercer.workflow.inspection import DRAWN, SAMPLED, GramSpectrum, Neighborhood, neighborhood, spectrum
from mercer.workflow.scores import Resampled
from mercer.workflow.training import Training


class ReportData:
    """A finished training, and the quantities that a report derives from it."""

    def __init__(self, training: Training) -> None:
        self.training = training
        self.model = training.model
        self.target = training.question.target
        self.classes = training.classes
        self.rng = np.random.default_rng(training.settings.seed)

    @cached_property
    def train(self) -> list[Column]:
        """Columns of the training rows, including those that the model does not use."""
        return self.training.train

    @cached_property
    def test(self) -> list[Column]:
        """Columns of the held-out rows, read as the kinds that they have in the training rows."""
        return self.training.test

    @cached_property
    def used(self) -> list[Column]:
        """Training columns that the model uses."""
        return [column for column in self.train if not self.notes.get(column.name)]

    @cached_property
    def notes(self) -> dict[str, str]:
        """Reason why a column was left out, by name; empty for columns that are used."""
        return {note.name: note.note for note in self.model.result_.columns}

    @property
    def n(self) -> int:
        """Number of training rows; after a fit on a cluster only a sample of them is at hand."""
        return self.training.n_fitted

    @property
    def m(self) -> int:
        """Number of held-out rows."""
        return len(self.training.y_test)

    @cached_property
    def resampled(self) -> Resampled:
        """Bootstrap resamples of the held-out rows, from which all intervals are computed."""
        return Resampled(self.m, self.training.judged.units)

    @cached_property
    def codes(self) -> Indices:
        """Held-out labels as indices into `classes`."""
        assert self.classes is not None
        return np.searchsorted(self.classes, self.training.y_test)

    @cached_property
    def relevance(self) -> list[tuple[str, float]]:
        """Columns with their relative importance, largest first; empty if there are too many columns to compute it."""
        try:
            shares = self.model.feature_importances_
        except AttributeError:
            return []
        names = [column.name for column in self.train]
        order = np.argsort(-shares, kind="stable")
        return [(names[i], float(shares[i])) for i in order if not self.notes.get(names[i])]

    @cached_property
    def main_member(self) -> Member:
        """Member of the weighted mean with the largest weight."""
        members: tuple[Member, ...] = self.model.members_
        return max(members, key=lambda member: member.weight)

    @cached_property
    def sample(self) -> Indices:
        """Training rows whose Gram matrix is analyzed."""
        here = len(self.training.y_train)
        return np.sort(self.rng.choice(here, min(here, SAMPLED), replace=False))

    @cached_property
    def sampled_inputs(self) -> dict[str, Any]:
        """Encoded inputs of the sample, by kind of scaling."""
        return dict(self.model.encode(some_rows(self.used, self.sample)))

    @cached_property
    def spectrum(self) -> GramSpectrum:
        """Spectrum of the main member's Gram matrix."""
        return spectrum(self.main_member, self.sampled_inputs[self.main_member.scaling], self.n)

    @cached_property
    def neighborhood(self) -> Neighborhood | None:
        """Errors around the chosen length scale and penalty; None if the kernel has no length scale."""
        Z = self.sampled_inputs[self.main_member.scaling].take(slice(0, DRAWN))
        return neighborhood(self.main_member, Z, self._targets(self.sample[:DRAWN]), self.n)

    def _targets(self, rows: Indices) -> Floats:  # -> (r, t)
        y = self.training.y_train[rows]
        if self.classes is None:
            return np.asarray(y, dtype=np.float64)[:, None]
        return np.eye(len(self.classes))[np.searchsorted(self.classes, y)]

    def outputs(self, columns: list[Column]) -> Floats:  # -> (n, t)
        """Return predicted numbers or probabilities for any columns."""
        scores = self.model.scores(self.model.encode(columns))
        return np.asarray(scores if self.classes is None else self.model.probabilities(scores))
