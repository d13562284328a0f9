"""The JavaScript scorer, run by node, against predict."""

import json
import shutil
import subprocess

import numpy as np
import pytest

import mercer
from mercer.errors import CapabilityError
from tests.export.models import MODELS, NEW, X, Y, expected, fitted, random_kernels

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")


def scored(models, new, folder):
    """The answers of node for every model and row: one process for all."""
    names = []
    for number, model in enumerate(models):
        (folder / f"m{number}.js").write_text(mercer.to_javascript(model), encoding="utf-8")
        names.append(f"./m{number}.js")
    (folder / "rows.json").write_text(json.dumps(new.tolist()), encoding="utf-8")
    program = (
        "const rows = require('./rows.json');"
        f"console.log(JSON.stringify({json.dumps(names)}.map((name) => rows.map((x) => require(name).predict(x)))));"
    )
    done = subprocess.run([NODE, "-e", program], cwd=folder, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@needs_node
def test_every_model(tmp_path):
    names = list(MODELS)
    for name, answers in zip(names, scored([fitted(name) for name in names], NEW, tmp_path), strict=True):
        for key, value in expected(fitted(name), NEW).items():
            if key == "std":
                continue
            found = np.array([answer[key] for answer in answers])
            if key == "label":
                assert (found == value).all(), name
            else:
                np.testing.assert_allclose(found, value, rtol=0, atol=1e-9 * np.abs(value).max(), err_msg=name)


@needs_node
def test_fifty_random_nested_kernels(tmp_path):
    models = [mercer.KernelRidge(kernel, alpha=1.0).fit(X, Y) for kernel in random_kernels(50, seed=3)[0]]
    worst = 0.0
    for model, answers in zip(models, scored(models, NEW, tmp_path), strict=True):
        found, wanted = np.array([answer["prediction"] for answer in answers]), model.predict(NEW)
        worst = max(worst, float(np.abs(found - wanted).max() / max(np.abs(wanted).max(), 1e-300)))
        assert worst < 1e-9, model.kernel_
    print(f"50 kernels, largest relative difference {worst:.1e}")


@needs_node
@pytest.mark.parametrize(
    ("row", "message"), [("[1, 2]", "2 entries; the model has 3 columns"), ("[1, 2, NaN]", "finite"), ("7", "array of 3")]
)
def test_bad_rows_are_refused(row, message, tmp_path):
    (tmp_path / "m.js").write_text(mercer.to_javascript(fitted("ridge")), encoding="utf-8")
    done = subprocess.run(
        [NODE, "-e", f"require('./m.js').predict({row})"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0 and message in done.stderr


def test_what_cannot_be_exported_is_named():
    with pytest.raises(CapabilityError, match=r"map\(sin\) has no scalar formula"):
        mercer.to_javascript(mercer.SVR(mercer.Gaussian(1.0).map(np.sin)).fit(X, Y))
    with pytest.raises(CapabilityError, match='mean="linear"'):
        mercer.to_javascript(mercer.GaussianProcessRegressor(noise=0.1, optimizer=None, mean="linear").fit(X, Y))
