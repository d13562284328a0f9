"""Products with a Gram matrix through the weights of counted features."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer import (
    SVC,
    SVR,
    AllSubstrings,
    CircularSubstructures,
    GappedSpectrum,
    Gaussian,
    Graph,
    KernelRidge,
    Mismatch,
    Spectrum,
    WeightedDegree,
    WeisfeilerLehman,
)
from mercer.grams import dual_function
from mercer.grams.dual_function import counted_product

KERNELS = [
    Spectrum(2),
    Spectrum(2).normalized(),
    2.0 * Spectrum(1) + GappedSpectrum(2, gaps=1).normalized(),
    Spectrum(1) * Spectrum(2),
    Mismatch(2, mismatches=1, alphabet="ACGT"),
    WeightedDegree(3),
    AllSubstrings(decay=0.5),
    GappedSpectrum(2, gaps=2, reverse_complement=True),
]


def _strings(n: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list("ACGT"), rng.integers(0, 12))) for _ in range(n)]


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dual_function, "FEW_VALUES", 1)
    monkeypatch.setattr(dual_function, "FEATURE_ROWS", 7)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("targets", [None, 3])
def test_products_are_those_of_the_matrix(kernel: Any, targets: int | None) -> None:
    X, Z = _strings(40, 1), _strings(9, 2)
    A = np.random.default_rng(3).normal(size=9 if targets is None else (9, targets))
    found = counted_product(kernel, X, Z, A)
    assert found is not None
    K = kernel(X, Z)
    np.testing.assert_allclose(found, K @ A, rtol=1e-11, atol=1e-12 * np.abs(K).max() * 9)


@pytest.mark.usefixtures("always")
def test_products_on_graphs_and_molecules() -> None:
    pytest.importorskip("rdkit")
    X, Z = ["CCO", "c1ccccc1O", "CC(=O)N", "C1CC1", "CCCl"] * 4, ["CCN", "c1ccccc1", "CC(=O)O"]
    A = np.array([1.0, -2.0, 0.5])
    for kernel in (CircularSubstructures(1), CircularSubstructures(1, counts=False).normalized()):
        found = counted_product(kernel, X, Z, A)
        assert found is not None
        np.testing.assert_allclose(found, kernel(X, Z) @ A, rtol=1e-12)
    wl = WeisfeilerLehman(2)
    graphs, known = [Graph.from_smiles(s) for s in X], [Graph.from_smiles(s) for s in Z]
    found = counted_product(wl, graphs, known, A)
    assert found is not None
    np.testing.assert_allclose(found, wl(graphs, known) @ A, rtol=1e-12)


@pytest.mark.usefixtures("always")
def test_others_are_left_to_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.zeros((4, 2))
    assert counted_product(Gaussian(1.0), X, X, np.ones(4)) is None  # no features
    assert counted_product(Spectrum(2).tanimoto(), ["ab"], ["ab"], np.ones(1)) is None
    monkeypatch.setattr(dual_function, "MOST_STORED", 8)
    assert counted_product(Spectrum(1), ["abcdef"], ["abcdef", "bcd"], np.ones(2)) is None  # too many features
    monkeypatch.setattr(dual_function, "FEW_VALUES", 100)
    assert counted_product(Spectrum(2), ["ab"], ["ab"], np.ones(1)) is None  # tiles are as fast


@pytest.mark.parametrize(
    "model",
    [
        KernelRidge(Spectrum(2).normalized()),
        KernelRidge(Spectrum(2).normalized(), solver="primal"),
        SVR(Spectrum(2).normalized()),
        SVC(Spectrum(2).normalized()),
    ],
    ids=str,
)
def test_models_predict_the_same_through_weights(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, new = _strings(1000 if isinstance(model, KernelRidge) else 60, 4), _strings(50, 5)
    y = np.array([x.count("A") - x.count("G") for x in X])
    model.fit(X, np.clip(y, -1, 1) if isinstance(model, SVC) else y)
    read = model.decision_function if isinstance(model, SVC) else model.predict
    tiles = read(new)
    used: list[object] = []

    def counted(*arguments: Any) -> Any:
        used.append(counted_product(*arguments))
        return used[-1]

    monkeypatch.setattr(dual_function, "FEW_VALUES", 1)
    monkeypatch.setattr("mercer.grams.dual_function.counted_product", counted)
    monkeypatch.setattr("mercer.estimators.svm.decision.counted_product", counted)
    monkeypatch.setattr("mercer.estimators.ridge.kernel_ridge.FEATURE_ROWS", 7)
    np.testing.assert_allclose(read(new), tiles, rtol=1e-9, atol=1e-9)
    assert model.route_.solver == "primal" or (len(used) == 1 and used[0] is not None)
