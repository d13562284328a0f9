"""Mixed tables with missing cells as they come: table models beside CatBoost, LightGBM, tuned boosting and linear models.

python -m benchmarks.table_mixed [--rows 300 2000] [--splits 3] [--sets ames credit] [--models mercer catboost] [--again]

Regression is judged by RMSE, classification by log-loss, on at most 2,000 rows that no model has seen. Results are stored by
set, rows, split and model in `benchmarks/quality/table_mixed.json`; a run continues where the last one ended.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.results import write_whole

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "tables"
KEPT = Path(__file__).parent / "quality" / "table_mixed.json"
TESTED = 2000

#: File, target, and columns that are left out: numbers of rows, results of the target, or what is known only after it.
SETS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "ames": ("modeldata_ames", "Sale_Price", ()),
    "loans": (
        "openintro_loans_full_schema",
        "interest_rate",
        (
            *("grade", "sub_grade", "installment", "balance", "paid_total", "paid_principal", "paid_interest"),
            *("paid_late_fees", "loan_status", "emp_title"),
        ),
    ),
    "storms": ("dplyr_storms", "wind", ("name", "status", "category")),
    "credit": ("modeldata_credit_data", "Status", ()),
    "attrition": ("modeldata_attrition", "Attrition", ()),
    "covid": (
        "medicaldata_covid_testing",
        "result",
        ("subject_id", "fake_first_name", "fake_last_name", "test_id", "ct_result"),
    ),
}
MODELS = ("mercer", "catboost", "lightgbm", "boosting", "linear")


def load(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the columns and the target of a set; rows without a target or with an invalid one are left out."""
    file, target, dropped = SETS[name]
    frame = pd.read_csv(DATA / f"{file}.csv.gz")
    frame = frame[frame[target].notna() & (frame[target] != "invalid")]
    y = frame[target].to_numpy()
    X = frame.drop(columns=["rownames", target, *dropped]).reset_index(drop=True)
    words = [column for column in X.columns if X[column].dtype.kind not in "fiub"]
    return X.astype(dict.fromkeys(words, object)), y


