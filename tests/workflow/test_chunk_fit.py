"""A table fitted by sums over its chunks: the same numbers as from its rows in one place, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mercer
from mercer.errors import InputError
from mercer.estimators.tables.chunk_facts import (
    CALIBRATING,
    FITTED,
    HELD_OUT,
    MOST_HELD_OUT,
    RowDraw,
    RowRoles,
    RunningMoments,
    draw_for,
    moments,
)
from mercer.estimators.tables.encoding import encoding_of
from mercer.inputs.frames import read_columns
from mercer.inputs.reading import read_table
from mercer.report.document.training_report import training_report
from mercer.workflow.cluster import train_on_chunks
from mercer.workflow.question import FileQuestion, FitSettings
from mercer.workflow.training import Training

N, STEP = 330, 70
QUICK = FitSettings(kernel="Gaussian(1.5)", seed=3)


def written(path: Path, **more: Any) -> Path:
    """A table of numbers, categories and dates with two targets, in two files of a folder; `more` replaces columns."""
    rng = np.random.default_rng(7)
    a, b = rng.normal(size=N), 1e4 * rng.normal(size=N) + 5e4
    city = rng.choice(["Rome", "Oslo", "Bonn"], N)
    y = np.sin(a) + b / 2e4 + (city == "Rome") + 0.05 * rng.normal(size=N)
    days = np.datetime64("2026-01-01") + rng.integers(0, 900, N).astype("timedelta64[D]")
    columns: dict[str, Any] = {"a": a, "b": b, "city": city, "day": days, "one": np.ones(N), "place": np.arange(N), "y": y}
    columns |= {"label": np.where(y > np.median(y), "high", "low"), **more}
    path.mkdir()
    for number, rows in enumerate((slice(0, 150), slice(150, None))):
        lines = [
            ",".join(map(str, row)) for row in zip(*(np.asarray(c)[rows].tolist() for c in columns.values()), strict=True)
        ]
        (path / f"part{number}.csv").write_text("\n".join([",".join(columns), *lines]) + "\n", encoding="utf-8")
    return path


def in_one_place(folder: Path) -> Any:
    """The whole table, file after file."""
    return read_table(folder / "part0.csv").vstack(read_table(folder / "part1.csv"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("chunks") / "table")


@pytest.fixture(scope="module")
def regression(folder: Path) -> Training:
    return train_on_chunks(FileQuestion(str(folder), "y", ["label"]), QUICK, rows=STEP, command="mercer fit")


@pytest.fixture(scope="module")
def classes(folder: Path) -> Training:
    return train_on_chunks(FileQuestion(str(folder), "label", ["y"], id="place"), FitSettings(), rows=STEP)


# -- the split -------------------------------------------------------------------------------------------------------------


def test_what_a_row_is_for_does_not_depend_on_the_chunks() -> None:
    draw = RowDraw(5, 0.2, 0.1, 0.3)
    whole = draw.roles(0, 10_000)
    parts = np.concatenate([draw.roles(first, 1250) for first in range(0, 10_000, 1250)])
    np.testing.assert_array_equal(parts, whole)
    np.testing.assert_allclose(np.bincount(whole) / 10_000, [0.2, 0.1, 0.7], atol=0.02)
    assert np.mean(draw.in_sample(0, 10_000)) == pytest.approx(0.3, abs=0.02)
    assert np.mean(whole == RowDraw(6, 0.2, 0.1, 0.3).roles(0, 10_000)) == pytest.approx(0.54, abs=0.03)  # .2² + .1² + .7²


def test_the_rows_that_are_brought_together_are_bounded() -> None:
    draw = draw_for(10**9, 20, 0.2, 0)
    assert draw.held_out * 10**9 == MOST_HELD_OUT
    assert draw.sampled * 10**9 <= 100_000
    assert draw_for(10**9, 10**4, 0.2, 0).sampled * 10**9 * 8 * 10**4 <= 2**28
    with pytest.raises(InputError, match="99 rows are too few for a cluster"):
        draw_for(99, 3, 0.2, 0)
    with pytest.raises(InputError, match="leaves too few rows"):
        draw_for(1000, 3, 0.97, 0)


def test_the_roll_finds_rows_by_their_places() -> None:
    """Slow twin: all rows in one list."""
    draw, out = RowDraw(1, 0.3, 0.1, 0.5), np.zeros(50, dtype=bool)
    out[[3, 17, 44]] = True
    roll = RowRoles(draw, [50, 30, 20], [np.packbits(out), None, None])
    left = np.flatnonzero(~np.concatenate([out, np.zeros(50, dtype=bool)]))
    assert roll.rows(None).tolist() == left.tolist()
    for role in (HELD_OUT, CALIBRATING, FITTED):
        mine = [row for row in left.tolist() if draw.roles(0, 100)[row] == role]
        assert roll.rows(role).tolist() == mine
        assert sum(roll.lengths(role)) == len(mine)
        index = np.random.default_rng(0).permutation(len(mine))[:5]
        assert roll.numbers(role, index).tolist() == [mine[i] for i in index]
    assert roll.rows(FITTED, sampled=True).tolist() == [r for r in roll.rows(FITTED) if draw.in_sample(0, 100)[r]]


def test_moments_of_parts_are_those_of_all() -> None:
    values = 1e6 + np.random.default_rng(0).normal(size=1000)
    total = RunningMoments()
    for part in np.split(values, [1, 1, 400, 990]):
        total = total.plus(moments(part))
    assert (total.count, total.low, total.high) == (1000, values.min(), values.max())
    assert total.mean == pytest.approx(values.mean(), rel=1e-14)
    assert total.spread == pytest.approx(values.std(), rel=1e-9)


# -- the same numbers as in one place --------------------------------------------------------------------------------------


def split_by_hand(training: Training, folder: Path) -> tuple[Any, dict[int, Any]]:
    whole = in_one_place(folder)
    roles = draw_for(N, len(training.question.names) + 2, 0.2, training.settings.seed).roles(0, N)
    return whole, {role: np.flatnonzero(roles == role) for role in (HELD_OUT, CALIBRATING, FITTED)}


def test_a_fit_by_chunks_is_the_fit_of_the_rows_in_one_place(regression: Training, folder: Path) -> None:
    """Slow twin: the whole table is read, standardized and solved here, without chunks."""
    whole, rows = split_by_hand(regression, folder)
    used = ["a", "b", "city", "day"]
    columns = {role: read_columns(whole[used][index]) for role, index in rows.items()}
    encoding = encoding_of(columns[FITTED], "standard")
    Z = {role: encoding({column.name: column for column in found}) for role, found in columns.items()}
    y = whole["y"].to_numpy()
    center, spread = y[rows[FITTED]].mean(), y[rows[FITTED]].std()
    member = regression.model.members_[0]
    ridge = mercer.KernelRidgeCV(
        mercer.Gaussian(1.5), param_grid={}, fit_intercept=True, solver="nystroem", alphas=None
    ).fit(Z[FITTED], (y[rows[FITTED]] - center) / spread)  # fmt: skip
    assert member.model.alpha == pytest.approx(ridge.best_alpha_, rel=1e-9)
    expected = center + spread * ridge.predict(Z[HELD_OUT])
    np.testing.assert_allclose(regression.predictions, expected, atol=1e-6 * spread)
    assert regression.model.result_.error == pytest.approx(spread * (-ridge.best_score_) ** 0.5, rel=1e-6)
    np.testing.assert_array_equal(regression.y_test, y[rows[HELD_OUT]])
    assert regression.n_fitted == len(rows[FITTED]) and regression.n_in_model == N
    again = mercer.KernelRidge(mercer.Gaussian(1.5), alpha=ridge.best_alpha_, fit_intercept=True)
    everything = encoding({column.name: column for column in read_columns(whole[used])})
    again.fit(everything, (y - center) / spread)
    np.testing.assert_allclose(
        regression.final.predict(whole[list(regression.question.names)]), center + spread * again.predict(everything),
        atol=1e-5 * spread,
    )  # fmt: skip


def test_columns_are_what_a_whole_table_says(regression: Training) -> None:
    kinds = {column.name: (column.kind, column.note) for column in regression.model.result_.columns}
    assert kinds == {
        "a": ("number", ""), "b": ("number", ""), "city": ("category", ""), "day": ("date", ""),
        "one": ("number", "constant"), "place": ("number", "identifier"),
    }  # fmt: skip


def test_the_constant_is_that_of_all_fitted_rows(regression: Training, classes: Training, folder: Path) -> None:
    whole, rows = split_by_hand(regression, folder)
    assert regression.rivals[0].predictions == pytest.approx(whole["y"].to_numpy()[rows[FITTED]].mean())
    whole, rows = split_by_hand(classes, folder)
    labels = whole["label"].to_numpy()[rows[FITTED]]
    assert classes.rivals[0].predictions[0].tolist() == pytest.approx([np.mean(labels == c) for c in ("high", "low")])
    assert [rival.key for rival in classes.rivals] == ["baseline", "linear", "boosting"]


def test_landmarks_are_rows_of_the_file(regression: Training, folder: Path) -> None:
    whole = in_one_place(folder)
    final = regression.final.renumbered(regression.question.X.numbers)
    inputs = final.new_inputs(whole[list(regression.question.names)])["standard"].data
    own = final.members_[0].model
    np.testing.assert_allclose(own.X, inputs[own.rows], atol=1e-12)
    judged = regression.model.members_[0].model
    numbers = regression.numbers[judged.rows]
    np.testing.assert_allclose(judged.X, inputs[numbers], atol=1e-12)
    np.testing.assert_array_equal(regression.y_train[judged.rows], whole["y"].to_numpy()[numbers])


def test_all_candidates_are_tried_and_classes_learned(classes: Training) -> None:
    result = classes.model.result_
    assert {attempt.label for attempt in result.attempts} == {"linear", "Gaussian", "Laplacian", "Matern 3/2"}
    assert [attempt.error for attempt in result.attempts] == sorted(attempt.error for attempt in result.attempts)
    assert result.measure == "Brier score" and result.error < 0.6 * result.baseline
    assert classes.scores[0].value > 0.85  # accuracy
    assert classes.probabilities is not None
    np.testing.assert_allclose(classes.probabilities.sum(axis=1), 1.0)


# -- what is said ----------------------------------------------------------------------------------------------------------


def test_the_report_says_what_it_is_limited_to(regression: Training, classes: Training) -> None:
    page = training_report(regression)
    for words in ("candidates are limited to ridges whose sums go over chunks", "KernelRidgeClassifier", "6 chunks",
                  "a hash of its number and the seed", f"leave-one-out of {regression.n_fitted} rows",
                  f"on {N} rows", "gradient boosting"):  # fmt: skip
        assert words in page, words
    assert regression.elsewhere is not None
    # the look at the table, a head, two takes; then five, five and two passes of the ridges
    assert f"{regression.elsewhere.passes} passes over them" in page
    page = training_report(classes)
    assert "Brier score" in page and "calibrate the probabilities" in page
    assert ">place<" in page  # the id heads the table of rows


def test_programs_learn_of_the_cluster(regression: Training) -> None:
    metrics = regression.metrics()
    assert metrics["rows"] == {"fitted": regression.n_fitted, "held_out": len(regression.y_test), "in_model": N}
    assert metrics["cluster"]["chunks"] == 6 and metrics["cluster"]["rows"] == N
    assert metrics["cluster"]["bytes"] > 10_000


def test_rows_that_teach_nothing_are_counted(tmp_path: Path) -> None:
    y = np.random.default_rng(0).normal(size=N).astype(object)
    a = np.random.default_rng(1).normal(size=N).astype(object)
    y[[4, 200]], a[[7, 8, 200]] = "", "NA"
    data = written(tmp_path / "t", y=y, a=a)
    wish = FileQuestion(str(data), "y", ["label", "city,day"], drop_missing=True)
    found = train_on_chunks(wish, QUICK, rows=STEP)
    assert found.question.notes == (
        "2 of 330 rows have no 'y' and were left out",
        "2 rows with missing cells were left out by --drop-missing",
        "left out by --drop: 'label', 'city', 'day'",
    )
    assert found.n_in_model == N - 4
    assert not {4, 7, 8, 200} & set(found.question.X.numbers.tolist())


# -- what is refused -------------------------------------------------------------------------------------------------------


def fails(data: Any, target: str = "y", settings: FitSettings = QUICK, **wish: Any) -> str:
    with pytest.raises(InputError) as error:
        train_on_chunks(FileQuestion(str(data), target, **wish), settings, rows=STEP)
    return str(error.value)


def test_cells_without_a_rule_are_refused_by_name(tmp_path: Path) -> None:
    a = np.arange(N).astype(object)
    a[[40, 300]] = ""
    said = fails(written(tmp_path / "holes", a=a))
    assert "'a' has 2 missing cells" in said and "--drop-missing" in said
    a[[40, 300]] = "many"
    said = fails(written(tmp_path / "mixed", a=a))
    assert "'a' holds text in some parts and numbers in others" in said and "--drop 'a'" in said
    import mercer.estimators.tables.chunk_facts as columns

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "MOST_LEVELS", 50)
        said = fails(written(tmp_path / "words", a=[f"w{i}" for i in range(N)]))
    assert "'a' holds more than" in said and "--drop 'a'" in said
    a = np.arange(N) / 7.0
    a[5] = np.inf
    said = fails(written(tmp_path / "inf", a=a))
    assert "part0.csv, rows 0 … 69: column 'a' has an infinite value" in said
    assert "decimal commas" in fails(written(tmp_path / "commas", a=['"1,5"'] * N))


def test_targets_that_cannot_be_learned_are_refused(folder: Path, tmp_path: Path) -> None:
    assert "holds dates" in fails(folder, "day")
    assert "same value in every row" in fails(folder, "one")
    assert "there is no column 'z'" in fails(folder, "z")
    assert "both the target and dropped" in fails(folder, drop=["y"])
    assert "cannot be a regression" in fails(folder, "label", task="regression")
    assert "too many for classes" in fails(folder, task="classification")
    draw = draw_for(N, 9, 0.2, QUICK.seed)
    labels = np.where(np.arange(N) % 2 == 0, "even", "odd").astype(object)
    labels[np.flatnonzero(draw.roles(0, N) == HELD_OUT)[0]] = "rare"
    said = fails(written(tmp_path / "rare", label=labels), "label")
    assert "the class 'rare' of 'label' has 1 of 330 rows, and all of them are held out" in said and "--seed" in said


def test_kernels_on_columns_and_standard_input_are_refused(folder: Path) -> None:
    assert "names columns" in fails(folder, settings=FitSettings(kernel="Gaussian(1.0).on('a')"), drop=["label"])
    assert "standard input" in fails("-")
    assert "no such file" in fails("nowhere")
    (folder / "few").mkdir()
    (folder / "few" / "d.csv").write_text("a,y\n" + "1,2\n" * 20)
    assert "20 rows are too few for a cluster" in fails(folder / "few" / "d.csv")


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_binary_files_give_what_text_gives(regression: Training, folder: Path, tmp_path: Path, kind: str) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    whole = in_one_place(folder)
    data = pa.table({name: pa.array(whole[name].to_numpy().tolist()) for name in whole.columns})
    if kind == "parquet":
        pq.write_table(data, tmp_path / "d.parquet")
    else:
        with pa.OSFile(str(tmp_path / "d.arrow"), "wb") as file, pa.ipc.new_file(file, data.schema) as writer:
            writer.write_table(data, max_chunksize=64)
    found = train_on_chunks(FileQuestion(str(tmp_path / f"d.{kind}"), "y", ["label"]), QUICK, rows=STEP)
    np.testing.assert_allclose(found.predictions, regression.predictions, atol=1e-8)
