"""Power: what the aggregated test finds, beside published numbers, and what the sample-size formula promises.

Published: MMDAgg, 500 repetitions, and MMD-FUSE, 200 repetitions (the standard error at 0.5 is 0.022 and 0.035). The
quick versions run always, on cases where the power is near one; `make show-mmd` prints the tables.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.twosample import naive

from mercer import Gaussian
from mercer.twosample import mmd_test

#: digits of Q1 … Q5; P has all ten
DIGITS = {
    "Q1": (1, 3, 5, 7, 9), "Q2": (0, 1, 3, 5, 7, 9), "Q3": (0, 1, 2, 3, 5, 7, 9), "Q4": (0, 1, 2, 3, 4, 5, 7, 9),
    "Q5": (0, 1, 2, 3, 4, 5, 6, 7, 9),
}  # fmt: skip
#: the best published MMDAgg row: Laplace kernels at length scales 2^12 … 2^16 medians, wild bootstrap, uniform weights
MNIST_PUBLISHED = {"Q1": 1.000, "Q2": 0.994, "Q3": 0.572, "Q4": 0.612, "Q5": 0.070}
#: (d, rows, perturbations) -> MMDAgg with Gaussian kernels at 2^-4 … 1 medians
UNIFORM_PUBLISHED = {
    (1, 500, 1): 1.0, (1, 500, 2): 0.974, (1, 500, 3): 0.346, (1, 500, 4): 0.038,
    (2, 2000, 1): 1.0, (2, 2000, 2): 0.780, (2, 2000, 3): 0.004,
}  # fmt: skip


def rejected(make, draws: int, permutations: int = 499, **options) -> np.ndarray:
    """For each draw, whether p <= 0.05."""
    found = []
    for seed in range(draws):
        rng = np.random.default_rng([seed, 11])
        found.append(mmd_test(*make(rng), n_permutations=permutations, random_state=rng, **options).pvalue <= 0.05)
    return np.array(found)


def power(make, draws: int, permutations: int = 499, **options) -> float:
    """The share of draws with p <= 0.05."""
    return float(rejected(make, draws, permutations, **options).mean())


def slack(published: float, draws: int, repetitions: int) -> float:
    """Two standard errors of a difference of shares."""
    variance = max(published * (1 - published), 0.01)
    return 2.0 * float(np.sqrt(variance / draws + variance / repetitions))


def _uniform(d, n, perturbations):
    return lambda rng: (naive.perturbed_uniform(rng, n, d, perturbations), rng.random((n, d)))


@pytest.fixture(scope="module")
def digits(shared_data):
    """MNIST pooled 4 x 4 to 7 x 7 pixels in [0, 1], and the labels."""
    file = np.load(shared_data / "mnist.npz")
    X = np.concatenate([file["X_train"], file["X_test"]]).reshape(-1, 7, 4, 7, 4).astype(np.float64)
    return X.mean(axis=(2, 4)).reshape(-1, 49) / 255.0, np.concatenate([file["y_train"], file["y_test"]])


def _mnist(digits, name, n=500):
    X, y = digits
    other = np.flatnonzero(np.isin(y, DIGITS[name]))
    return lambda rng: (X[rng.integers(len(X), size=n)], X[rng.choice(other, n)])


def test_perturbed_uniforms_are_found():
    assert power(_uniform(1, 500, 1), 6, 199) == 1.0
    assert power(_uniform(1, 500, 2), 12, 199) >= 10 / 12


@pytest.mark.parametrize("aggregation", ["quantile", "softmax"])
def test_a_change_the_median_kernel_is_blind_to(aggregation):
    """A fine comb: the same mean, variance and coarse shape; only a narrow kernel sees it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 1))
    Y = np.round(rng.normal(size=(300, 1)) * 4) / 4 + rng.normal(0, 0.02, size=(300, 1))
    assert mmd_test(X, Y, Gaussian("median"), n_permutations=199, random_state=0).pvalue > 0.05
    assert mmd_test(X, Y, n_permutations=199, random_state=0, aggregation=aggregation).pvalue <= 0.01


def test_the_power_and_the_sample_size_of_a_test_come_true():
    """Estimated from samples of one size on average, checked by running tests at the sizes it names."""

    def make(n):
        return lambda rng: (rng.normal(size=(n, 2)), rng.normal(0.35, 1.0, size=(n, 2)))

    estimates = []
    for seed in range(30):
        rng = np.random.default_rng([seed, 3])
        estimates.append(mmd_test(*make(80)(rng), Gaussian(1.5), n_permutations=199, random_state=rng).power)
    achieved = float(np.mean([e.achieved for e in estimates]))
    needed = int(np.median([e.sample_sizes[0] for e in estimates if e.sample_sizes]))
    assert abs(achieved - power(make(80), 100, 199, kernel=Gaussian(1.5))) < 0.15
    assert abs(power(make(needed), 100, 199, kernel=Gaussian(1.5)) - 0.8) < 0.17


