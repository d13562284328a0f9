"""The experiments of the lectures say what their chapters say: seeded, small, and on every run."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch):
    """An example as a module."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return lambda name: importlib.import_module(name)


@pytest.mark.parametrize("seed", [pytest.param(0, marks=pytest.mark.slow), 3])
def test_dimension_changes_nothing(example, seed: int) -> None:
    rows = example("health_warning").over_dimension(seed)
    first = rows[0]
    for _, R, gamma, mistakes, bound, error in rows:
        assert mistakes <= bound
        assert (R, gamma, bound) == pytest.approx((first[1], first[2], first[4]), rel=1e-6)
        assert mistakes <= first[3] and error <= first[5] + 0.005


@pytest.mark.parametrize("seed", [pytest.param(0, marks=pytest.mark.slow), 3])
def test_degree_moves_radius_and_margin_and_mistakes_stay_below_their_bound(example, seed: int) -> None:
    rows = example("health_warning").over_degree(seed)
    assert [row[0] for row in rows] == list(range(1, 11)) and rows[-1][1] == 184_756
    assert all(mistakes <= bound for _, _, _, _, mistakes, bound, _ in rows)
    radii = [row[2] for row in rows]
    assert np.all(np.diff(radii) > 0)  # what grows: R, and with it the bound from degree 2 on
    assert np.all(np.diff([row[5] for row in rows][1:]) > 0)
    assert rows[-1][1] > 10_000 * rows[0][1] and rows[-1][4] < 10 * rows[0][4]  # columns, and mistakes


@pytest.mark.parametrize("seed", [pytest.param(0, marks=pytest.mark.slow), 3])
def test_noise_columns_shrink_the_margin_against_the_radius(example, seed: int) -> None:
    rows = example("health_warning").over_noise(seed)
    ratios = [gamma / R for _, R, gamma, _, _, _ in rows]
    assert ratios[-1] < 0.5 * ratios[0] and all(ratio < ratios[0] for ratio in ratios[1:])
    assert rows[-1][5] > rows[0][5] + 0.01
    assert all(mistakes <= bound for _, _, _, mistakes, bound, _ in rows)


def test_degree_and_alpha_show_both_ends(example) -> None:
    panel = example("degree_and_alpha").panel
    low, right, wild, damped = panel(1, 1e-9), panel(9, 1.0), panel(20, 1e-9), panel(20, 100.0)
    assert low["train"] > 2 * right["train"] and low["test"] > 1.5 * right["test"]  # too simple: both are high
    assert wild["train"] < right["train"] and wild["test"] > 2 * right["test"]  # follows the noise
    assert wild["spread"] > 3 * right["spread"] and wild["condition"] > 1e6 * panel(20, 1.0)["condition"]
    assert damped["train"] > right["train"]


def test_repaired_kernels_are_psd_and_the_similarity_is_not(example) -> None:
    module = example("non_kernels")
    for name, (X, y) in module.sets(120).items():
        found = module.experiment(X, y, folds=3)
        assert not found["tanh"]["psd"], name
        assert all(found[repair]["psd"] for repair in module.REPAIRS), name
        assert found["tanh"]["accuracy"] > found["Gaussian"]["accuracy"] - 0.1, name
        assert abs(found["clip"]["accuracy"] - found["tanh"]["accuracy"]) < 0.1, name
        assert all(found[kernel]["order"] < 1e-6 for kernel in ("clip", "flip", "Gaussian")), name


def test_a_machine_of_a_similarity_depends_on_the_order_of_its_rows(example) -> None:
    module = example("non_kernels")
    X, y = module.sets(300)["breast_cancer"]
    A = (X - X.mean(axis=0)) / X.std(axis=0)
    assert module.depends_on_order(module.kernels(A)["tanh"], A, y) > 0.01


def test_taylor_keeps_its_bound_and_random_features_win_in_many_dimensions(example) -> None:
    compare = example("taylor_features").compare
    few, many = compare(2, range(1, 9)), compare(8, range(1, 5))
    assert all(error <= bound * (1 + 1e-9) for _, _, error, bound, _ in few + many)
    assert few[-1][2] < 1e-3 < 0.05 < few[-1][4]
    assert many[-1][2] > 2 * many[-1][4]


def test_a_universal_kernel_comes_close_and_a_polynomial_does_not(example) -> None:
    errors = example("universality").errors()
    for name in ("Gaussian", "Matern 3/2"):
        assert np.all(np.diff(errors[name]) < 0) and errors[name][-1] < 0.01
    assert errors["polynomial, degree 5"][-1] > 0.15


def test_eigenfunctions_from_a_sample(example) -> None:
    rows = example("eigenfunctions").compare()
    assert all(abs(exact - drawn) < 0.02 and difference < 0.2 for _, exact, drawn, difference in rows)


def test_common_subgraphs_are_those_of_brute_force(example) -> None:
    module: ModuleType = example("common_subgraphs")
    counted = sorted(map(tuple, np.asarray(module.counts()).astype(int).T.tolist()))
    slow = sorted(zip(module.brute_force(module.HOUSE), module.brute_force(module.STAR), strict=True))
    assert [pair for pair in counted if any(pair)] == [pair for pair in slow if any(pair)]


def test_orthogonal_points_meet_novikoffs_bound(example) -> None:
    from mercer import KernelPerceptron, Linear

    X, y = example("perceptron_mistakes").orthogonal(60)
    model = KernelPerceptron(Linear(), random_state=0, margin="hard", stopping="mistakes").fit(X, y)
    assert model.n_updates_ == 60
    assert model.radius_**2 / model.ledger_.hard_margin**2 == pytest.approx(60)


def test_hyperplanes_and_signs(example, tmp_path: Path) -> None:
    module = example("plane_geometry")
    values = list(module.signs(tmp_path).values())
    assert values[0] > 0 and abs(values[1]) < 1e-9 and values[2] < 0
    optimal, other = module.hyperplanes(tmp_path)
    assert optimal > other > 0
    assert {path.name for path in tmp_path.glob("*.png")} == {"vectors.png", "hyperplanes.png"}
