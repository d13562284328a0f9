"""Length of the perceptron's weights between the two bounds of Novikoff's proof."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from mercer.arrays import Array
from mercer.errors import InputError
from mercer.estimators.perceptron.kernel_perceptron import KernelPerceptron
from mercer.report.drawing import BLACK, BLUE, GREEN, VERMILLION, one_axes, require_fitted


class NovikoffDisplay:
    """||w_t|| after every update t, between t gamma and sqrt(t) R; the two meet at Novikoff's bound.

    Parameters
    ----------
    norms : (T,) lengths of the weights after every update
    radius : R
    margin : gamma, the largest known margin; nan if none is known
    """

    def __init__(self, norms: Array, radius: float, margin: float) -> None:
        self.norms, self.radius, self.margin = np.asarray(norms, dtype=np.float64), radius, margin

    @classmethod
    def from_estimator(cls, estimator: Any, *, label: Any = None, ax: Any = None) -> Self:
        """Draw a fitted KernelPerceptron; `label` names one class if there are more than two."""
        require_fitted(estimator, KernelPerceptron, "has no ledger_; fit a KernelPerceptron first.")
        ledgers = estimator.ledger_
        if isinstance(ledgers, list):
            found = [c for c, ledger in enumerate(ledgers) if ledger.label == label]
            if not found:
                names = [ledger.label for ledger in ledgers]
                raise InputError(f"label must name one of the classes {names}; got {label!r}.")
            ledger, norms = ledgers[found[0]], estimator.weight_norms_[found[0]]
        else:
            ledger, norms = ledgers, estimator.weight_norms_
        gamma = ledger.radius / math.sqrt(ledger.bound) if math.isfinite(ledger.bound) else math.nan
        return cls(norms, ledger.radius, gamma).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on the axes given, or on new ones; kept as `ax_` and `figure_`."""
        self.figure_, self.ax_ = one_axes(ax, (6.0, 4.0))
        t = np.arange(1, len(self.norms) + 1)
        bound = (self.radius / self.margin) ** 2 if self.margin > 0 else math.nan
        end = bound if bound > 0 else float(len(t))
        line = np.geomspace(1.0, max(end, 2.0), 200)
        self.ax_.plot(t, self.norms, color=BLACK, marker=".", ms=3, lw=1, label=f"||w_t||, {len(t)} updates")
        self.ax_.plot(line, self.radius * np.sqrt(line), color=VERMILLION, label=r"$\sqrt{t}\,R$: it grows no faster")
        if bound > 0:
            self.ax_.plot(line, self.margin * line, color=BLUE, label=r"$t\,\gamma$: it grows no slower")
            self.ax_.axvline(bound, color=GREEN, ls="--", label=f"$R^2/\\gamma^2$ = {bound:.4g}")
        self.ax_.set(xscale="log", yscale="log", xlabel="update t", ylabel="length of the weights")
        self.ax_.legend(frameon=False)
        return self
