"""Counter-examples: how few points, how simple, how well checked, and never rounding."""

from __future__ import annotations

import json
import math
import time
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import mercer
from mercer import Bilinear, Function, Gaussian, Graph, Linear, Precomputed, Tanh
from mercer.errors import InputError
from mercer.kernels.base import Kernel
from mercer.validity import CounterExample, find_counterexample
from mercer.validity.counterexamples import search
from mercer.validity.observed import Observer
from mercer.validity.witness import confirm


def minus_inner(X: Any, Z: Any) -> Any:
    return -(X @ Z.T)


def neighbors(X: Any, Z: Any) -> Any:
    return np.float64(np.abs(X[:, None] - Z[None, :]).max(axis=-1) <= 1.0)


def periodic_of_distance(X: Any, Z: Any) -> Any:
    return np.exp(-2.0 * np.sin(np.pi * np.sqrt(((X[:, None] - Z[None]) ** 2).sum(-1))) ** 2)


def inner(X: Any, Z: Any) -> Any:
    return X @ Z.T


def gaussian_by_squares(X: Any, Z: Any) -> Any:
    return np.exp(-((X**2).sum(1)[:, None] + (Z**2).sum(1)[None] - 2 * X @ Z.T) / 2)


def only_planes(X: Any, Z: Any) -> Any:
    if X.shape[1] != 2:
        raise RuntimeError("points of the plane, please")
    return -np.float64(X[:, None, 0] * Z[None, :, 1] == 0)


def common_letters(A: Any, B: Any) -> Any:
    return np.array([[float(len(set(a) & set(b))) - 2.0 * (a != b) for b in B] for a in A if a.isalpha()])


def _check(found: CounterExample | None, size: int, kind: str) -> CounterExample:
    assert found is not None
    assert len(found.vector) == size and found.kind == kind and found.value < 0
    assert found.gram.shape == (size, size)
    if kind != "asymmetric":
        assert found.vector @ found.gram @ found.vector == pytest.approx(found.value, rel=1e-6)
    json.dumps(found.to_dict())
    return found


@pytest.mark.parametrize(
    ("kernel", "size", "kind"),
    [
        (Tanh(1.0, offset=-1.0), 1, "interval"),
        (Tanh(1.0, offset=1.0), 2, "interval"),
        (Tanh(1.0, offset=0.0), 2, "interval"),
        (Tanh(1.0, offset=20.0), 3, "interval"),
        (Tanh(-1.0, offset=2.0), 1, "interval"),
        (Function(minus_inner), 1, "numerical"),
        (Function(neighbors), 3, "numerical"),
        (Function(periodic_of_distance), 3, "numerical"),
        (Bilinear([[1.0, 2.0], [2.0, 1.0]]), 1, "exact"),
        (Bilinear([[1.0, 1.0], [0.0, 1.0]]), 2, "asymmetric"),
        (Bilinear([[0.0, 1.0], [-1.0, 0.0]]), 2, "asymmetric"),
        (Linear() * Bilinear([[0.0, 1.0], [1.0, 0.0]]), 1, "exact"),
        (Bilinear([[1.0, 2.0], [2.0, 1.0]]).on(2, 0), 1, "exact"),
        (Function(only_planes), 1, "numerical"),
        (Function(common_letters), 2, "numerical"),
    ],
    ids=str,
)
def test_few_points_are_enough(kernel: Kernel, size: int, kind: str) -> None:
    found = _check(find_counterexample(kernel), size, kind)
    assert str(found).startswith(f"{kernel} is not a kernel.")


def test_it_is_written_out_so_that_it_can_be_checked_by_hand() -> None:
    assert str(find_counterexample(Function(neighbors))).splitlines()[1:8] == [
        "  x1 = (1)",
        "  x2 = (0)",
        "  x3 = (-1)",
        "  K = [ 1  1  0 ]",
        "      [ 1  1  1 ]",
        "      [ 0  1  1 ]",
        "  c = (1, -1, 1)",
    ]
    exact = find_counterexample(Bilinear([[1.0, 2.0], [2.0, 1.0]]))
    assert exact is not None and exact.proven == Fraction(-2) and "k(x1, x1) = -2 < 0" in str(exact)
    two = str(find_counterexample(Tanh(1.0, offset=1.0)))
    assert "Cauchy-Schwarz fails" in two and "interval arithmetic" in two


