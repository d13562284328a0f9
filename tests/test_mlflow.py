"""The MLflow flavor with mlflow-skinny: folders, runs, python_function and messages."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import mercer
import mercer.mlflow as flavor
from mercer.errors import InputError

X = np.random.default_rng(0).normal(size=(30, 2))
RIDGE = mercer.KernelRidge(mercer.Gaussian(1.0), alpha=0.1).fit(X, X[:, 0])


def test_importing_mercer_does_not_import_mlflow_and_its_absence_is_named():
    code = (
        "import sys, numpy as np, mercer, mercer.mlflow; assert 'mlflow' not in sys.modules\n"
        "sys.modules['mlflow'] = None\n"
        "try:\n    mercer.mlflow.load_model('x')\nexcept mercer.errors.MissingExtraError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install mlflow-skinny" in done.stdout


@pytest.mark.slow
def test_a_folder_a_run_and_a_python_function(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # mlflow-skinny has no database
    mlflow = pytest.importorskip("mlflow")
    flavor.save_model(RIDGE, tmp_path / "m")
    np.testing.assert_array_equal(flavor.load_model(tmp_path / "m").predict(X), RIDGE.predict(X))
    function = mlflow.pyfunc.load_model(str(tmp_path / "m"))
    np.testing.assert_array_equal(function.predict(X), RIDGE.predict(X))
    assert (tmp_path / "m" / "requirements.txt").read_text() == f"mercer=={mercer.__version__}\n"
    with pytest.raises(InputError, match="must be new or empty"):
        flavor.save_model(RIDGE, tmp_path / "m")
    with pytest.raises(NotFittedError):
        flavor.save_model(mercer.KernelRidge(), tmp_path / "other")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    mlflow.create_experiment("e", artifact_location=(tmp_path / "artifacts").as_uri())
    mlflow.set_experiment("e")
    with mlflow.start_run():
        logged = flavor.log_model(RIDGE)
    np.testing.assert_array_equal(flavor.load_model(logged.model_uri).predict(X), RIDGE.predict(X))


def test_other_methods_of_a_python_function(tmp_path):
    mercer.save(RIDGE, tmp_path / "m")
    function = flavor._load_pyfunc(str(tmp_path / "m"))
    found = function.predict(X[:3], {"method": "predict_interval", "coverage": 0.8})
    np.testing.assert_array_equal(found, RIDGE.predict_interval(X[:3], 0.8))
    with pytest.raises(InputError, match="must be a method of the model that predicts"):
        function.predict(X, {"method": "__init__"})
