"""MLflow models that hold mercer model files: plain data, read without running code.

`save_model` writes a folder with the flavors `mercer` and `python_function`; `log_model` does so in a run; `load_model`
returns the fitted model. `mlflow.pyfunc.load_model` and `mlflow models serve` work without mercer's names. MLflow is
imported when one of these functions is called: install mlflow or mlflow-skinny.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from operator import methodcaller
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from mercer.errors import InputError, MissingExtraError
from mercer.persist import load, save
from mercer.writing import write_whole

#: Name of the flavor, and of the model file in the folder of an MLflow model.
FLAVOR, FILE = "mercer", "model.mercer"


def save_model(model: Any, path: Any, mlflow_model: Any = None, **more: Any) -> None:
    """Write a fitted model as an MLflow model into the new folder `path`.

    Parameters
    ----------
    mlflow_model : mlflow.models.Model, optional
        The description to extend; `log_model` gives that of the run.
    more : further fields of the description
        Such as `signature` and `input_example` of `mlflow.models.Model`.
    """
    flow = _mlflow()
    check_is_fitted(model)
    folder = Path(path)
    if folder.exists() and any(folder.iterdir()):
        raise InputError(f"{folder}: the folder of an MLflow model must be new or empty; name another one.")
    folder.mkdir(parents=True, exist_ok=True)
    save(model, folder / FILE)
    described = flow.models.Model() if mlflow_model is None else mlflow_model
    for name, value in more.items():
        setattr(described, name, value)
    described.add_flavor(FLAVOR, data=FILE, version=version("mercer"), estimator=type(model).__name__)
    flow.pyfunc.add_to_model(described, loader_module=__name__, data=FILE)
    write_whole(folder / "requirements.txt", f"mercer=={version('mercer')}\n".encode())
    described.save(folder / "MLmodel")


def log_model(model: Any, name: str = "model", **more: Any) -> Any:
    """Log a fitted model in the active run, or in a new one, and return MLflow's `ModelInfo`."""
    flow = _mlflow()
    return flow.models.Model.log(artifact_path=None, name=name, flavor=sys.modules[__name__], model=model, **more)


def load_model(model_uri: str) -> Any:
    """Return the fitted model of an MLflow model: a path, `runs:/…` or `models:/…`."""
    flow = _mlflow()
    folder = Path(flow.artifacts.download_artifacts(artifact_uri=str(model_uri)))
    flavors = flow.models.Model.load(folder).flavors
    if FLAVOR not in flavors:
        raise InputError(f"{model_uri}: an MLflow model without the flavor {FLAVOR!r}; it has {', '.join(flavors)}.")
    return load(folder / flavors[FLAVOR]["data"])


class PythonFunction:
    """What `mlflow.pyfunc.load_model` wraps: predictions of a data frame, or other outputs by `params`."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> Any:
        """Return `predict` of the model; with params={"method": "predict_interval"}, that method and further params."""
        asked = dict(params or {})
        method = asked.pop("method", "predict")
        if not method.startswith(("predict", "decision_function", "transform", "score_samples")):
            raise InputError(
                f"params['method'] must be a method of the model that predicts, such as 'predict_interval'; got {method!r}."
            )
        return methodcaller(method, model_input, **asked)(self.model)


def _load_pyfunc(path: str) -> PythonFunction:
    """Read a model file for `mlflow.pyfunc`, which calls this by its name."""
    return PythonFunction(load(path))


def _mlflow() -> Any:
    try:
        import mlflow
        import mlflow.models
        import mlflow.pyfunc
    except ImportError:
        raise MissingExtraError("MLflow is not installed: pip install mlflow-skinny, or mlflow.") from None
    return mlflow
