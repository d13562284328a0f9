"""The rows of support vector machines, small; the geometric means over them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

from benchmarks import svm_means
from benchmarks.machine import Constants
from benchmarks.outcome import run_row
from benchmarks.row import Row
from benchmarks.rows import svm

pytestmark = pytest.mark.skipif(not svm.DATA.is_dir(), reason="../shared/data is not beside the project")


@pytest.mark.parametrize(
    "make",
    [
        lambda: svm.fit("usps", 300),
        lambda: svm.predict("usps", 300),
        lambda: svm.regression("kin8nm", 300, 10.0, 2.0),
        lambda: svm.one_class(400),
        lambda: svm.grid(200, np.array([1.0, 10.0]), np.array([0.5, 2.0])),
    ],
    ids=["fit", "predict", "regression", "one class", "grid"],
)
def test_rows_agree_when_small(make: Callable[[], Row], constants: Constants) -> None:
    row = dataclasses.replace(make(), memory=False, repeats=1, tolerance=0.05)
    record = run_row(row, constants)
    for peer in record["peers"]:
        assert "error" not in peer, peer
        assert peer.get("missing") or peer["agrees"], peer


def test_the_large_row_measures_memory_and_error(constants: Constants) -> None:
    record = run_row(dataclasses.replace(svm.large(300), memory=False), constants)
    assert record["mercer"]["quality"]["test error %"] < 30.0
    assert [claim["text"] for claim in record["claims"]] == ["peak_bytes <= 8e+09", "test error % <= 1.5"]


def test_all_sets_are_scaled_as_the_settings_expect() -> None:
    for name in svm.SETTINGS:
        X, y, T, t = svm.load(name)
        assert X.dtype == T.dtype == np.float64
        assert len(X) == len(y) and len(T) == len(t) <= svm.TESTED
        assert np.abs(X).max() <= 1.0 + 1e-9


def results(ratio: float, agrees: bool = True) -> dict[str, object]:
    rows = {}
    for kind in ("fit", "predict"):
        for name in svm.SETTINGS:
            peers = [{"name": peer, "ratio": ratio, "agrees": agrees} for peer in svm.PEERS]
            rows[f"svc-{kind}-{name}"] = {"peers": peers}
    return {"rows": rows}


def test_geometric_means_are_judged() -> None:
    good, line = svm_means.verdict(results(5.0), "fit", "scikit-learn", 4.0, 1.0)
    assert good and line.startswith("PASS: fit against scikit-learn: geometric mean 5.00")
    assert svm_means.verdict(results(3.0), "fit", "scikit-learn", 4.0, 1.0)[1].startswith("FAIL")
    slow = results(9.0)
    slow["rows"]["svc-fit-usps"]["peers"][0]["ratio"] = 0.9
    assert svm_means.verdict(slow, "fit", "scikit-learn", 4.0, 1.0)[1].startswith("FAIL"), "one slower row is enough"
    assert svm_means.verdict(results(9.0, agrees=False), "fit", "sklearnex", 2.5, 1.0)[1].startswith("OPEN")
    assert svm_means.verdict({"rows": {}}, "fit", "sklearnex", 2.5, 1.0)[1].startswith("OPEN")
