"""ONNX graphs evaluated by onnxruntime against predict."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import mercer
from mercer.errors import CapabilityError, InputError, MercerError
from tests.export.models import MODELS, NEW, X, Y, expected, fitted, random_kernels

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")


def evaluated(model, new, dtype="float64"):
    content = mercer.to_onnx(model, dtype=dtype).SerializeToString()
    session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, {"X": new}), strict=True))


def agree(found, wanted, relative=1e-9):
    for name, value in wanted.items():
        if np.asarray(value).dtype.kind in "OU" or name == "label":
            assert (found[name] == value).all()
        else:
            assert found[name].shape == value.shape
            np.testing.assert_allclose(found[name], value, rtol=0, atol=relative * max(np.abs(value).max(), 1e-300))


@pytest.mark.parametrize("name", MODELS)
def test_every_model_in_float64_and_float32(name):
    model = fitted(name)
    wanted = expected(model, NEW)
    found = evaluated(model, NEW)
    assert found.keys() == wanted.keys()
    agree(found, wanted)
    single = NEW.astype(np.float32)
    agree(evaluated(model, single, "float32"), expected(model, single.astype(np.float64)))


def test_random_nested_kernels():
    kernels, _ = random_kernels(40)
    for kernel in kernels:
        model = mercer.KernelRidge(kernel, alpha=1.0).fit(X, Y)
        agree(evaluated(model, NEW), {"prediction": model.predict(NEW)}, 1e-6)


@pytest.mark.slow
def test_two_hundred_random_nested_kernels_on_many_rows():
    kernels, refused = random_kernels(200, seed=1)
    rows = np.random.default_rng(2).normal(size=(20_000, 3))
    worst = 0.0
    for number, kernel in enumerate(kernels):
        model = mercer.KernelRidge(kernel, alpha=1.0).fit(X, Y)
        new = rows if number % 20 == 0 else rows[:500]
        for dtype in ("float64", "float32"):  # float32: against predict on the same rounded values
            given = new.astype(dtype)
            wanted = model.predict(given.astype(np.float64))
            error = np.abs(evaluated(model, given, dtype)["prediction"] - wanted).max() / max(np.abs(wanted).max(), 1e-300)
            worst = max(worst, error)
            assert error < 1e-6, (kernel, dtype)
    print(f"200 kernels, two types, {refused} drawn without a formula; largest relative difference {worst:.1e}")


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5, 3.5])
def test_matern_processes(nu):
    model = mercer.GaussianProcessRegressor(mercer.Matern(nu, length_scale=1.3), noise=0.05, optimizer=None).fit(X, Y)
    agree(evaluated(model, NEW), expected(model, NEW))


def test_models_read_from_scikit_learn():
    from sklearn.svm import SVC

    original = SVC(kernel="poly", degree=2).fit(X, Y > 0)
    found = evaluated(mercer.from_sklearn(original), NEW)
    agree(found, {"decision": original.decision_function(NEW)})
    assert (found["label"] == original.predict(NEW)).all() and "probabilities" not in found


@pytest.mark.parametrize(
    ("kernel", "term"),
    [
        (
            mercer.Linear() + mercer.Gaussian(1.0).map(np.sin),
            r"Gaussian\(length_scale=1.0\).map\(sin\) has no scalar formula",
        ),
        (2.0 * mercer.Matern(0.8), r"Matern\(nu=0.8, .*\) has no scalar formula"),
        (mercer.Linear().centered(X[:5]), r"centered\(.*\) has no scalar formula"),
    ],
)
def test_a_term_without_a_formula_is_named(kernel, term):
    with pytest.raises(CapabilityError, match=term):
        mercer.to_onnx(mercer.KernelRidge(kernel).fit(X, Y))


def test_messages():
    with pytest.raises(NotFittedError):
        mercer.to_onnx(mercer.KernelRidge())
    with pytest.raises(CapabilityError, match="StandardScaler comes before the model"):
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import MinMaxScaler

        mercer.to_onnx(make_pipeline(MinMaxScaler(), mercer.SVR()).fit(X, Y))
    with pytest.raises(CapabilityError, match="KernelKMeans cannot be exported"):
        mercer.to_onnx(mercer.KernelKMeans(n_clusters=2).fit(X))
    with pytest.raises(CapabilityError, match="fitted to other objects"):
        mercer.to_onnx(mercer.KernelRidge(mercer.Spectrum(2)).fit(["ab", "ba", "aa"], [1.0, 2.0, 3.0]))
    with pytest.raises(CapabilityError, match="Precomputed"):
        mercer.to_onnx(mercer.SVR(mercer.Precomputed()).fit(X @ X.T, Y))
    with pytest.raises(InputError, match="dtype"):
        mercer.to_onnx(clone(fitted("ridge")), dtype="float16")
    with pytest.raises((InputError, CapabilityError), match="exact route"):
        mercer.to_onnx(mercer.GaussianProcessRegressor(noise=0.1, optimizer=None, solver="inducing", n_inducing=5).fit(X, Y))


def test_the_package_onnx_is_named_if_it_is_missing():
    code = (
        "import sys; sys.modules['onnx'] = None\n"
        "import numpy as np, mercer\n"
        "model = mercer.KernelRidge().fit(np.eye(3), np.arange(3.0))\n"
        "try:\n    mercer.to_onnx(model)\nexcept mercer.errors.MissingExtraError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "not installed" in done.stdout and "export" in done.stdout
    assert issubclass(mercer.errors.MissingExtraError, MercerError)