def split(n: int, rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return training rows, at most two thirds of all, and test rows."""
    order = np.random.default_rng([seed, rows]).permutation(n)
    size = min(rows, 2 * n // 3)
    return order[:size], order[size : size + TESTED]


def filled(X: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Return words with an own level for missing cells, and the names of these columns."""
    words = [column for column in X.columns if X[column].dtype == object]
    return X.assign(**{column: X[column].where(X[column].notna(), "missing").astype(str) for column in words}), words


def predictions(model: str, X: pd.DataFrame, y: np.ndarray, new: pd.DataFrame, seed: int) -> np.ndarray:
    """Return predicted numbers, or probabilities of the classes in sorted order."""
    classes = y.dtype.kind not in "fiu"
    if model == "mercer":
        from mercer import TableClassifier, TableRegressor

        made: Any = (TableClassifier if classes else TableRegressor)(random_state=seed).fit(X, y)
        return np.asarray(made.predict_proba(new) if classes else made.predict(new))
    known, words = filled(X)
    later, _ = filled(new)
    if model == "catboost":
        from catboost import CatBoostClassifier, CatBoostRegressor

        made = (CatBoostClassifier if classes else CatBoostRegressor)(
            cat_features=words, random_seed=seed, verbose=False, allow_writing_files=False, thread_count=1
        ).fit(known, y)
    else:
        codes = {w: {level: i for i, level in enumerate(known[w].value_counts().index[:250])} for w in words}
        places = [known.columns.get_loc(w) for w in words]
        known, later = (
            part.assign(**{w: part[w].map(codes[w]).astype(float) for w in words}).to_numpy(float) for part in (known, later)
        )
        made = _numeric(model, classes, places, seed).fit(known, y)
    return np.asarray(made.predict_proba(later) if classes else made.predict(later))


def _numeric(model: str, classes: bool, places: list[int], seed: int) -> Any:
    """Return a model of numbers; `places` are columns of codes of levels."""
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegressionCV, RidgeCV
    from sklearn.model_selection import RandomizedSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    if model == "lightgbm":
        from lightgbm import LGBMClassifier, LGBMRegressor

        return (LGBMClassifier if classes else LGBMRegressor)(
            random_state=seed, n_jobs=1, verbose=-1, cat_feature=",".join(map(str, places))
        )
    if model == "boosting":
        settings = {
            "learning_rate": [0.03, 0.06, 0.1],
            "max_leaf_nodes": [7, 15, 31],
            "min_samples_leaf": [5, 20, 50],
            "l2_regularization": [0.0, 1.0, 10.0],
            "max_iter": [100, 200, 400],
        }
        made = (HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor)(
            categorical_features=places or None, random_state=seed
        )
        score = "neg_log_loss" if classes else "neg_root_mean_squared_error"
        return RandomizedSearchCV(made, settings, n_iter=12, cv=3, scoring=score, random_state=seed)
    one_hot = make_pipeline(
        SimpleImputer(strategy="constant", fill_value=-1.0), OneHotEncoder(handle_unknown="ignore", min_frequency=5)
    )
    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    made = (
        LogisticRegressionCV(Cs=7, cv=5, scoring="neg_log_loss", max_iter=300)
        if classes
        else RidgeCV(np.logspace(-3, 5, 17))
    )
    return make_pipeline(make_column_transformer((one_hot, places), remainder=numbers), made)


def error(P: np.ndarray, y: np.ndarray, classes: np.ndarray | None) -> float:
    """Return RMSE, or log-loss with probabilities of at least 1e-6."""
    if classes is None:
        return float(np.sqrt(np.mean((P - y) ** 2)))
    return float(-np.log(np.clip(P[np.arange(len(y)), np.searchsorted(classes, y)], 1e-6, 1.0)).mean())


def main() -> None:
    """Run what is missing, then print errors and geometric means of ratios."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, nargs="*", default=[300, 2000])
    options.add_argument("--splits", type=int, default=3)
    options.add_argument("--sets", nargs="*", default=list(SETS), choices=list(SETS))
    options.add_argument("--models", nargs="*", default=list(MODELS), choices=MODELS)
    options.add_argument("--again", action="store_true", help="run the models again that have results")
    options.add_argument("--out", type=Path, default=KEPT)
    asked = options.parse_args()
    known: dict[str, Any] = json.loads(asked.out.read_text()) if asked.out.exists() else {}
    for rows in asked.rows:
        for seed in range(asked.splits):
            for name in asked.sets:
                X, y = load(name)
                train, test = split(len(y), rows, seed)
                classes = np.unique(y[train]) if y.dtype.kind not in "fiu" else None
                for model in asked.models:
                    key = f"{name} {rows} {seed} {model}"
                    if key in known and not asked.again:
                        continue
                    start = time.perf_counter()
                    P = predictions(model, X.iloc[train], y[train], X.iloc[test], seed)
                    known[key] = [error(P, y[test], classes), time.perf_counter() - start]
                    print(f"{key}: {known[key][0]:.5g}, {known[key][1]:.1f} s", flush=True)
                    write_whole(asked.out, json.dumps(known, indent=1, sort_keys=True) + "\n")
    for rows in asked.rows:
        report(known, rows, asked)


def report(known: dict[str, Any], rows: int, asked: argparse.Namespace) -> None:
    """Print mean errors by set, and ratios to each rival."""
    others = [model for model in asked.models if model != "mercer"]
    print(f"\n{rows} training rows: mean error, and its ratio to that of the rivals")
    logs: dict[str, list[float]] = {model: [] for model in others}
    for name in asked.sets:
        mean = {}
        for model in asked.models:
            found = [known[k][0] for s in range(asked.splits) if (k := f"{name} {rows} {s} {model}") in known]
            mean[model] = float(np.mean(found)) if found else np.nan
        ratios = {model: mean["mercer"] / mean[model] for model in others}
        for model in others:
            logs[model].append(np.log(ratios[model]))
        print(
            f"{name:<10} mercer {mean['mercer']:.5g}  " + "  ".join(f"{m} {mean[m]:.5g} ({ratios[m]:.3f})" for m in others)
        )
    print("Geometric means: " + ", ".join(f"{np.exp(np.nanmean(logs[m])):.3f} of {m}" for m in others))


if __name__ == "__main__":
    main()
