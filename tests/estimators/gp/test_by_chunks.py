"""Gaussian processes on chunks: the inducing route of the same rows in memory, and the dense formula of its bound."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mercer
from mercer.errors import InputError
from mercer.estimators.gp.chunked import ChunkedEngine, ChunkedProblem
from mercer.estimators.gp.inducing import InducingEngine
from mercer.estimators.gp.problem import EngineSettings, GPProblem, MeanFunction, TargetUnits, read_parameters
from mercer.grams.chunks import journal, tasks
from mercer.grams.chunks.rows import ChunkedRows

RNG = np.random.default_rng(8)
X = RNG.normal(size=(431, 3))
Y = 20.0 + np.sin(X[:, 0]) + 0.3 * X[:, 1] ** 2 + 0.1 * RNG.normal(size=431)
NEW = RNG.normal(size=(17, 3))
KERNEL = 2.0 * mercer.Matern(nu=1.5, length_scale=(1.5, 1.0, 3.0)) + 0.3 * mercer.Linear()


def cut(rows: Any = X, y: Any = Y, size: int = 97, **more: Any) -> Any:
    return mercer.chunks(rows, y, rows=size, **more)


def process(kernel: Any = KERNEL, **more: Any) -> Any:
    settings = {"noise": 0.02, "optimizer": None, "solver": "inducing", "n_inducing": 40}
    return mercer.GaussianProcessRegressor(kernel, **(settings | more))


def agree(there: Any, here: Any, atol: float) -> None:
    for one, two in zip(there.predict(NEW, return_std=True), here.predict(NEW, return_std=True), strict=True):
        np.testing.assert_allclose(one, two, rtol=0, atol=atol)
    np.testing.assert_allclose(there.predict_interval(NEW), here.predict_interval(NEW), rtol=0, atol=atol)
    assert there.log_marginal_likelihood_value_ == pytest.approx(here.log_marginal_likelihood_value_, abs=1e-6)
    np.testing.assert_allclose(there.intercept_, here.intercept_, rtol=0, atol=10 * atol)


@pytest.mark.parametrize("mean", ["zero", "constant", "linear"])
@pytest.mark.parametrize("targets", [Y, np.column_stack([Y, 100.0 * Y**2])], ids=["one", "two"])
def test_the_process_of_chunks_is_that_of_the_rows(mean: str, targets: Any) -> None:
    here, there = process(mean=mean).fit(X, targets), process(mean=mean).fit(cut(y=targets))
    np.testing.assert_array_equal(there._posterior.Z, here._posterior.Z)
    agree(there, here, 1e-10 * np.linalg.cond(there._posterior.LB) ** 2 * np.abs(targets).max())
    assert str(there) and there.diagnosis_.rows == 431 and not hasattr(there, "X_fit_")


def test_a_search_ends_where_that_of_the_rows_ends() -> None:
    more: dict[str, Any] = {"kernel": mercer.Gaussian((1.0,) * 3), "noise": "fit", "optimizer": "bfgs"}
    here, there = process(**more).fit(X, Y), process(**more).fit(cut())
    np.testing.assert_allclose(there.theta_, here.theta_, atol=1e-5)
    agree(there, here, 1e-5)
    assert there.route_.passes > 10  # as many as it took
    assert there.diagnosis_.n_evaluations == here.diagnosis_.n_evaluations


def test_against_the_dense_bound() -> None:
    model = process(2.0 * mercer.Gaussian(1.2), mean="zero", normalize_y=False).fit(cut(y=Y - 20.0))
    k, Z, noise = model.kernel_, model._posterior.Z, 0.02
    Kuu, Kuf = k(Z) + 1e-12 * 2.0 * np.eye(len(Z)), k(Z, X)
    Q = Kuf.T @ np.linalg.solve(Kuu, Kuf)
    G, y = Q + noise * np.eye(len(X)), Y - 20.0
    logdet = np.linalg.slogdet(G)[1]
    bound = -0.5 * (y @ np.linalg.solve(G, y) + logdet + len(y) * np.log(2 * np.pi) + np.trace(k(X) - Q) / noise)
    assert model.log_marginal_likelihood_value_ == pytest.approx(bound, rel=1e-7)
    mean, std = model.predict(NEW, return_std=True)
    cross = k(NEW, Z) @ np.linalg.solve(Kuu, Kuf)
    np.testing.assert_allclose(mean, cross @ np.linalg.solve(G, y), atol=1e-6)
    reduced = np.einsum("ij,ji->i", cross, np.linalg.solve(G, cross.T))
    np.testing.assert_allclose(std**2, k.diag(NEW) - reduced, atol=1e-6)


def test_the_gradient_is_that_of_the_rows_and_of_differences() -> None:
    rows = ChunkedRows.opened(cut(), "vectors", process()._chunk_targets(), "test")
    given = ChunkedProblem.of(rows, "constant", True)
    mean, units = MeanFunction.of("constant", X), TargetUnits.of(Y[:, None], "constant", True)
    local = GPProblem(X, np.hstack([units.inside(Y[:, None]), mean.columns(X)]), 1)
    settings, noise = EngineSettings(n_inducing=30), 0.05
    there, here = ChunkedEngine(settings), InducingEngine(settings)
    one, two = there.evidence(given, KERNEL, noise, True), here.evidence(local, KERNEL, noise, True)
    assert one.value == pytest.approx(two.value, rel=1e-10)
    np.testing.assert_allclose(one.kernel_gradient, two.kernel_gradient, rtol=1e-7, atol=1e-6)
    assert one.noise_gradient == pytest.approx(two.noise_gradient, rel=1e-8)
    for i, slope in enumerate(one.kernel_gradient):  # the inducing rows stay
        ends = [KERNEL.with_theta(KERNEL.theta + s * 1e-4 * np.eye(len(KERNEL.theta))[i]) for s in (1, -1)]
        up, down = (there.evidence(given, end, noise, False).value for end in ends)
        assert (up - down) / 2e-4 == pytest.approx(slope, rel=1e-3, abs=1e-2)


def test_what_starting_values_are_taken_from_is_the_same() -> None:
    rows = np.random.default_rng(0).normal(3.0, [1.0, 5.0, 0.0], size=(2500, 3))  # more than are looked at; one is constant
    y = np.sin(rows[:, 0])
    source = ChunkedRows.opened(cut(rows, y, 700), "vectors", process()._chunk_targets(), "test")
    given = ChunkedProblem.of(source, "linear", True)
    assert given.mean.spread[2] == np.inf and given.sizes() == pytest.approx((np.var(y), True, np.abs(y - y.mean()).max()))
    more: dict[str, Any] = {"noise": None, "fit": True, "bounds": None, "fixed": (), "priors": "weak"}
    for kernel in (mercer.Gaussian(1.0), mercer.Gaussian((1.0, 1.0, 1.0))):
        here = read_parameters(kernel, rows, 0.5, **more)
        there = read_parameters(kernel, given.starting_rows(True), 0.5, **more)
        np.testing.assert_allclose(there.typical, here.typical, atol=1e-12)
        np.testing.assert_allclose(there.start, here.start, atol=1e-12)


def test_strings_and_constant_targets() -> None:
    words = ["".join(np.random.default_rng(i).choice(list("acgt"), 8)) for i in range(50)]
    counts = np.array([float(word.count("a")) for word in words])
    here, there = process(mercer.Spectrum(p=2)).fit(words, counts), process(mercer.Spectrum(p=2)).fit(cut(words, counts, 11))
    np.testing.assert_allclose(there.predict(words), here.predict(words), atol=1e-8)
    flat = process(noise="fit", optimizer="bfgs").fit(cut(y=np.full(len(X), 3.0)))
    np.testing.assert_allclose(flat.predict(NEW), 3.0, atol=1e-9)
    assert any("y is constant" in note for note in flat.diagnosis_.notes)
    with pytest.raises(InputError, match="rescale y"):
        process().fit(cut(y=1e200 * Y))


def test_auto_means_inducing_and_says_so_once() -> None:
    with pytest.warns(UserWarning, match="the rows come in chunks, therefore solver='inducing' is used") as seen:
        process(solver="auto").fit(cut())
    assert len(seen) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        process().fit(cut())


def test_what_cannot_be_is_said() -> None:
    for more, given, words in (
        ({"solver": "exact"}, cut(), "solver='exact' needs all rows; use 'inducing' for chunks"),
        ({"noise": np.ones(len(X))}, cut(), "noise per row is not available for chunks"),
        ({"noise": 0.0}, cut(), "needs noise > 0"),
        ({}, iter([(X, Y)]), "not an iterator"),
        ({}, cut(y=None), "requires y to be passed"),
        ({}, mercer.chunks(X, Y, np.ones(len(X))), "does not use weights of chunks"),
        ({"mean": "linear", "kernel": mercer.Spectrum(2)}, cut(["ab", "ba", "aa"], Y[:3]), "X"),
    ):
        with pytest.raises(InputError, match=words):
            process(**more).fit(given)
    with pytest.raises(InputError, match="noise per row is not available for chunks"):
        process().fit(cut(), noise=np.ones(len(X)))
    model = process().fit(cut())
    with pytest.raises(InputError, match="which a fit by chunks does not keep"):
        model.log_marginal_likelihood(model.theta_ + 0.1)
    assert model.log_marginal_likelihood() == model.log_marginal_likelihood_value_
    with pytest.raises(InputError, match="needs the exact route"):
        _ = model.loo_


def test_a_search_that_was_stopped_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more: dict[str, Any] = {"kernel": mercer.Gaussian(1.0), "noise": "fit", "optimizer": "bfgs", "n_restarts": 0}
    whole = process(**more).fit(cut())
    seen, inner = 0, tasks.RunningSums.add
    monkeypatch.setattr(journal, "PATIENCE", 0.0)

    def add(self: Any, *given: Any) -> None:
        nonlocal seen
        if seen == 5 * 7 + 2:
            raise KeyboardInterrupt
        seen += 1
        inner(self, *given)

    with monkeypatch.context() as patch:
        patch.setattr(tasks.RunningSums, "add", add)
        with pytest.raises(KeyboardInterrupt):
            process(**more).fit(cut(checkpoint=tmp_path / "kept"))
    assert len(list((tmp_path / "kept").glob("pass-*"))) == 7
    again = process(**more).fit(cut(checkpoint=tmp_path / "kept"))
    np.testing.assert_array_equal(again.theta_, whole.theta_)
    np.testing.assert_array_equal(again.predict(NEW), whole.predict(NEW))
    assert not (tmp_path / "kept").exists()
    # sums of another setting are not believed
    with monkeypatch.context() as patch:
        seen = 0
        patch.setattr(tasks.RunningSums, "add", add)
        with pytest.raises(KeyboardInterrupt):
            process(**more).fit(cut(checkpoint=tmp_path / "kept"))
    monkeypatch.setattr("mercer.estimators.gp.problem.NOISE_START", 0.5)
    monkeypatch.setattr("mercer.estimators.gp.search.SUBSET", 10**9)  # no climb on a part comes before
    with pytest.raises(InputError, match="this checkpoint is of another version"):
        process(**more).fit(cut(checkpoint=tmp_path / "kept"))


def test_a_chunk_that_cannot_be_read_any_more_ends_the_search() -> None:
    calls = 0

    def parts() -> Any:
        nonlocal calls
        calls += 1
        rows = X.copy()
        if calls > 9:  # in the middle of the climb
            rows[3, 1] = np.nan
        return ((rows[i : i + 97], Y[i : i + 97]) for i in range(0, len(X), 97))

    model = process(mercer.Gaussian(1.0), noise="fit", optimizer="bfgs", n_restarts=0)
    with pytest.raises(InputError, match="chunk 0 of X has NaN at row 3, column 1"):
        model.fit(mercer.chunks(parts))
    assert calls == 10
