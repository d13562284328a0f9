"""mercer export: files and messages."""

import numpy as np
import pytest
from typer.testing import CliRunner

import mercer
from mercer.cli.app import app

RUN = CliRunner()
X = np.random.default_rng(0).normal(size=(30, 2))


def saved(tmp_path, kernel):
    path = tmp_path / "m.mercer"
    mercer.save(mercer.KernelRidge(kernel, alpha=0.1).fit(X, X[:, 0]), path)
    return path


def test_both_files_are_written(tmp_path):
    pytest.importorskip("onnx")
    out = [tmp_path / "m.onnx", tmp_path / "m.js"]
    done = RUN.invoke(
        app, ["export", str(saved(tmp_path, mercer.Gaussian(1.0))), "--onnx", str(out[0]), "--js", str(out[1])]
    )
    assert done.exit_code == 0, done.output
    assert all(path.stat().st_size > 500 for path in out)


def test_nothing_is_written_if_a_term_cannot_be_exported(tmp_path):
    path = saved(tmp_path, mercer.Linear() + mercer.Matern(0.8))
    done = RUN.invoke(app, ["export", str(path), "--js", str(tmp_path / "m.js")])
    assert done.exit_code != 0 and "Matern(nu=0.8" in done.output + done.stderr
    assert not (tmp_path / "m.js").exists()


def test_a_format_must_be_named(tmp_path):
    done = RUN.invoke(app, ["export", str(saved(tmp_path, mercer.Linear()))])
    assert done.exit_code != 0 and "--onnx FILE" in done.output + done.stderr
