"""Pictures of the examples on strings: letters that speak for a class, decision values, shares of right answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from lecture import save


def draw_letters(out: Path | None, name: str, explanations: Sequence[Any], headings: Sequence[str]) -> None:
    """One row per string: what every letter adds to the decision."""
    if out is None:
        return
    from mercer.report.drawing import BLUE, VERMILLION, pyplot

    figure, axes = pyplot().subplots(len(explanations), 1, figsize=(11, 2.4 * len(explanations)), layout="constrained")
    for ax, one, heading in zip(np.atleast_1d(axes), explanations, headings, strict=True):
        parts = one.contributions
        ax.bar(range(len(parts)), parts, color=[BLUE if part > 0 else VERMILLION for part in parts])
        ax.set_xticks(range(len(parts)), list(one.text), fontsize=8, family="monospace")
        ax.axhline(0.0, color="black", lw=0.6)
        ax.set(title=heading, ylabel="adds", xlim=(-0.8, len(parts) - 0.2))
    save(figure, out / f"{name}.png")


def draw_scores(out: Path | None, name: str, scores: Any, truth: Any, names: tuple[str, str]) -> None:
    """Histograms of the decision values of two classes; `truth` is 1 for the second."""
    if out is None:
        return
    from mercer.report.drawing import BLUE, VERMILLION, pyplot

    figure, ax = pyplot().subplots(figsize=(6.4, 3.8), layout="constrained")
    edges = np.linspace(scores.min(), scores.max(), 41)
    for kind, (label, color) in enumerate(zip(names, (BLUE, VERMILLION), strict=True)):
        ax.hist(scores[truth == kind], edges, color=color, alpha=0.7, label=label)
    ax.axvline(0.0, color="black", ls="--", lw=1.0)
    ax.set(xlabel="decision value", ylabel="strings")
    ax.legend(frameon=False)
    save(figure, out / f"{name}.png")


def draw_shares(out: Path | None, name: str, truth: Any, predicted: Any) -> None:
    """The share of right answers by class, the largest class on top."""
    if out is None:
        return
    from mercer.report.drawing import BLUE, pyplot

    classes, counts = np.unique(truth, return_counts=True)
    order = counts.argsort()
    right = [float(np.mean(predicted[truth == classes[i]] == classes[i])) for i in order]
    figure, ax = pyplot().subplots(figsize=(6.4, 0.26 * len(classes) + 1.0), layout="constrained")
    ax.barh([f"{classes[i]} ({counts[i]})" for i in order], right, color=BLUE)
    ax.set(xlabel="share of right answers (test names)", xlim=(0, 1))
    save(figure, out / f"{name}.png")


def draw_roc(out: Path | None, name: str, scores: Any, truth: Any) -> None:
    """The ROC curve of a ranking."""
    if out is None:
        return
    from sklearn.metrics import roc_auc_score, roc_curve

    from mercer.report.drawing import BLUE, GRAY, pyplot

    false, true, _ = roc_curve(truth, scores)
    figure, ax = pyplot().subplots(figsize=(4.6, 4.4), layout="constrained")
    ax.plot(false, true, color=BLUE, lw=2.0, label=f"area {roc_auc_score(truth, scores):.3f}")
    ax.plot([0, 1], [0, 1], color=GRAY, ls="--", lw=1.0, label="chance")
    ax.set(xlabel="share of strangers ranked above", ylabel="share of the family found", aspect="equal")
    ax.legend(frameon=False, loc="lower right")
    save(figure, out / f"{name}.png")
