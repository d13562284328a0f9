"""Forged model files are refused, or answer with numbers or an error of mercer's."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skops.io
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from tests.persist.forge import MODELS, TABLES

import mercer
from mercer.errors import InputError
from mercer.persist.files import from_bytes, to_bytes
from mercer.persist.stored import check_part
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
    found = forge(200, 0, cache=None)
    assert found["failures"] == []
    assert found["refused"] > 50 and found["answered"] > 20


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where loops with bounds checks are kept."""
    return tmp_path_factory.mktemp("checked")


@pytest.mark.slow
@pytest.mark.parametrize("bounds", [True, False])
@pytest.mark.parametrize("part", range(5))
def test_twenty_thousand_forged_files(part: int, bounds: bool, checked: Path) -> None:
    found = forge(2000, 100 * part + bounds, "tables", cache=checked if bounds else None)
    print(found)
    assert found["failures"] == []


def test_every_estimator_is_forged() -> None:
    """The list of forged models is kept up with the estimators."""
    forged = {type(model).__name__ for model, *_ in (MODELS | TABLES).values()}
    ours = {name for name in public_names() if find_estimator(name) is not None}
    assert ours <= forged, ours - forged


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
        ("fast", "word standard quantile"),
        ("1", "real | None"),
        (None, "text"),
        (5, "rows n"),
    ]:
        with pytest.raises(InputError, match="must be"):
            check_part(value, rule, dict(sizes), "a")
