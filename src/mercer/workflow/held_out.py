"""How good is a model on rows it has not seen? Its error beside the mean and beside linear ridge, and its intervals."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.estimators.ridge.summary import rms

#: Penalties of the linear models that stand beside, for standardized columns.
LINEAR_ALPHAS = np.logspace(-3, 5, 17)


@dataclass(frozen=True)
class Judgment:
    """Facts about predictions for rows that were held out; coverage and half_width are None for classes."""

    measure: str  # "RMSE", smaller is better, or "accuracy", greater is better
    n: int
    value: float
    simple: float  # the mean alone, or the largest class alone
    linear: float  # linear ridge
    r2: float | None = None
    coverage: float | None = None  # asked for
    covered: float | None = None  # the fraction of held-out targets inside their intervals
    half_width: float | None = None  # median

    def to_dict(self) -> dict[str, Any]:
        """The facts by name."""
        return asdict(self)

    def lines(self) -> list[tuple[str, str]]:
        """The facts for people, as labels and texts."""
        if self.measure == "accuracy":
            return [
                ("held-out accuracy", f"{100 * self.value:.1f} % of {self.n} rows"),
                ("the largest class alone", f"{100 * self.simple:.1f} %"),
                ("linear ridge", f"{100 * self.linear:.1f} %"),
            ]
        lines = [
            ("held-out error (RMSE)", f"{self.value:.4g} on {self.n} rows (R² {self.r2:.3f})"),
            ("the mean alone", f"{self.simple:.4g}"),
            ("linear ridge", f"{self.linear:.4g}"),
        ]
        if self.covered is not None and self.coverage is not None and self.half_width is not None:
            inside = f"± {self.half_width:.4g}, holding {100 * self.covered:.1f} % of the held-out rows"
            known = inside if np.isfinite(self.half_width) else "infinite: too few rows for so high a coverage"
            lines.append((f"{100 * self.coverage:g} % intervals", known))
        return lines


def held_out_regression(
    model: Any,
    X: NDArray[Any],  # (m, d) held out
    y: NDArray[Any],  # (m,)
    X_train: NDArray[Any],  # (n, d), scaled like X
    y_train: NDArray[Any],  # (n,)
    coverage: float,
) -> Judgment:
    """The facts of a fitted regressor with `predict_interval`."""
    from sklearn.linear_model import RidgeCV

    errors = y - model.predict(X)
    spread = float(np.sum((y - y.mean()) ** 2))
    bounds = model.predict_interval(X, coverage)
    linear = RidgeCV(LINEAR_ALPHAS).fit(X_train, y_train)
    return Judgment(
        "RMSE",
        len(y),
        rms(errors),
        rms(y - y_train.mean()),
        rms(y - linear.predict(X)),
        1.0 - float(np.sum(errors**2)) / spread if spread > 0 else float("nan"),
        coverage,
        float(np.mean((bounds[:, 0] <= y) & (y <= bounds[:, 1]))),
        float(np.median(bounds[:, 1] - bounds[:, 0])) / 2,
    )


def held_out_classification(
    model: Any, X: NDArray[Any], y: NDArray[Any], X_train: NDArray[Any], y_train: NDArray[Any]
) -> Judgment:
    """The facts of a fitted classifier."""
    from sklearn.linear_model import RidgeClassifierCV

    classes, counts = np.unique(y_train, return_counts=True)
    linear = RidgeClassifierCV(LINEAR_ALPHAS).fit(X_train, y_train)
    return Judgment(
        "accuracy",
        len(y),
        float(np.mean(model.predict(X) == y)),
        float(np.mean(y == classes[counts.argmax()])),
        float(np.mean(linear.predict(X) == y)),
    )