@pytest.mark.parametrize("d", [2, 5, 20])
def test_a_small_negative_eigenvalue_in_a_hidden_direction(d: int) -> None:
    U = np.linalg.qr(np.random.default_rng(d).normal(size=(d, d)))[0]
    B = (U * np.r_[-1e-9, np.ones(d - 1)]) @ U.T
    found = _check(find_counterexample(Bilinear((B + B.T) / 2)), 1, "exact")
    assert abs(found.points[0] @ U[:, 0]) / np.linalg.norm(found.points[0]) > 0.99


def test_asymmetry_by_rounding_is_no_counterexample() -> None:
    B = np.eye(3)
    B[0, 1] = 1e-16
    kernel = Bilinear(B)
    assert find_counterexample(kernel) is None and kernel.certificate().status != "invalid"


def test_nothing_is_sought_where_there_is_a_proof() -> None:
    assert find_counterexample(Gaussian()) is None
    assert find_counterexample(Gaussian(), np.full((4, 2), 1e6)) is None


def test_the_search_is_deterministic() -> None:
    kernel = Gaussian() * Tanh() + 0.01
    first, second = find_counterexample(kernel), find_counterexample(kernel)
    assert str(first) == str(second)


# -- given points ------------------------------------------------------------------------------------------------------


def test_given_points_and_only_those() -> None:
    X = np.array([[3.0], [0.5], [2.0]])
    found = find_counterexample(Tanh(1.0, offset=1.0), X)
    assert found is not None and set(found.points.ravel()) <= {3.0, 0.5, 2.0}
    assert find_counterexample(Tanh(1.0, offset=-1.0), X[[0, 2]] * 10) is None


def test_a_large_data_set_is_sampled() -> None:
    X = np.random.default_rng(0).normal(size=(50_000, 3))
    started = time.perf_counter()
    _check(find_counterexample(Function(minus_inner), X), 1, "numerical")
    assert find_counterexample(Function(inner), X) is None
    assert time.perf_counter() - started < 15


def test_every_kind_of_collection() -> None:
    dense = np.array([[0.0, 0.0], [1.0, 2.0]])
    tanh = Tanh(1.0, offset=-1.0)
    assert find_counterexample(tanh, dense.astype(np.float32)) is not None
    assert find_counterexample(tanh, dense.tolist()) is not None
    sparse = _check(find_counterexample(tanh, sp.csr_array(dense)), 1, "interval")
    assert "x1 = (0, 0)" in str(sparse)
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"age": [0.0, 2.0], "name": ["a", "b"]})
    found = _check(find_counterexample(tanh.on("age"), frame), 1, "numerical")
    assert found.to_dict()["points"] == [{"age": 0.0, "name": "a"}]


def test_strings_and_graphs() -> None:
    strings = Function(lambda A, B: mercer.Spectrum(2)(list(A), list(B)) - 1.0)
    found = _check(find_counterexample(0.5 * mercer.Spectrum(2) + strings, ["ab", "ba", "aab"]), 2, "numerical")
    assert set(found.points) <= {"ab", "ba", "aab"} and "'ab'" in str(found)
    graphs = Function(lambda A, B: mercer.VertexHistogram()(list(A), list(B)) - 3.0)
    found = _check(find_counterexample(mercer.VertexHistogram() + graphs), 1, "numerical")
    assert isinstance(found.points[0], Graph) and "n_nodes" in found.to_dict()["points"][0]


def test_precomputed_matrices_name_their_rows() -> None:
    K = np.eye(6)
    K[2, 4] = K[4, 2] = 2.0
    found = _check(find_counterexample(2.0 * Precomputed(), K), 2, "numerical")
    assert found.points == [2, 4] and "x1 = row 2" in str(found)
    assert find_counterexample(Precomputed(), np.eye(3)) is None
    K[0, 1] = 0.5
    assert find_counterexample(Precomputed(), K) is not None


def test_messages() -> None:
    with pytest.raises(InputError, match=r"takes a kernel; got function.*Function\(f\)"):
        find_counterexample(inner)
    with pytest.raises(InputError, match="median"):
        find_counterexample(Gaussian("median") * Tanh())
    with pytest.raises(InputError, match="empty"):
        find_counterexample(Tanh(), np.zeros((0, 2)))


# -- rounding ----------------------------------------------------------------------------------------------------------


def in_single(X: Any, Z: Any) -> Any:
    return np.asarray(X, np.float32) @ np.asarray(Z, np.float32).T


def centered_by_hand(X: Any, Z: Any) -> Any:
    m = np.full((1, X.shape[1]), 3.0)
    return X @ Z.T - X @ m.T - m @ Z.T + m @ m.T


FAR = [
    None,
    np.random.default_rng(1).normal(size=(30, 2)) + 1e6,
    np.repeat(np.random.default_rng(2).normal(size=(8, 3)), 4, axis=0) + 1e4,
]


