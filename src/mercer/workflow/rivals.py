"""Simple models for comparison on the same table and split: the mean, a linear model and gradient boosting."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.arrays import Array, Floats
from mercer.estimators.tables.encoding import encoding_of, numbers_of
from mercer.inputs.frames import CATEGORY, NUMBER, OBJECTS, TEXT, Column, like, some_rows

#: Rows times classes that a rival is fitted on, at most: the comparison takes seconds on any table.
MOST_CELLS = 100_000

#: Penalties of the linear models, for standardized columns.
PENALTIES = np.logspace(-3, 5, 17)

#: Largest number of levels of a category for boosting; rarer levels are merged.
LEVELS = 200

#: Largest number of cells of a table for which boosting uses one thread.
SMALL = 200_000

#: The level of missing cells. It is not text, so no file can contain it.
HOLE = ("missing",)

BASELINE, LINEAR, BOOSTING = "baseline", "linear", "boosting"


@dataclass(frozen=True)
class Rival:
    """Another model and its predictions of the held-out rows: numbers (m,), or probabilities of the classes (m, c)."""

    key: str  # one of the three words above
    name: str
    how: str  # its settings, and what it could not use
    predictions: Floats


def rivals(train: list[Column], y: Array, test: list[Column], classes: Array | None, seed: int = 0) -> list[Rival]:
    """Return the rivals fitted to training columns and y, (n,), with predictions for the held-out columns."""
    n = len(y)
    count = 1 if classes is None else len(classes)
    most = MOST_CELLS // count
    picked = np.arange(n) if n <= most else np.sort(np.random.default_rng(seed).choice(n, most, replace=False))
    sampled = "" if n <= most else f", fitted to {most:,} of {n:,} rows"
    usable = [column for column in train if column.kind not in OBJECTS and not column.holes.all()]
    other = [column.name for column in train if column.kind in OBJECTS]
    without = f"; text, graphs and molecules left out: {', '.join(other)}" if other else ""
    some = some_rows(usable, picked)
    new = like(test, usable) if usable else []
    target = y[picked]
    found = [_baseline(y, len(test[0].holes), classes)]
    if usable:
        found += [
            _linear(some, target, new, classes, sampled + without),
            _boosting(some, target, new, classes, seed, sampled + without),
        ]
        return found
    texts = [column for column in train if column.kind == TEXT and not column.holes.all()]
    if texts:
        found.append(_linear_on_words(some_rows(texts, picked), target, like(test, texts), classes, sampled))
    return found


def _baseline(y: Array, m: int, classes: Array | None) -> Rival:
    if classes is None:
        return Rival(BASELINE, "the mean", "the same number for every row", np.full(m, float(np.mean(y))))
    shares = np.array([np.mean(y == label) for label in classes])
    return Rival(BASELINE, "the largest class", "the shares of the classes for every row", np.tile(shares, (m, 1)))


def _linear(train: list[Column], y: Array, test: list[Column], classes: Array | None, note: str) -> Rival:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression, RidgeCV

    middle = [_typical(column) for column in train]
    filled = [_filled(column, value) for column, value in zip(train, middle, strict=True)]
    encoding = encoding_of(filled, "standard")
    Z = encoding({column.name: column for column in filled})
    new = encoding({column.name: _filled(column, value) for column, value in zip(test, middle, strict=True)})
    if classes is None:
        return Rival(LINEAR, "linear ridge", f"penalty by leave-one-out{note}", RidgeCV(PENALTIES).fit(Z, y).predict(new))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a rival is stopped after a while
        model = LogisticRegression(max_iter=300).fit(Z, y)
    how = f"logistic regression, standardized columns{note}"
    return Rival(LINEAR, "a linear model", how, _placed(model.predict_proba(new), model.classes_, classes))


def _linear_on_words(train: list[Column], y: Array, test: list[Column], classes: Array | None, note: str) -> Rival:
    """Return a linear model on weighted counts of words, for tables of text only."""
    from scipy.sparse import hstack
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression, Ridge

    parts = []
    for column, other in zip(train, test, strict=True):
        # every run of characters between spaces is a word, also a single letter
        counts = TfidfVectorizer(token_pattern=r"(?u)\S+", sublinear_tf=True)
        parts.append((counts.fit_transform(_texts(column)), counts.transform(_texts(other))))
    Z, new = (hstack(side).tocsr() for side in zip(*parts, strict=True))
    how = f"on weighted counts of words{note}"
    if classes is None:
        return Rival(LINEAR, "linear ridge", how, Ridge(alpha=1.0).fit(Z, y).predict(new))
    model = LogisticRegression(max_iter=300).fit(Z, y)
    return Rival(LINEAR, "a linear model", how, _placed(model.predict_proba(new), model.classes_, classes))


def _texts(column: Column) -> list[str]:
    words = ("" if cell is None else " ".join(map(str, cell)) if isinstance(cell, list) else cell for cell in column.cells)
    return [f"{text} ." for text in words]  # no text is without words


def _boosting(train: list[Column], y: Array, test: list[Column], classes: Array | None, seed: int, note: str) -> Rival:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from threadpoolctl import threadpool_limits

    places = [_level_places(column) for column in train]
    words = [place is not None for place in places]
    Z = np.column_stack([_codes(column, place) for column, place in zip(train, places, strict=True)])
    new = np.column_stack([_codes(column, place) for column, place in zip(test, places, strict=True)])
    make = HistGradientBoostingRegressor if classes is None else HistGradientBoostingClassifier
    # threads that wait for each other at every split of a small tree take longer than one does
    with threadpool_limits(1 if Z.size < SMALL else None, user_api="openmp"):
        model = make(categorical_features=words, random_state=seed).fit(Z, y)
        said = model.predict(new) if classes is None else _placed(model.predict_proba(new), model.classes_, classes)
    return Rival(BOOSTING, "gradient boosting", f"scikit-learn's histogram gradient boosting, as it comes{note}", said)


def _typical(column: Column) -> Any:
    """Return the value that replaces a hole: the median, the middle level, or a separate level."""
    if column.kind == CATEGORY:
        return HOLE
    here = column.observed()
    return float(np.median(here)) if column.kind == NUMBER else sorted(here, key=_rank(column))[len(here) // 2]


def _rank(column: Column) -> Any:
    order = {level: i for i, level in enumerate(column.levels)}
    return (lambda cell: order.get(cell, 0)) if order else (lambda cell: cell)


def _filled(column: Column, value: Any) -> Column:
    if not column.holes.any():
        return column
    if isinstance(column.cells, np.ndarray):
        cells: Any = np.where(column.holes, value, column.cells)
    else:
        cells = [value if hole else cell for cell, hole in zip(column.cells, column.holes, strict=True)]
    return replace(column, cells=cells, holes=np.zeros_like(column.holes))


def _level_places(column: Column) -> dict[Any, int] | None:
    if column.kind != CATEGORY:
        return None
    counts: dict[Any, int] = {}
    for cell in column.observed():
        counts[cell] = counts.get(cell, 0) + 1
    common = sorted(counts, key=lambda cell: (-counts[cell], repr(cell)))[:LEVELS]
    return {cell: i for i, cell in enumerate(common)}


def _codes(column: Column, places: dict[Any, int] | None) -> Floats:  # -> (n,), NaN in holes
    if places is None:
        return numbers_of(column)
    return np.array([np.nan if cell is None else float(places.get(cell, len(places))) for cell in column.cells])


def _placed(P: Floats, known: Array, classes: Array) -> Floats:  # (m, k) -> (m, c)
    """Return probabilities in the order of `classes`; a sample may not contain all of them."""
    place = {label: i for i, label in enumerate(known.tolist())}
    out = np.zeros((len(P), len(classes)))
    for j, label in enumerate(classes.tolist()):
        if label in place:
            out[:, j] = P[:, place[label]]
    return out