@pytest.mark.slow
@pytest.mark.parametrize("aggregation", ["quantile", "softmax"])
@pytest.mark.parametrize("name", DIGITS)
def test_power_on_mnist(digits, name, aggregation):
    share = power(_mnist(digits, name), 200, aggregation=aggregation)
    print(f"\npower on MNIST {name}, 500 + 500, {aggregation}: {share:.3f}, published MMDAgg {MNIST_PUBLISHED[name]:.3f}")
    assert share >= MNIST_PUBLISHED[name] - slack(MNIST_PUBLISHED[name], 200, 500)


@pytest.mark.slow
@pytest.mark.parametrize("case", UNIFORM_PUBLISHED, ids=str)
def test_power_on_perturbed_uniforms(case):
    d, n, perturbations = case
    draws = 200 if d == 1 else 40
    share = power(_uniform(d, n, perturbations), draws, permutations=499 if d == 1 else 199)
    print(f"\npower on uniforms d = {d}, {n} + {n}, {perturbations} perturbations: {share:.3f}, "
          f"published MMDAgg {UNIFORM_PUBLISHED[case]:.3f}")  # fmt: skip
    assert share >= UNIFORM_PUBLISHED[case] - slack(UNIFORM_PUBLISHED[case], draws, 500)


#: columns of tst_higgs7500 -> rows of each side
HIGGS = {
    "four jet angles": ((7, 11, 15, 19), 1500), "21 low-level": (tuple(range(21)), 500), "all 28": (tuple(range(28)), 100),
}  # fmt: skip


def _higgs(shared_data, name):
    """Columns in units of their standard deviation over all rows, and functions that draw two classes, or one twice."""
    columns, n = HIGGS[name]
    file = np.load(shared_data / "tst_higgs7500.npz")
    X, y = file["X"].astype(np.float64), file["y"]
    X = (X / X.std(axis=0))[:, columns]

    def make(rng):
        return tuple(X[rng.choice(np.flatnonzero(y == side), n, replace=False)] for side in (1, 0))

    def null(rng):
        rows = rng.choice(np.flatnonzero(y == 1), 2 * n, replace=False)
        return X[rows[:n]], X[rows[n:]]

    return make, null


@pytest.mark.slow
@pytest.mark.parametrize("name", HIGGS)
def test_power_on_higgs_beside_hyppo_and_the_median(shared_data, name):
    n, (make, null) = HIGGS[name][1], _higgs(shared_data, name)
    draws = 60
    ours, median = power(make, draws, 299), power(make, draws, 299, kernel=Gaussian("median"))
    level = power(null, draws, 299)
    print(f"\nHIGGS {name}, {n} + {n}: aggregated {ours:.3f}, median {median:.3f}, hyppo {_hyppo(make, draws):.3f}, "
          f"aggregated on the null {level:.3f}")  # fmt: skip
    assert level <= 0.05 + 3.5 * np.sqrt(0.05 * 0.95 / draws)
    assert ours >= median - slack(median, draws, draws)


#: rows on which scaled columns are compared with columns as they are -> draws; Q1, Q2 and one column have equal powers
SCALED = {
    "MNIST Q3": 100, "MNIST Q4": 100, "MNIST Q5": 100, "HIGGS four jet angles": 30, "HIGGS 21 low-level": 60,
    "HIGGS all 28": 100, "uniforms (2, 2000, 2)": 20,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("row", SCALED)
def test_power_with_scaled_columns(digits, shared_data, row):
    """Not below that of columns as they are, by more than two standard errors of two benchmarks of as many draws.

    Both see the same draws. The standard error of their difference, which is printed, is therefore smaller than that of two
    independent benchmarks: it shows small losses on columns that share a unit, such as pixels.
    """
    kind, name = row.split(" ", 1)
    makes = {
        "MNIST": lambda: _mnist(digits, name), "HIGGS": lambda: _higgs(shared_data, name)[0],
        "uniforms": lambda: _uniform(2, 2000, 2),
    }  # fmt: skip
    make, draws = makes[kind](), SCALED[row]
    scaled, plain = (rejected(make, draws, 199, scale=scale).astype(float) for scale in (True, False))
    difference, error = float((scaled - plain).mean()), float((scaled - plain).std() / np.sqrt(draws))
    print(f"\nscaled columns, {row}: power {scaled.mean():.3f}, as they are {plain.mean():.3f}; "
          f"difference on the same {draws} draws {difference:+.3f} ± {error:.3f}")  # fmt: skip
    assert difference >= -slack(float(plain.mean()), draws, draws)


def test_one_column_has_the_same_pvalue_scaled_or_not():
    for seed in range(3):
        X, Y = _uniform(1, 200, 2)(np.random.default_rng(seed))
        found = [mmd_test(X, Y, n_permutations=199, random_state=0, scale=scale).pvalue for scale in (True, False)]
        assert found[0] == found[1]


def _hyppo(make, draws: int) -> float:
    ksample = pytest.importorskip("hyppo.ksample")
    hits = 0
    for seed in range(draws):
        rng = np.random.default_rng([seed, 11])
        # its default for more than 20 rows is a chi-square approximation; a thousand permutations take minutes
        hits += ksample.MMD().test(*make(rng), auto=True)[1] <= 0.05
    return hits / draws