@pytest.mark.parametrize("f", [inner, gaussian_by_squares, in_single, centered_by_hand])
@pytest.mark.parametrize("X", FAR, ids=["generated", "far", "duplicates"])
def test_rounding_in_a_python_function_is_not_a_counterexample(f: Any, X: Any) -> None:
    sample = np.ones((4, 2)) if X is None else X
    kernels = [Function(f), Function(f).centered(sample), Function(f) ** 3, Gaussian() * Function(f)]
    for kernel in kernels[: 2 if X is None else 4]:
        assert search(kernel, X)[0] is None, kernel


def test_the_rule_for_numerical_witnesses_is_the_one_that_is_stated() -> None:
    eps = np.finfo(float).eps
    c, X = np.array([1.0, -1.0]), np.array([[0.0], [1.0]])
    for factor, counts in ((50.0, False), (200.0, True)):
        excess = factor * 2 * eps  # c'Kc = -2 excess, against 100 n eps max|K| ||c||^2 = 400 eps

        def near_one(A: Any, B: Any, excess: float = excess) -> Any:
            return np.where(A == B.T, 1.0, 1.0 + excess)

        assert (confirm(Function(near_one), X, c) is not None) == counts


def test_a_function_that_depends_on_the_batch_is_not_believed() -> None:
    def batch(X: Any, Z: Any) -> Any:
        return np.full((len(X), len(Z)), -1.0 if len(X) > 5 else 1.0)

    assert find_counterexample(Function(batch)) is None


def test_functions_that_fail_everywhere_leave_it_unproven() -> None:
    def broken(X: Any, Z: Any) -> Any:
        raise ZeroDivisionError

    certificate = Function(broken).certificate()
    assert certificate.status == "unproven" and "no points were found" in str(certificate)
    assert Function(lambda X, Z: np.full((len(X), len(Z)), np.nan)).certificate().status == "unproven"


# -- functions whose terms cancel --------------------------------------------------------------------------------------


def cosh_minus_one(X: Any, Z: Any) -> Any:
    return np.cosh(X @ Z.T) - 1.0


def square_minus_one(X: Any, Z: Any) -> Any:
    return (1.0 + 0.01 * (X @ Z.T)) ** 2 - 1.0


def gaussian_centered_by_hand(X: Any, Z: Any) -> Any:
    B = np.linspace(-1.0, 1.0, 5)[:, None] * np.ones(X.shape[1])
    k = gaussian_by_squares
    return k(X, Z) - k(X, B).mean(1)[:, None] - k(B, Z).mean(0) + k(B, B).mean()


def cosh_after_asarray(X: Any, Z: Any) -> Any:
    return cosh_minus_one(np.asarray(X), np.asarray(Z))


def cosh_row_by_row(X: Any, Z: Any) -> Any:
    return [[math.cosh(float(np.dot(x, z))) - 1.0 for z in Z] for x in X]


CANCELLING = [cosh_minus_one, square_minus_one, gaussian_centered_by_hand, cosh_after_asarray, cosh_row_by_row]


@pytest.mark.parametrize("function", CANCELLING)
def test_functions_that_cancel_are_not_refuted_by_their_own_noise(function: Any) -> None:
    assert Function(function).certificate().status == "unproven"
    rng = np.random.default_rng(0)
    for scale in (1e-6, 1e-4, 1e-2, 1.0):
        X = rng.normal(size=(8, 2)) * scale
        for center in (0.0, 0.3):
            assert find_counterexample(Function(function), X + center) is None, (scale, center)


def test_a_value_that_is_rounding_at_all_neighbors_is_not_a_counterexample() -> None:
    """<x,z> without its part along b is 0 in one dimension; the same rounding occurs again one unit away."""
    b = np.array([[0.41714623]])

    def orthogonal(X: Any, Z: Any) -> Any:
        X, Z = np.asarray(X), np.asarray(Z)
        return X @ Z.T - (X @ b.T) * (b @ Z.T) / (b @ b.T)

    rng, kernel = np.random.default_rng(0), Function(orthogonal)
    for _ in range(400):
        x = rng.normal(size=(1, 1)) * 10.0 ** rng.uniform(3, 6)
        assert find_counterexample(kernel, x) is None, x


