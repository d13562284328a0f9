"""The pictures that `mercer fit` leaves beside the model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mercer.workflow.columns import Question
    from mercer.workflow.training import Trained

DPI = 150

#: With more classes than this, counts are shown by color alone.
MANY = 15


def draw(trained: Trained, question: Question, coverage: float, surface: Path, predictions: Path) -> None:
    """Write the surface, and the predictions for the rows held out."""
    import matplotlib

    matplotlib.use("Agg")  # files only: there need not be a screen
    from mercer.report.ridge import PredictionDisplay, SurfaceDisplay

    _save(SurfaceDisplay.from_estimator(trained.model).figure_, surface)
    if question.task == "regression":
        shown: Any = PredictionDisplay.from_estimator(trained.model, trained.X_test, trained.y_test, coverage=coverage)
    else:
        from sklearn.metrics import ConfusionMatrixDisplay

        shown = ConfusionMatrixDisplay.from_predictions(
            trained.y_test,
            trained.model.predict(trained.X_test),
            xticks_rotation="vertical",
            include_values=len(trained.model.classes_) <= MANY,  # numbers in small squares cannot be read
            cmap="Blues",
        )
    title = shown.ax_.get_title() or f"{len(trained.y_test)} rows"  # what the display says of itself
    shown.ax_.set_title(f"{question.target}, held out: {title}")
    _save(shown.figure_, predictions)


def _save(figure: Any, path: Path) -> None:
    import matplotlib.pyplot as plt

    figure.savefig(path, dpi=DPI, bbox_inches="tight")
    plt.close(figure)
