"""Partitions that are empty, of unknown size, of other columns or types, or with holes: right, or named in an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mercer
from mercer.errors import InputError
from tests.cluster.cases import NEW, OTHER, STEP, X, Y

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")


def model() -> Any:
    return mercer.KernelRidge(mercer.Gaussian(2.0), n_components=30)


def here() -> Any:
    return model().set_params(solver="nystroem").fit(X, Y).predict(NEW)


def joined(parts: list[Any], width: int | None = None) -> Any:
    """An array of partitions as they are, whatever they claim."""
    tail = () if width is None else (width,)
    blocks = [da.from_delayed(dask.delayed(part), shape=(np.nan, *tail), dtype=float) for part in parts]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def cut(values: Any, sizes: list[int]) -> list[Any]:
    return np.split(values, np.cumsum(sizes)[:-1])


SIZES = [300, 0, 400, 303]


def test_unknown_sizes_and_empty_partitions(client: Any) -> None:
    parts, targets = cut(X, SIZES), cut(Y, SIZES)
    fitted = model().fit(joined(parts, 4), joined(targets))
    np.testing.assert_allclose(fitted.predict(NEW), here(), atol=1e-6)
    answers = fitted.predict(joined(parts, 4)).compute()
    np.testing.assert_allclose(answers, fitted.predict(X), atol=1e-10)
    kept = mercer.NearestMean(mercer.Gaussian(2.0)).fit(joined(parts, 4), joined([np.sign(t) for t in targets]))
    assert len(kept.X_fit_) == len(X)


def test_sizes_that_a_filter_made(client: Any) -> None:
    mask = X[:, 0] > -0.2
    lazy = da.from_array(X, chunks=(STEP, -1))
    fitted = model().fit(lazy[lazy[:, 0] > -0.2], da.from_array(Y, chunks=STEP)[lazy[:, 0] > -0.2])
    twin = model().set_params(solver="nystroem").fit(X[mask], Y[mask])
    np.testing.assert_allclose(fitted.predict(NEW), twin.predict(NEW), atol=1e-6)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda p, t: (p[2].__setitem__((7, 1), np.nan), None), "partition 2 of X has NaN at row 7, column 1"),
        (lambda p, t: (t[3].__setitem__(5, np.inf), None), "partition 3 of y contains infinity"),
        (lambda p, t: p.__setitem__(3, p[3][:, :2]), "partition 3 of X has 2 columns, the first has 4"),
        (lambda p, t: p.__setitem__(2, p[2].astype(str)), "partition 2 of X holds text"),
        (lambda p, t: p.__setitem__(2, p[2] + 0j), "partition 2 of X is complex"),
        (lambda p, t: t.__setitem__(2, t[2][:-1]), "partition 2: X has 400 rows and y has 399"),
    ],
)
@pytest.mark.parametrize("where", ["workers", "no client"])
def test_a_bad_partition_is_named(client: Any, spoil: Any, words: str, where: str) -> None:
    parts, targets = [p.copy() for p in cut(X, SIZES)], [t.copy() for t in cut(Y, SIZES)]
    spoil(parts, targets)
    found = mercer.chunks(joined(parts, 4), joined(targets), client=client)
    if where == "no client":
        import dataclasses

        found = dataclasses.replace(found, client=None)
    with pytest.raises(InputError, match=words):
        model().fit(found)


def test_a_process_of_which_a_partition_is_empty_or_bad(client: Any) -> None:
    settings: dict[str, Any] = {"noise": 0.1, "optimizer": None, "solver": "inducing", "n_inducing": 30}
    process = mercer.GaussianProcessRegressor(mercer.Gaussian(2.0), **settings)
    there = process.fit(joined(cut(X, SIZES), 4), joined(cut(Y, SIZES))).predict(NEW)
    np.testing.assert_allclose(there, process.fit(X, Y).predict(NEW), atol=1e-9)
    parts, targets = [p.copy() for p in cut(X, SIZES)], [t.copy() for t in cut(Y, SIZES)]
    parts[2][7, 1], before = np.nan, process.predict(NEW)
    with pytest.raises(InputError, match="partition 2 of X has NaN at row 7, column 1"):
        process.fit(joined(parts, 4), joined(targets))
    np.testing.assert_array_equal(process.predict(NEW), before)  # a fit that fails changes nothing


def test_two_samples_of_which_a_partition_is_empty_or_bad(client: Any) -> None:
    parts, other = cut(X, SIZES), OTHER[:400]
    here = mercer.mmd_test(X, other, mercer.Gaussian(2.0), 49, 0)
    there = mercer.mmd_test(joined(parts, 4), joined(cut(other, [150, 0, 250]), 4), mercer.Gaussian(2.0), 49, 0)
    assert there.pvalue == here.pvalue and there.statistic == pytest.approx(here.statistic, abs=1e-13)
    spoiled = [part.copy() for part in cut(other, [150, 250])]
    spoiled[1][7, 1] = np.nan
    with pytest.raises(InputError, match="partition 1 of Y has NaN at row 7, column 1"):
        mercer.mmd_test(joined(parts, 4), joined(spoiled, 4), mercer.Gaussian(2.0), 49, 0)
    with pytest.raises(InputError, match="Y has 0 rows"):
        mercer.mmd_test(joined(parts, 4), joined([X[:0]], 4), mercer.Gaussian(2.0), 49, 0)


def test_two_samples_of_strings_and_frames(client: Any) -> None:
    dd, pd, db = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas"), pytest.importorskip("dask.bag")
    words = [["".join(np.random.default_rng(i + s).choice(list("acgt"), 8)) for i in range(30)] for s in (0, 1000)]
    bags = [db.from_sequence(sample, npartitions=3).map(str.upper) for sample in words]
    here = mercer.mmd_test(*([w.upper() for w in sample] for sample in words), None, 49, 0)
    assert mercer.mmd_test(*bags, None, 49, 0).pvalue == here.pvalue
    frames = [pd.DataFrame(sample, columns=list("abcd")) for sample in (X[:200], OTHER[:90])]
    here = mercer.mmd_test(*frames, None, 49, 0)
    lazily = [dd.from_pandas(frame, npartitions=3) for frame in frames]
    assert mercer.mmd_test(*lazily, None, 49, 0).pvalue == here.pvalue
    mixed = mercer.Gaussian(1.0).on("a") * mercer.Gaussian(2.0).on("c")
    assert mercer.mmd_test(*lazily, mixed, 49, 0).pvalue == mercer.mmd_test(*frames, mixed, 49, 0).pvalue


def test_other_types_of_numbers_are_numbers(client: Any) -> None:
    parts = cut(np.round(8 * X), SIZES)
    parts[2] = parts[2].astype(np.int32)
    parts[3] = parts[3].astype(np.float32)
    fitted = mercer.KernelRidge(mercer.Polynomial(2)).fit(joined(parts, 4), joined(cut(Y, SIZES)))
    twin = mercer.KernelRidge(mercer.Polynomial(2)).fit(np.round(8 * X), Y)
    np.testing.assert_allclose(fitted.predict(NEW), twin.predict(NEW), atol=1e-8)


def test_without_a_client_partitions_are_computed_here() -> None:
    import dataclasses

    lazy = mercer.chunks(da.from_array(X, chunks=(STEP, -1)), da.from_array(Y, chunks=STEP))
    alone = dataclasses.replace(lazy, client=None)
    np.testing.assert_allclose(model().fit(alone).predict(NEW), here(), atol=1e-6)


def test_partitions_that_do_not_go_together(client: Any) -> None:
    lazy = da.from_array(X, chunks=(STEP, -1))
    fitted = model().fit(lazy, da.from_array(Y, chunks=250))  # known sizes are brought together
    np.testing.assert_allclose(fitted.predict(NEW), here(), atol=1e-6)
    with pytest.raises(InputError, match="y has 2 partitions and X has 4"):
        model().fit(joined(cut(X, SIZES), 4), joined(cut(Y, [500, 503])))
    with pytest.raises(InputError, match="partitions of X have unknown sizes"):
        model().fit(joined(cut(X, SIZES), 4), Y)
    with pytest.raises(InputError, match="y is lazy and X is not"):
        model().fit(X, da.from_array(Y))
    with pytest.raises(InputError, match="all chunks are empty"):
        model().fit(joined([X[:0], X[:0]], 4), joined([Y[:0], Y[:0]]))


def test_a_client_that_is_closed_or_none() -> None:
    distributed = pytest.importorskip("distributed")
    with pytest.raises(InputError, match="client must be a dask"):
        model().fit(mercer.chunks(X, Y, client="localhost"))
    cluster = distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None, silence_logs=50)
    client = distributed.Client(cluster, set_as_default=False)
    client.close()
    cluster.close()
    with pytest.raises(InputError, match="the Dask client is closed"):
        model().fit(mercer.chunks(X, Y, client=client))


def test_frames_of_other_columns(client: Any) -> None:
    dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    frames = [pd.DataFrame(X[:50], columns=list("abcd")), pd.DataFrame(X[50:99, ::-1], columns=list("dcba"))]
    lazy = dd.from_delayed([dask.delayed(f) for f in frames], meta=frames[0].iloc[:0], verify_meta=False)
    with pytest.raises(InputError, match=r"partition 1 of X has other columns.*their order differs"):
        mercer.Nystroem(n_components=5).fit(lazy)
    with pytest.raises(InputError, match="X has no column 'price'"):
        mercer.chunks(lazy, target="price")