def test_a_cancellation_that_rounds_alike_at_all_neighbors_is_not_a_counterexample() -> None:
    """(k + c <x,z>) - c <x,z> rounds k to a multiple of one unit of c <x,z>, wherever the points move."""

    def rounded(X: Any, Z: Any) -> Any:
        X, Z = np.asarray(X), np.asarray(Z)
        return (np.tanh(0.02 * X) @ np.tanh(0.02 * Z).T + 2e7 * (X @ Z.T)) - 2e7 * (X @ Z.T)

    for points in ([[200.0], [250.0]], [[1000.0], [3000.0]], [[0.5], [60.0], [700.0]]):
        assert find_counterexample(Function(rounded), np.array(points)) is None, points


@pytest.mark.parametrize("size", [1e307, 1.2e308, 1.7e308])
@pytest.mark.parametrize("given", [False, True])
def test_values_near_the_largest_float_are_searched(size: float, given: bool) -> None:
    X = np.random.default_rng(0).normal(size=(8, 2)) if given else None
    with np.errstate(all="ignore"):
        find_counterexample(Function(lambda X, Z: size * np.tanh(X @ Z.T + 1.0)), X)  # raises nothing


def test_large_terms_that_cancel_in_unobserved_functions_are_not_refuted() -> None:
    """Half of the digits are lost in terms that the values do not show, and alike at all neighbors."""

    def formula(X: Any, Z: Any) -> Any:
        inner = np.asarray(X) @ np.asarray(Z).T
        first = (0.0013779708897931262 * inner + 483966.1075135043 * inner) - 483966.1075135043 * inner
        return ((first + 46.68013735547978 * inner) - 46.68013735547978 * inner) ** 2 / 2

    assert search(Function(formula), np.array([[-20000.0, 0.0, 0.0], [30000.0, 0.0, 0.0], [1.0, 2.0, 3.0]]))[0] is None


def test_remainders_of_unobserved_constants_are_not_refuted() -> None:
    """The mean of a matrix of constants that is 0 but for rounding, added to a kernel that is 0."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        a, S = rng.normal(size=(1, 1)), rng.normal(size=(3, 1))

        def rest(X: Any, Z: Any, a: Any = a) -> Any:
            return X @ Z.T - (X @ a.T) * (a @ Z.T) / (a @ a.T)

        def centered(X: Any, Z: Any, S: Any = S, rest: Any = rest) -> Any:
            return rest(X, Z) - rest(X, S).mean(1)[:, None] - rest(S, Z).mean(0) + rest(S, S).mean()

        assert search(Function(centered), np.array([[1e-6]]))[0] is None


def test_functions_that_cancel_are_refuted_where_they_fail() -> None:
    assert Function(lambda X, Z: np.cosh(X @ Z.T) - 1.01).certificate().status == "invalid"
    assert Function(lambda X, Z: np.cosh(X @ Z.T) - 1.0 - 1e-3 * (X @ Z.T)).certificate().status == "invalid"
    assert (
        Function(lambda X, Z: cosh_after_asarray(X, Z) - 1e-3 * (np.asarray(X) @ np.asarray(Z).T)).certificate().status
        == "invalid"
    )


@pytest.mark.parametrize("power", [-60, -20, 0, 20])
def test_the_scale_of_an_observed_function_does_not_matter(power: int) -> None:
    def small(X: Any, Z: Any) -> Any:
        return 2.0**power * np.tanh(X @ Z.T + 1.0)

    assert Function(small).certificate().status == "invalid"


def test_the_noise_of_an_observed_function_is_that_of_its_operations() -> None:
    def shifted(X: Any, Z: Any) -> Any:
        D = np.sqrt(np.sum((X[:, None, :] - Z[None]) ** 2, axis=2))
        D += 1e6
        D -= 1e6
        return np.where(D > 0.0, np.exp(-D), 1.0).astype(np.float64)

    X = np.random.default_rng(0).normal(size=(6, 2))
    observer = Observer(np.random.default_rng(0))
    noisy = np.array([observer.call(shifted, X, X) for _ in range(20)])
    unit = np.finfo(np.float64).eps * 1e6
    error = np.abs(noisy - shifted(X, X)).max()
    assert observer.complete and 0.1 * unit < error < 10 * unit


@pytest.mark.parametrize(
    "function",
    [cosh_after_asarray, cosh_row_by_row, lambda X, Z: mercer.Gaussian()(X, Z), lambda X, Z: np.linalg.pinv(X @ Z.T).T],
)
def test_functions_that_leave_the_observed_arrays_are_noticed(function: Any) -> None:
    X = np.random.default_rng(0).normal(size=(4, 2))
    observer = Observer(np.random.default_rng(0))
    np.testing.assert_allclose(np.array(observer.call(function, X, X), dtype=float), function(X, X), atol=1e-9)
    assert not observer.complete
