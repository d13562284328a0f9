"""Forged model files are refused, or answer with numbers or an error of mercer's."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from copy import copy
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import skops.io
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from tests.persist.forge import MODELS, TABLES, answer

import mercer
from mercer.errors import InputError, MissingPartError, NumericalError
from mercer.estimators.pca.preimages import by_neighbors
from mercer.estimators.svm.margin_bounds import MarginLedger
from mercer.estimators.tables.search import ColumnNote
from mercer.grams.fourier_grid import FourierGrid, GridFactor
from mercer.persist.files import from_bytes, to_bytes
from mercer.persist.packing import unpack
from mercer.persist.stored import check_part, check_stored
from mercer.planning import Route
from mercer.registry import find_estimator, public_names

ROOT = Path(__file__).parents[2]
X = np.random.default_rng(0).normal(size=(30, 3))
Y = np.digitize(X[:, 0], [-0.5, 0.5])


def forge(files: int, seed: int, *more: str, cache: Path | None) -> dict[str, Any]:
    """What a process of its own found; with a folder for loops that are compiled with bounds checks, with these."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    if cache is not None:
        environment |= {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-m", "tests.persist.forge", str(files), str(seed), *more]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"the process died with {done.returncode}: {done.stderr[-2000:]}"
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_few_forged_files_of_every_model() -> None:
    found = forge(100, 0, cache=None)
    assert found["failures"] == []
    assert found["refused"] > 25 and found["answered"] > 10


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where loops with bounds checks are kept."""
    return tmp_path_factory.mktemp("checked")


@pytest.mark.slow
@pytest.mark.parametrize("bounds", [True, False])
@pytest.mark.parametrize("part", range(5))
def test_thirty_thousand_forged_files(part: int, bounds: bool, checked: Path) -> None:
    found = forge(3000, 7000 + 100 * part + bounds, "tables", cache=checked if bounds else None)
    print(found)
    assert found["failures"] == []


def test_every_estimator_is_forged() -> None:
    """The list of forged models is kept up with the estimators."""
    forged = {type(model).__name__ for model, *_ in (MODELS | TABLES).values()}
    ours = {name for name in public_names() if find_estimator(name) is not None}
    assert ours <= forged, ours - forged


@pytest.mark.parametrize("name", sorted(set(MODELS) - {"pipeline"}))
@pytest.mark.filterwarnings("ignore")
def test_every_stored_attribute_has_a_rule(name: str) -> None:
    given, rows, target, new = MODELS[name]
    model = clone(given)
    model.fit(rows) if target is None else model.fit(rows, target)
    if name.endswith("asked"):
        answer(model, new, rows, target)
    stated = set().union(*(vars(kind).get("_stored", {}) for kind in type(model).__mro__))
    held = set(model.__getstate__()) - set(model.get_params(deep=False)) - {"_sklearn_version"}
    assert held <= stated, held - stated


def test_a_machine_keeps_what_its_probabilities_are_made_of() -> None:
    model = mercer.SVC(mercer.Gaussian(1.0), random_state=0).fit(X, Y)
    with pytest.raises(InputError, match=r"SVC\._later is empty"):
        from_bytes(changed(model, "_later", {}))
    model = mercer.SVC(mercer.Gaussian(1.0), random_state=0).fit(X, Y)
    model.predict_proba(X)
    with pytest.raises(InputError, match=r"SVC\._later\.slopes must be"):
        from_bytes(changed(model, "_later", {"slopes": np.zeros(6)}))


def test_infinite_rows_are_refused_as_input() -> None:
    """A forged scaler makes rows infinite: the words are scikit-learn's, the error is mercer's."""
    model = mercer.SVC(mercer.Gaussian(1.0)).fit(X, Y)
    for rows in ([[np.inf, 0.0, 0.0]], [[np.nan, 0.0, 0.0]], [[0.0, 0.0]], X[0]):
        with pytest.raises(InputError):
            model.predict(rows)


def changed(model: Any, name: str, value: Any) -> bytes:
    """The file of a model with one attribute replaced, as an honest save would write it."""
    vars(model)[name] = value
    return to_bytes(model)


def test_a_voted_perceptron_does_not_read_out_of_bounds() -> None:
    model = mercer.KernelPerceptron(mercer.Gaussian(1.0), average="voted", max_iter=3, random_state=0).fit(X, Y)
    content = changed(model, "_carriers", np.arange(10_000_000, 10_000_000 + len(model._carriers)))
    with pytest.raises(InputError, match=r"KernelPerceptron\._carriers must be int \(s,\) < n"):
        from_bytes(content)
    model = mercer.KernelPerceptron(mercer.Gaussian(1.0), average="voted", max_iter=3, random_state=0).fit(X, Y)
    with pytest.raises(InputError, match="_rows"):
        from_bytes(changed(model, "_rows", X[:1]))


def test_sums_that_overflow_are_refused_by_a_stream() -> None:
    model = mercer.NearestMean(mercer.Gaussian(1.0)).fit(X, Y)
    sums = model._means.sums.copy()
    sums[0] = 1e308
    again, _ = from_bytes(changed(model, "_means", replace(model._means, sums=sums)))
    with pytest.raises(NumericalError, match="NearestMean: the scores of the class means overflow"):
        again.partial_fit(X, Y)
    negative = replace(model._means, memberships=-model._means.memberships)  # their sums are divided by
    with pytest.raises(InputError, match=r"ClassMeans\.memberships must be float \(n, C\) >= 0"):
        from_bytes(changed(model, "_means", negative))


def test_a_stream_with_a_class_that_has_no_rows_yet_is_loaded() -> None:
    model = mercer.NearestMean(mercer.Gaussian(1.0)).partial_fit(X, Y, classes=[0, 1, 2, 3])
    again, _ = from_bytes(to_bytes(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.partial_fit(X, Y + 1).predict(X), model.partial_fit(X, Y + 1).predict(X))


@pytest.mark.parametrize("name", [[], 3, None])
def test_a_column_of_a_table_is_named_by_a_text(name: Any) -> None:
    """A field that no rule names is what its annotation says."""
    for record in (ColumnNote("a", "number", 0, ""), Route("exact", 1, 1.0, "")):
        field = "name" if isinstance(record, ColumnNote) else "solver"
        with pytest.raises(InputError, match=rf"{type(record).__name__}\.{field} must be text"):
            check_stored(replace(record, **{field: name}))
    with pytest.raises(InputError, match=r"MarginLedger\.margin must be real"):
        check_stored(MarginLedger(1, *[1] * 3, "x", *[1.0] * 9))  # type: ignore[call-arg]


def test_near_rows_of_a_process_are_rows_of_it() -> None:
    """The tree gives a place beyond the rows where a distance is infinite."""
    model = mercer.GaussianProcessRegressor(solver="vecchia", random_state=0).fit(X, X[:, 0])
    with pytest.raises(InputError, match="overflow when squared"):
        model.predict(1e200 * X[:3])
    far = replace(model._posterior, X=1e300 * X)
    again, _ = from_bytes(changed(model, "_posterior", far))
    with pytest.raises(InputError, match="overflow when squared"):
        again.predict(X[:3])


def test_a_process_that_does_not_see_a_column_is_loaded() -> None:
    kernel = mercer.Gaussian((1.0, 1e9, 1.0))
    model = mercer.GaussianProcessRegressor(kernel, noise=0.1, optimizer=None, solver="vecchia").fit(X, X[:, 0])
    assert np.isinf(model._posterior.steps[1])
    again, _ = from_bytes(to_bytes(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_weights_of_a_machine_are_those_of_its_pairs() -> None:
    model = mercer.SVC(mercer.Linear(), random_state=0).fit(X, Y)
    assert model._weights.shape == (3, 3)
    with pytest.raises(InputError, match=r"SVC\._weights must be None \| float \(_, pairs\(C\)\)"):
        from_bytes(changed(model, "_weights", model._weights[:, :2]))
    svr = mercer.SVR(mercer.Linear()).fit(X, X[:, 0])
    with pytest.raises(InputError, match=r"SVR\._weights"):
        from_bytes(changed(svr, "_weights", np.tile(svr._weights, 2)))


@pytest.mark.parametrize("alpha", [-1.0, -1e-9])
def test_a_ridge_has_no_negative_penalty(alpha: float) -> None:
    model = mercer.KernelRidge(mercer.Gaussian(1.0), solver="fourier").fit(X, X[:, 0])
    with pytest.raises(InputError, match=r"Problem\.alpha must be float \(\) >= 0"):
        from_bytes(changed(model, "_problem", replace(model._problem, alpha=np.asarray(alpha))))


def test_parts_that_are_read_by_their_shape_have_one() -> None:
    ridge = mercer.KernelRidge(mercer.Gaussian(1.0), solver="eigh").fit(X, X[:, 0])
    with pytest.raises(InputError, match=r"Problem\.alpha is not an array"):
        from_bytes(changed(ridge, "_problem", replace(ridge._problem, alpha=0)))
    machine = mercer.SVR(mercer.Gaussian(1.0)).fit(X, X[:, 0])
    with pytest.raises(InputError, match=r"SVR\.shape_fit_ must be"):
        from_bytes(changed(machine, "shape_fit_", ()))


def test_a_grid_without_a_penalty_is_refused_when_asked() -> None:
    model = mercer.KernelRidge(mercer.Gaussian(1.0), solver="fourier").fit(X, X[:, 0])
    again, _ = from_bytes(changed(model, "_problem", replace(model._problem, alpha=np.asarray(0.0))))
    with pytest.raises(InputError, match="alpha > 0"):
        again.predict_interval(X)


def test_a_transform_of_infinite_angles_is_refused() -> None:
    """The library of the transform would read memory that is not its own, and the process die."""
    model = mercer.KernelRidge(mercer.Gaussian(1.0), solver="fourier").fit(X, X[:, 0])
    grid = model._problem.features
    wide = replace(grid, spacing=np.full(3, 1e308))
    again, _ = from_bytes(changed(model, "_problem", replace(model._problem, features=wide)))
    with pytest.raises(InputError, match="overflow in units of the grid"):
        again.predict(X)
    for change in ({"spacing": -grid.spacing}, {"spacing": 0.0 * grid.spacing}):
        with pytest.raises(InputError, match=r"FourierGrid\.spacing must be"):
            from_bytes(changed(model, "_problem", replace(model._problem, features=replace(grid, **change))))


def test_a_grid_has_the_columns_of_its_rows() -> None:
    model = mercer.KernelRidge(mercer.Gaussian(1.0), solver="fourier").fit(X, X[:, 0])
    grid = model._problem.features
    flat = FourierGrid(grid.center[:1], grid.spacing[:1], np.array([(len(grid.weights) - 1) // 2]), grid.weights, 0.0)
    with pytest.raises(InputError, match=r"KernelRidge\._problem\.features\.center must be"):
        from_bytes(changed(model, "_problem", replace(model._problem, features=flat)))


def test_a_system_that_cannot_be_factored_is_told_by_name() -> None:
    model = mercer.GaussianProcessRegressor(solver="fourier", random_state=0).fit(X[:, :1], X[:, 0])
    lost = replace(model._posterior, variances=np.array([-1.0]))
    with pytest.raises(InputError, match="variances"):
        from_bytes(changed(model, "_posterior", lost))
    system = copy(model._posterior.system)
    system.generator = -system.generator  # as of rows with negative weights
    with pytest.raises(NumericalError, match="not positive definite"):
        GridFactor.of(system, 1e-3)


def test_landmarks_that_cannot_be_factored_give_an_error_of_ours() -> None:
    model = mercer.KernelRidge(mercer.Gaussian(1.0), solver="nystroem-cg", n_components=6).fit(X, X[:, 0])
    features = model._problem.features
    problem = replace(model._problem, features=replace(features, triangle=np.full((6, 6), 1e30)))
    again, _ = from_bytes(changed(model, "_problem", problem))
    with pytest.raises(NumericalError, match="a system of 6 unknowns is not positive definite in floats"):
        again.loo_residuals_.sum()


def test_weights_beyond_the_digits_of_a_machine_on_landmarks_give_an_error_of_ours() -> None:
    model = mercer.SVC(mercer.Gaussian(1.0), solver="nystroem", n_components=6, random_state=0).fit(X, Y)
    training = replace(model._later["training"], weights=np.full(30, 1e30))
    again, _ = from_bytes(changed(model, "_later", {"training": training}))
    with pytest.raises(NumericalError, match="not positive definite in floats"):
        again.predict_proba(X)


def test_landmarks_whose_squares_overflow_give_an_error_of_ours() -> None:
    model = mercer.KernelRidgeClassifier(mercer.Gaussian(1.0), solver="nystroem", n_components=6).fit(X, Y > 0)
    features = model._problem.features
    triangle = features.triangle + 1e200 * np.eye(len(features.triangle))
    problem = replace(model._problem, features=replace(features, triangle=triangle))
    again, _ = from_bytes(changed(model, "_problem", problem))
    assert again.leverage_.shape == (30,)


@pytest.mark.filterwarnings("ignore:overflow")
def test_nothing_is_drawn_from_a_covariance_that_is_not_finite() -> None:
    model = mercer.GaussianProcessRegressor(random_state=0).fit(X, X[:, 0])
    again, _ = from_bytes(changed(model, "_units", replace(model._units, scale=np.array([1e200]))))
    with pytest.raises(NumericalError, match="GaussianProcessRegressor: the covariance of these rows is not finite"):
        again.sample_y(X[:3])


def test_neighbors_of_a_pre_image_that_cannot_be_told_apart_are_refused_by_name() -> None:
    """Forged coefficients make inner products so large that the kernel values beside them are lost."""
    targets = SimpleNamespace(inner=lambda: np.full((1, 30), 1e200), squared_norms=np.zeros(1))
    with pytest.raises(NumericalError, match="pre-images from 5 neighbors"):
        by_neighbors(mercer.Gaussian(1.0), X, X, cast(Any, targets), np.ones(30), 5)


def test_a_member_may_be_named_once_only() -> None:
    content = to_bytes(mercer.KernelRidge().fit(X, X[:, 0]))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {item.filename: archive.read(item) for item in archive.infolist()}
    schema = json.loads(members["schema.json"])
    arrays = schema["content"]["arrays"]["content"]
    arrays += [arrays[0]] * 400
    members["schema.json"] = json.dumps(schema).encode()
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    with pytest.raises(InputError, match="holds more than"):
        from_bytes(stream.getvalue())


@pytest.mark.parametrize("version", [0, -1, True, 1.0, "1", None])
def test_a_format_that_never_was_is_refused(version: Any) -> None:
    text = json.dumps({"model": {}, "notes": {}, "lists": []})
    document = {"format": "mercer model", "version": version, "mercer": "0", "text": text, "arrays": []}
    with pytest.raises(InputError):
        from_bytes(skops.io.dumps(document))


def test_a_pipeline_with_a_folder_of_pickles_is_neither_written_nor_read(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Pipeline([("scale", StandardScaler()), ("ridge", mercer.KernelRidge())], memory="cache")
    with pytest.raises(InputError, match="memory="):
        to_bytes(model)
    monkeypatch.setattr("mercer.persist.packing._check_pipeline", lambda _: None)
    content = to_bytes(model)
    monkeypatch.undo()
    with pytest.raises(InputError, match="memory="):
        from_bytes(content)


def test_the_rules_say_what_they_mean() -> None:
    sizes: dict[str, Any] = {}
    check_part(np.zeros((3, 2)), "float (n, *t)", sizes, "a")
    assert sizes == {"n": 3, "t": (2,)}
    check_part(np.array([0, 2]), "int (_,) < n", sizes, "a")
    check_part(np.zeros(4), "None | float (n+1,)", sizes, "a")
    check_part([np.zeros(1), np.zeros(5)], "each 2: float (_,)", sizes, "a")
    for value, rule in [
        (np.array([0, 3]), "int (_,) < n"),
        (np.array([-1]), "int (_,) < n"),
        (np.array([np.nan]), "float (_,)"),
        (np.zeros(2, ">f8"), "float (_,)"),
        (np.zeros(2, "f2"), "real (_,)"),
        (np.zeros(3), "float (n, *t)"),
        (True, "float"),
        (np.datetime64(3, "s"), "float (*t)"),
        (np.complex128(3.0), "float (*t)"),
        (10**400, "real"),
        (2**63, "int"),
        (10**400, "size d"),
        ("fast", "word standard quantile"),
        ("1", "real | None"),
        (None, "text"),
        (5, "rows n"),
    ]:
        with pytest.raises(InputError, match="must be"):
            check_part(value, rule, dict(sizes), "a")


def test_lists_that_refer_to_each_other_do_not_blow_up() -> None:
    """Each list names the one before twice: 100 short lists would hold 2^100 values."""
    lists: list[Any] = [[1.0, 2.0]]
    for place in range(100):
        lists.append([{"is": "list", "at": place}] * 2)
    with pytest.raises(InputError, match="refers to the same lists so often"):
        unpack({"is": "list", "at": 100}, lists, [])
    shared = unpack({"is": "tuple", "items": [{"is": "list", "at": 0}] * 3}, [["a"] * 1000], [])
    assert shared[0] is shared[2] and len(shared[1]) == 1000


@pytest.mark.parametrize(
    ("model", "name", "value", "message"),
    [
        (mercer.KernelRidge(), "fit_intercept", "x", "KernelRidge: fit_intercept must be True or False"),
        (mercer.KernelRidge(), "loss", "none", "loss must be"),
        (mercer.KernelRidge(), "alpha", -1.0, "alpha must be"),
        (mercer.KernelRidge(), "alpha", 10**400, "alpha must be"),
        (mercer.SVR(), "epsilon", -1.0, "epsilon must be"),
        (mercer.KernelRidgeCV(), "kernel", "Gaussian(-1.0)", "length_scale must be"),
        (mercer.NoveltyDetector(), "random_state", -1, "random_state must be None, a whole number >= 0"),
        (mercer.KernelKMeans(n_clusters=2), "n_clusters", 0, "n_clusters must be"),
    ],
)
def test_parameters_are_checked_at_loading_as_at_fitting(model: Any, name: str, value: Any, message: str) -> None:
    model.fit(X, X[:, 0])
    wrong = clone(model).set_params(**{name: value})
    for found in (model.set_params(**{name: value}), wrong):
        with pytest.raises(InputError, match=message):
            from_bytes(to_bytes(found))
    with pytest.raises(InputError, match=message):
        wrong.fit(X, X[:, 0])


def test_parameters_of_a_table_model_are_checked_at_loading() -> None:
    regressor: Any = mercer.TableRegressor(random_state=0, time=1e-6).fit(X, X[:, 0])
    classifier: Any = mercer.TableClassifier(random_state=0, time=1e-6).fit(X, Y)
    for model, name, value in [
        (regressor, "kernel", 5),
        (regressor, "time", -1.0),
        (regressor, "scoring", "x"),
        (regressor, "random_state", "x"),
        (classifier, "scoring", "x"),
        (classifier, "class_weight", {0: -1.0}),
    ]:
        wrong = copy(model).set_params(**{name: value})
        with pytest.raises(InputError, match=name.split("_")[0]):
            from_bytes(to_bytes(wrong))
        assert from_bytes(to_bytes(model))


def test_an_estimator_around_another_checks_it_at_loading() -> None:
    ridge = mercer.KernelRidge(mercer.Gaussian(1.0)).fit(X, X[:, 0])
    model = mercer.ConformalRegressor(ridge).fit(X, X[:, 0])
    with pytest.raises(InputError, match="estimator must have predict"):
        from_bytes(to_bytes(model.set_params(estimator=float("nan"))))
    for name, value in [("penalty", 10**400), ("penalty", "x"), ("shift", 5)]:
        with pytest.raises(InputError, match=r"(ConformalRegressor: penalty|kernel) must be"):
            from_bytes(to_bytes(mercer.ConformalRegressor(ridge, **{name: value})))
    with pytest.raises(InputError, match="calibrates a fitted estimator"):
        from_bytes(to_bytes(model.set_params(estimator=mercer.KernelRidge())))


def test_what_a_fit_stores_and_a_file_lacks_is_named() -> None:
    model = mercer.KernelRidgeCV().fit(X, X[:, 0])
    del model.surface_
    again, _ = from_bytes(to_bytes(model))
    with pytest.raises(MissingPartError, match="KernelRidgeCV: this model does not hold surface_"):
        again.predict_interval(X)
    assert not hasattr(again, "surface_") and not hasattr(mercer.KernelRidgeCV(), "surface_")


def test_values_of_a_correlation_analysis_belong_together() -> None:
    model = mercer.KernelCCA(mercer.Gaussian(1.0), 2, alpha=0.1).fit([X, X[:, :2]])
    with pytest.raises(InputError, match="do not belong together"):
        from_bytes(changed(model, "correlations_", np.zeros(0)))


def test_rows_that_overflow_in_units_of_their_steps_are_refused() -> None:
    model = mercer.GaussianProcessRegressor(solver="vecchia", random_state=0).fit(X, X[:, 0])
    again, _ = from_bytes(changed(model, "_posterior", replace(model._posterior, steps=np.full(3, 1e-320))))
    with pytest.raises(InputError, match="overflow in units of the length scales"):
        again.predict(X[:3])
