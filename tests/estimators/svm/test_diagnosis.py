"""The look at the data before a long fit: it warns of what makes fits long or useless, and of nothing else."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import SVC, Gaussian, Linear, Polynomial, Precomputed, Spectrum, plan
from mercer.estimators.svm.diagnosis import DiagnosisWarning, diagnose_data
from mercer.planning import Route


def test_unscaled_columns(rng: np.random.Generator) -> None:
    X = rng.normal(size=(300, 4)) * [1.0, 1e4, 1.0, 0.0]
    [text] = diagnose_data(Gaussian("median").resolve(X), X).warnings
    assert text.startswith("2 of 4 columns have ranges below 1 % of column 1's") and "StandardScaler" in text
    assert diagnose_data(Gaussian("median").resolve(X), sp.csr_array(X)).warnings == (text,)
    # a kernel with a length scale for every column knows their scales
    assert diagnose_data(Gaussian((1.0, 1e4, 1.0, 1.0)), X).warnings == ()


def test_a_rare_column_is_no_matter_of_units(rng: np.random.Generator) -> None:
    X = rng.normal(size=(300, 20))
    X[:, 3] *= 1e-4
    assert diagnose_data(Gaussian(5.0), X).warnings == ()


@pytest.mark.parametrize(("scale", "word"), [(1e-3, "near the identity"), (1e3, "near a constant")])
def test_grams_without_information(rng: np.random.Generator, scale: float, word: str) -> None:
    X = rng.normal(size=(400, 3))
    [text] = diagnose_data(Gaussian(scale), X).warnings
    assert word in text and "length scale" in text
    [text] = diagnose_data(Gaussian(scale) * 7.0, X).warnings  # a factor changes nothing
    assert word in text


def test_linear_kernels_far_from_the_origin(rng: np.random.Generator) -> None:
    X = rng.normal(size=(400, 3)) + 1e4
    assert "Subtract the mean" in diagnose_data(Linear(), X).warnings[0]
    assert diagnose_data(Polynomial(2), X - 1e4).warnings == ()


def test_other_objects_and_few_rows(rng: np.random.Generator) -> None:
    words = ["".join(letters) for letters in rng.choice(list("abcd"), size=(60, 30))]
    seen = diagnose_data(Spectrum(p=2), words)
    assert seen.warnings == () and 0.0 < seen.typical < seen.nearest < 1.0
    assert "near the identity" in diagnose_data(Spectrum(p=12), words).warnings[0]
    assert diagnose_data(Precomputed(), np.eye(5)).lines == ()
    assert diagnose_data(Gaussian(1.0), np.ones((2, 2))).warnings == ()
    assert diagnose_data(Gaussian(1.0), np.zeros((50, 2))).warnings[0].startswith("the Gram matrix is near a constant")


def test_memory_and_time_are_told(rng: np.random.Generator) -> None:
    route = Route("gram", 3 * 2**30, 90.0, "because")
    told = str(diagnose_data(Gaussian(1.0), rng.normal(size=(50, 2)), route))
    assert "expected: 3.00 GiB beyond the data, about 1.5 min" in told


def test_one_warning_before_a_long_fit(rng: np.random.Generator) -> None:
    X = rng.normal(size=(1600, 2)) * [1.0, 1e6]
    seen = diagnose_data(Gaussian(1.0), X)
    assert len(seen.warnings) == 2
    with pytest.warns(DiagnosisWarning, match="before a fit of 1600 rows: .*columns.*identity"):
        seen.announce("SVC", 1600)
    seen.announce("SVC", 50)  # over before anybody has read it


def test_the_plan_of_a_fit_shows_it(rng: np.random.Generator) -> None:
    X = rng.normal(size=(1600, 2)) * [1.0, 1e6]
    told = plan(SVC(Gaussian(1.0)), X)
    assert "warning: 1 of 2 columns" in str(told) and any("column ranges" in line for line in told.notes)


@pytest.mark.parametrize(
    ("name", "gamma"), [("usps", 1 / 128), ("cls_a9a", 0.05), ("cls_ijcnn1", 1.0)], ids=["usps", "a9a", "ijcnn1"]
)
def test_no_alarm_on_real_data_at_good_settings(shared_data: Path, name: str, gamma: float) -> None:
    X = np.load(shared_data / f"{name}.npz")["X_train"][:3000].astype(np.float64)
    assert diagnose_data(Gaussian.from_gamma(gamma), X).warnings == ()
    assert diagnose_data(Gaussian.from_gamma(1e4 * gamma), X).warnings != ()


def test_raw_cover_types_are_caught(shared_data: Path) -> None:
    X = np.load(shared_data / "cls_covtype.npz")["X"][:3000].astype(np.float64)
    assert "columns have ranges below" in diagnose_data(Gaussian(1.0), X).warnings[0]
