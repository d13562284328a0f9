"""Model files: what goes in comes out, what is not ours is refused, and nothing is ever run."""

from __future__ import annotations

import io
import json
import os
import pickle
import sys
import zipfile
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pandas
import polars
import pytest
import scipy.sparse as sp
import skops.io
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer.errors import InputError
from mercer.kernels.functions import _registered
from mercer.persist import load, load_with_notes, save, write_whole
from mercer.persist.files import from_bytes, to_bytes, written

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=40)
LABELS = np.where(y > 0, "up", "down")
NEW = rng.normal(size=(7, 3))
WORDS = ["".join(rng.choice(list("abc"), 12)) for _ in range(40)]
GRAPHS = [mercer.Graph(4, [(0, 1), (1, 2), (2, 3)][: i % 4], node_labels=["C", "O", ("N", 1), i % 3]) for i in range(40)]
NETWORKS = [networkx.path_graph(2 + i % 3) for i in range(40)]
for number, network in enumerate(NETWORKS):
    networkx.set_node_attributes(network, "CO"[number % 2], "label")
FRAME = pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "word": WORDS})
WORDS_FRAME = polars.DataFrame({"w": WORDS})
G = mercer.Gaussian(length_scale=1.5)

MODELS: dict[str, tuple[Any, Any, Any, Any]] = {
    "ridge": (mercer.KernelRidge(alpha=0.1), X, y, NEW),
    "ridge by text": (mercer.KernelRidge("Gaussian(2.0) + Linear()", alpha=0.1, fit_intercept=True), X, y, NEW),
    "primal": (mercer.KernelRidge(mercer.Polynomial(degree=2), alpha=0.1), X, y, NEW),
    "float32": (mercer.KernelRidge(G, alpha=0.1), X.astype(np.float32), y, NEW.astype(np.float32)),
    "robust": (mercer.KernelRidge(G, alpha=0.1, loss="huber"), X, y, NEW),
    "several targets": (mercer.KernelRidge(G, alpha=[0.1, 1.0]), X, np.column_stack([y, -y]), NEW),
    "sparse": (mercer.KernelRidge(mercer.Linear()), sp.csr_array(X), y, sp.csr_array(NEW)),
    "surface": (mercer.KernelRidgeCV(), X, y, NEW),
    "folds": (mercer.KernelRidgeCV(cv=KFold(4, shuffle=True, random_state=1)), X, y, NEW),
    "grid": (mercer.KernelRidgeCV(G + mercer.Linear(), param_grid={"0__length_scale": [1.0, 2.0]}), X, y, NEW),
    "classes": (mercer.KernelRidgeClassifier(alpha=0.1), X, LABELS, NEW),
    "tuned classes": (mercer.KernelRidgeClassifier(alpha="loo"), X, LABELS.astype(object), NEW),
    "strings": (mercer.KernelRidgeCV(mercer.Spectrum(p=2).normalized(), param_grid={"0__p": [1, 2]}), WORDS, y, WORDS[:5]),
    "string classes": (mercer.KernelRidgeClassifier(mercer.Spectrum(p=2), alpha=0.1), WORDS, LABELS, WORDS[:5]),
    "graphs": (mercer.KernelRidge(mercer.VertexHistogram(), alpha=0.1), GRAPHS, y, GRAPHS[:5]),
    "frame": (mercer.KernelRidgeCV(G.on("a", "b") + mercer.Spectrum(p=2).on("word")), FRAME, y, FRAME[:5]),
    "polars": (mercer.KernelRidge(G.on("a")), polars.DataFrame({"a": X[:, 0]}), y, polars.DataFrame({"a": NEW[:, 0]})),
    "polars strings": (mercer.KernelRidge(mercer.Spectrum(p=2).on("w")), WORDS_FRAME, y, WORDS_FRAME[:5]),
    "column": (mercer.KernelRidge(mercer.Spectrum(p=2)), FRAME["word"], y, FRAME["word"][:5]),
    "networkx": (mercer.KernelRidge(mercer.VertexHistogram(), alpha=0.1), NETWORKS, y, NETWORKS[:5]),
    "centered": (mercer.KernelRidge(2.0 * G.centered(X) * G + mercer.Bilinear(np.eye(3)), alpha=0.1), X, y, NEW),
    "centered strings": (mercer.KernelRidge(mercer.Spectrum(p=2).centered(WORDS[:9])), WORDS, y, WORDS[:5]),
    "pipeline": (Pipeline([("scale", StandardScaler()), ("ridge", mercer.KernelRidgeCV())]), X, y, NEW),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_comes_back_as_it_was(name: str, tmp_path: Path) -> None:
    model, data, target, new = MODELS[name]
    model.fit(data, target)
    size = save(model, tmp_path / "m.mercer")
    again = load(tmp_path / "m.mercer")
    assert size == (tmp_path / "m.mercer").stat().st_size
    assert os.listdir(tmp_path) == ["m.mercer"]
    assert type(again) is type(model)
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    if hasattr(model, "decision_function") and name != "pipeline":
        np.testing.assert_array_equal(again.decision_function(new), model.decision_function(new))
    if hasattr(model, "predict_interval"):
        np.testing.assert_array_equal(again.predict_interval(new, 0.8), model.predict_interval(new, 0.8))
        np.testing.assert_array_equal(again.loo_residuals_, model.loo_residuals_)
    assert str(again) == str(model) and repr(again) == repr(model)


def test_intervals_of_either_method_and_further_facts_come_back(tmp_path: Path) -> None:
    model = mercer.KernelRidgeCV().fit(X, y)
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    plus = {"method": "jackknife+"}
    np.testing.assert_array_equal(again.predict_interval(NEW, **plus), model.predict_interval(NEW, **plus))
    np.testing.assert_array_equal(again.leverage_, model.leverage_)
    assert again.best_alpha_ == model.best_alpha_ and again.best_params_ == model.best_params_
    assert again.surface_.kernels == model.surface_.kernels
    np.testing.assert_array_equal(again.cv_results_["mean_test_score"], model.cv_results_["mean_test_score"])
    assert again.fit(X, y).best_score_ == model.best_score_  # and it can be fitted again


def test_a_model_that_is_not_fitted_is_saved_too(tmp_path: Path) -> None:
    save(mercer.KernelRidgeCV(alphas=np.array([0.1, 1.0]), length_scales=(1.0, 2.0)), tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.length_scales == (1.0, 2.0) and again.alphas.tolist() == [0.1, 1.0]
    assert not hasattr(again, "kernel_")


def test_data_are_stored_once() -> None:
    """X and the dual coefficients are each held twice by a model, the surface's residuals are not needed."""
    wide = rng.normal(size=(400, 50))
    model = mercer.KernelRidgeCV().fit(wide, wide[:, 0])
    assert len(to_bytes(model)) < 1.3 * wide.nbytes + 100_000
    assert len(to_bytes(mercer.KernelRidge(mercer.Spectrum(p=2)).fit(WORDS * 20, np.tile(y, 20)))) < 120_000


def test_notes_travel_beside_the_model(tmp_path: Path) -> None:
    notes = {"columns": ["a", "größe"], "error": 0.5, "limits": (1.0, float("inf")), "nothing": None}
    save(mercer.KernelRidge().fit(X, y), tmp_path / "m", notes=notes)
    assert load_with_notes(tmp_path / "m")[1] == notes


# -- functions --------------------------------------------------------------------------------------------------------


def test_functions_are_known_by_their_registered_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def halved(data: Any) -> Any:
        return np.asarray(data) / 2

    model = mercer.KernelRidge(G.map(halved)).fit(X, y)
    with pytest.raises(InputError, match=r"halved.*mercer\.register\(name, function\)"):
        save(model, tmp_path / "m")
    assert os.listdir(tmp_path) == []
    monkeypatch.setitem(_registered, "halved", halved)
    save(model, tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict(NEW), model.predict(NEW))
    monkeypatch.delitem(_registered, "halved")
    with pytest.raises(InputError, match=r"halved.*register"):
        load(tmp_path / "m")


@pytest.mark.parametrize("model", [mercer.KernelRidgeCV(scoring=lambda a, b: 0.0), mercer.KernelRidgeCV(cv=iter([]))])
def test_what_cannot_be_saved_is_named(model: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"KernelRidgeCV\.(scoring|cv).*cannot be saved"):
        save(model, tmp_path / "m")
    with pytest.raises(InputError, match="cannot be saved"):
        save(object(), tmp_path / "m")


def test_a_class_derived_from_ours_is_not_ours() -> None:
    class Mine(mercer.KernelRidge):
        pass

    with pytest.raises(InputError, match="cannot be saved"):
        to_bytes(Mine())


# -- files that are not ours ---------------------------------------------------------------------------------------------


class Trap:
    """Creates a file when it is unpickled or built."""

    def __init__(self, path: str = "") -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (Path(self.path),)

    def __setstate__(self, state: Any) -> None:
        Path(state["path"]).touch()


def refused(content: bytes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        from_bytes(content, "file")


def test_a_pickle_is_not_run(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    content = pickle.dumps(Trap(str(marker)))
    refused(content, "not a mercer model file; nothing in it was run")
    pickle.loads(content)  # the trap works
    assert marker.exists()


def _archive(**members: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("_", "."), content)
    return stream.getvalue()


def test_a_pickle_inside_an_archive_is_not_run(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    stream = io.BytesIO()
    np.save(stream, np.array([Trap(str(marker))], dtype=object), allow_pickle=True)
    node = {"__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode", "type": "numpy", "file": "0.npy"}
    good = json.loads(zipfile.ZipFile(io.BytesIO(to_bytes(mercer.KernelRidge()))).read("schema.json"))
    good["content"]["arrays"]["content"] = [node]
    stored = io.BytesIO()
    with zipfile.ZipFile(stored, "w") as archive:
        archive.writestr("0.npy", stream.getvalue())
        archive.writestr("schema.json", json.dumps(good))
    refused(stored.getvalue(), "damaged")
    assert not marker.exists()


def test_a_skops_file_of_other_types_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marker = tmp_path / "marker"
    monkeypatch.setitem(sys.modules, Trap.__module__, sys.modules[__name__])
    content = skops.io.dumps(Trap(str(marker)))
    refused(content, "holds more than the numbers and names of a mercer model")
    assert not marker.exists()
    skops.io.loads(content, trusted=skops.io.get_untrusted_types(data=content))
    assert marker.exists()  # the trap works


@pytest.mark.parametrize("value", [np.sin, StandardScaler(), {"a": np.sin}, [StandardScaler], {1, 2}, (1,), np.float64(1)])
def test_what_skops_trusts_by_itself_is_refused_too(value: Any) -> None:
    refused(skops.io.dumps(value), "holds more than")


def test_plain_data_that_are_no_model_are_refused() -> None:
    refused(skops.io.dumps({"a": 1}), "damaged")
    refused(skops.io.dumps({"format": "other", "version": 1, "text": "", "arrays": []}), "holds more than")
    refused(_archive(a_txt=b"hello"), "holds more than")
    refused(b"", "not a mercer model file")
    refused(b"PK\x03\x04 nothing", "damaged")
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", "{}" + " " * 10_000)
    refused(stream.getvalue(), "holds more than")


def test_a_newer_format_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mercer.persist.files.VERSION", 2)
    content = to_bytes(mercer.KernelRidge())
    monkeypatch.undo()
    refused(content, r"in format 2, and this mercer reads formats up to 1. Install a newer mercer")


@pytest.mark.parametrize(
    "model",
    [
        {"is": "estimator", "class": "Popen", "params": {}, "state": {}},
        {"is": "estimator", "class": "KernelRidge", "params": {}, "state": {"predict": None}},
        {"is": "estimator", "class": "KernelRidge", "params": {}, "state": {"__class__": None}},
        {"is": "estimator", "class": "KernelRidge", "params": {"nonsense": 1}, "state": {}},
        {"is": "record", "class": "Problem", "fields": {}},
        {"is": "kernel", "text": "__import__('os').getcwd()", "parts": []},
        {"is": "kernel", "text": "Linear()", "parts": [["", {"is": "list", "at": 0}]]},
        {"is": "function", "name": "print"},
        {"is": "several"},
        {"is": "_init__"},
        {"is": "list", "at": 0},
        {"is": "array", "at": 5},
        {"is": "csr", "shape": [2, 1], "matrix": False, "data": 0, "indices": 0, "indptr": 0},
        {"is": ["list"]},
        {"nothing": 1},
    ],
)
def test_text_that_is_no_model_is_refused(model: Any) -> None:
    inside = {"is": "estimator", "class": "KernelRidge", "params": {}, "state": {"X_fit_": model}}
    for value in (model, inside):
        _refuse_text(value)


def _refuse_text(model: Any) -> None:
    text = json.dumps({"model": model, "notes": {"is": "dict", "items": []}, "lists": [[{"is": "list", "at": 0}]]})
    document = {"format": "mercer model", "version": 1, "mercer": "0", "text": text, "arrays": [np.arange(3)]}
    refused(skops.io.dumps(document), "file: ")


def test_a_damaged_file_is_refused_wherever_the_damage_is() -> None:
    content = to_bytes(mercer.KernelRidge(alpha=0.1).fit(X, y))
    for length in range(0, len(content), 499):
        with pytest.raises(InputError):
            from_bytes(content[:length], "file")
    loaded = 0
    for place in range(0, len(content), 97):
        flipped = bytearray(content)
        flipped[place] ^= 0x55
        try:
            model, _ = from_bytes(bytes(flipped), "file")
        except InputError:
            continue
        loaded += 1  # a byte that holds nothing: a date, a file's mode
        np.testing.assert_array_equal(model.predict(NEW), mercer.KernelRidge(alpha=0.1).fit(X, y).predict(NEW))
    assert loaded < 0.1 * len(content) / 97


# -- writing ------------------------------------------------------------------------------------------------------------


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m"
    path.write_bytes(b"old")

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, fail)
            with pytest.raises(InputError, match="cannot be written: No space left on device"):
                write_whole(path, b"new")
        assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["m"]
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            write_whole(path, b"new")
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["m"]
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"


def test_places_where_no_file_can_be(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no folder"):
        save(mercer.KernelRidge(), tmp_path / "none" / "m")
    with pytest.raises(InputError, match=r"this is a folder|cannot be written"):
        save(mercer.KernelRidge(), tmp_path)
    with pytest.raises(InputError, match="there is no such file"):
        load(tmp_path / "none")
    with pytest.raises(InputError, match="cannot be read"):
        load(tmp_path)


def test_the_folder_of_a_model_stands_for_its_file(tmp_path: Path) -> None:
    save(mercer.KernelRidge(alpha=0.25), tmp_path / "model.mercer")
    assert load(tmp_path).alpha == load(str(tmp_path)).alpha == 0.25


def test_files_are_written_and_read_without_skops(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("skops", "skops.io"):
        monkeypatch.setitem(sys.modules, name, None)
    model = mercer.KernelRidge(alpha=0.1).fit(X, y)
    save(model, tmp_path / "m", notes={"rows": 40})
    again, notes = load_with_notes(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(NEW), model.predict(NEW))
    assert notes == {"rows": 40}


def test_skops_reads_what_is_written_so_older_versions_of_mercer_do() -> None:
    arrays = [np.arange(6.0).reshape(2, 3), np.asfortranarray(np.ones((2, 3), dtype=np.float32)), np.array(["a", "bc"])]
    document = {"format": "mercer model", "version": 1, "text": 'say "a"', "arrays": arrays}
    content = written(document)
    assert skops.io.get_untrusted_types(data=content) == []
    again = skops.io.loads(content, trusted=[])
    assert [again[key] for key in ("format", "version", "text")] == ["mercer model", 1, 'say "a"']
    for array, other in zip(arrays, again["arrays"], strict=True):
        np.testing.assert_array_equal(array, other)
        assert array.dtype == other.dtype
    assert written(document) == content


@pytest.mark.parametrize(
    "model",
    [
        mercer.NearestMean(mercer.Gaussian(1.0)),
        mercer.NoveltyBall(mercer.Gaussian(1.0), quantile=0.9),
        mercer.KernelPerceptron(mercer.Polynomial(2)),
        mercer.KernelPerceptron(mercer.Gaussian(1.0), max_iter=3),
        mercer.KernelKNeighborsClassifier(mercer.Gaussian(1.0), n_neighbors=3),
        mercer.KernelKNeighborsRegressor(mercer.Linear(), n_neighbors=3),
    ],
    ids=repr,
)
def test_the_classic_algorithms_come_back_the_same(model: object, tmp_path: Path, rng: np.random.Generator) -> None:
    X = rng.normal(size=(40, 3))
    y = np.where(X[:, 0] > 0, 2, 1)
    model.fit(X, y)  # type: ignore[attr-defined]
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))  # type: ignore[attr-defined]
    assert str(again) == str(model)
