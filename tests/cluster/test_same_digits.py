"""Two worker processes give what one process gives, bit for bit: equal chunks, one order of sums, one thread of BLAS."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mercer
from mercer.numeric.threads import one_thread
from tests.cluster.cases import CASES, LABELS, NEW, STEP, Case, X, Y

da = pytest.importorskip("dask.array")


def lazy(values: Any) -> Any:
    return None if values is None else da.from_array(values, chunks=STEP if values.ndim == 1 else (STEP, -1))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_two_workers_give_the_bits_of_one_process(client: Any, case: Case) -> None:
    with one_thread():
        here = case.says(case.fit(mercer.chunks(X, case.target, rows=STEP)))
        there = case.says(case.fit(mercer.chunks(lazy(X), lazy(case.target))))
    np.testing.assert_array_equal(there, here)


def test_lazy_collections_go_into_fit_as_they_are(client: Any) -> None:
    model = mercer.KernelRidge(mercer.Gaussian(2.0), n_components=30).fit(lazy(X), lazy(Y))
    twin = mercer.KernelRidge(mercer.Gaussian(2.0), n_components=30).fit(mercer.chunks(X, Y, rows=STEP))
    np.testing.assert_allclose(model.predict(NEW), twin.predict(NEW), atol=1e-7)
    weights = np.arange(len(X)) % 3.0
    model.fit(lazy(X), lazy(Y), lazy(weights))
    np.testing.assert_allclose(model.predict(NEW), twin.fit(mercer.chunks(X, Y, weights, rows=STEP)).predict(NEW), atol=1e-7)


def test_columns_cut_into_blocks_and_targets_in_memory(client: Any) -> None:
    model = mercer.KernelRidge(mercer.Polynomial(2)).fit(da.from_array(X, chunks=(STEP, 2)), Y)
    twin = mercer.KernelRidge(mercer.Polynomial(2)).fit(X, Y)
    np.testing.assert_allclose(model.predict(NEW), twin.predict(NEW), atol=1e-9)


def test_files_on_workers(client: Any, tmp_path: Any) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {f"x{i}": X[:, i] for i in range(4)} | {"y": Y}
    for number in range(2):
        pq.write_table(pa.table({k: v[number::2] for k, v in columns.items()}), tmp_path / f"part{number}.parquet")
    model = mercer.KernelRidge(mercer.Gaussian(2.0), n_components=30)
    there = model.fit(mercer.chunks(tmp_path, target="y", rows=200, client=client))
    answers = [np.concatenate(list(there.predict(mercer.chunks(tmp_path, columns=["x0", "x1", "x2", "x3"]))))]
    here = model.fit(mercer.chunks(tmp_path, target="y", rows=200))
    answers.append(np.concatenate(list(here.predict(mercer.chunks(tmp_path, columns=["x0", "x1", "x2", "x3"])))))
    np.testing.assert_allclose(answers[0], answers[1], atol=1e-7)
    assert model.feature_names_in_.tolist() == ["x0", "x1", "x2", "x3"]


def test_data_frames_and_bags(client: Any) -> None:
    dd, pd, db = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas"), pytest.importorskip("dask.bag")
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=Y, kind=LABELS)
    table = dd.from_pandas(frame, npartitions=5)
    model = mercer.KernelRidge(mercer.Gaussian(2.0), n_components=30)
    model.fit(mercer.chunks(table[[*"abcd", "y"]], target="y"))
    new = dd.from_pandas(frame[list("abcd")], npartitions=3)
    answer = model.predict(new)
    assert isinstance(answer, da.Array)
    np.testing.assert_allclose(answer.compute(), model.predict(frame[list("abcd")]), atol=1e-12)
    mixed = mercer.Gaussian(1.0).on("a") + mercer.Categorical().on("kind")
    both = mercer.KernelRidge(mixed, n_components=40).fit(mercer.chunks(table, target="y", columns=["a", "kind"]))
    twin = mercer.KernelRidge(mixed, n_components=40, solver="nystroem").fit(frame[["a", "kind"]], Y)
    np.testing.assert_allclose(both.predict(frame[["a", "kind"]]), twin.predict(frame[["a", "kind"]]), atol=1e-6)
    words = ["".join(np.random.default_rng(i).choice(list("acgt"), 8)) for i in range(40)]
    counts = [float(word.count("a")) for word in words]
    bag = db.from_sequence(words, npartitions=4)
    spelled = mercer.KernelRidge(mercer.Spectrum(p=2), n_components=30).fit(bag, db.from_sequence(counts, npartitions=4))
    lazily = spelled.predict(bag)
    assert isinstance(lazily, db.Bag)
    np.testing.assert_allclose(lazily.compute(), spelled.predict(words), atol=1e-12)


def test_predictions_stay_lazy(client: Any) -> None:
    classifier = mercer.KernelRidgeClassifier(n_components=30).fit(lazy(X), lazy(LABELS))
    process = mercer.GaussianProcessRegressor(mercer.Gaussian(2.0), noise=0.1, optimizer=None).fit(X[:50], Y[:50])
    features = mercer.Nystroem(n_components=10, random_state=0).fit(lazy(X))
    for lazily, here in (
        (classifier.decision_function(lazy(NEW)), classifier.decision_function(NEW)),
        (classifier.predict(lazy(NEW)), classifier.predict(NEW)),
        (features.transform(lazy(NEW)), features.transform(NEW)),
        (process.predict(lazy(NEW)), process.predict(NEW)),
        (process.predict_interval(lazy(NEW)), process.predict_interval(NEW)),
    ):
        assert isinstance(lazily, da.Array) and lazily.shape == here.shape and lazily.dtype.kind == here.dtype.kind
        if here.dtype.kind == "f":
            np.testing.assert_allclose(lazily.compute(), here, atol=1e-10)
        else:
            np.testing.assert_array_equal(lazily.compute(), here)
    process.set_params(solver="inducing", n_inducing=20).fit(lazy(X), lazy(Y))
    mean, std = process.predict(lazy(NEW), return_std=True)
    np.testing.assert_allclose(std.compute(), process.predict(NEW, return_std=True)[1], atol=1e-10)
    assert mean.shape == std.shape
