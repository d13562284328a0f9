"""Chunks of arrays, files and iterators, and the reader that reads them."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import mercer
from mercer.errors import InputError
from mercer.inputs import chunk_files
from mercer.inputs.chunks import ChunkReader, as_chunks, stacked

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(23, 3)), RNG.normal(size=23)


def all_of(chunks: Any) -> tuple[Any, Any]:
    loaded = [part.load() for part in chunks.parts]
    rows = [chunk[0].to_numpy() if hasattr(chunk[0], "to_numpy") else chunk[0] for chunk in loaded]
    return stacked(rows), None if loaded[0][1] is None else np.concatenate([chunk[1] for chunk in loaded])


def test_arrays_are_cut_in_order() -> None:
    found = mercer.chunks(X, Y, rows=10)
    assert found.lengths == (10, 10, 3)
    rows, y = all_of(found)
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(y, Y)
    assert [part.where for part in found.parts][1] == "chunk 1 (rows 10 … 19)"
    assert mercer.chunks(sp.csr_array(X), rows=7).lengths == (7, 7, 7, 2)


def test_a_mapped_array_goes_to_another_process_by_its_name(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.tile(X, (1000, 1)))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    part = mercer.chunks(mapped, rows=10_000).parts[1]
    sent = pickle.dumps(part)
    assert len(sent) < 2000  # the place in the file, not the rows
    back = pickle.loads(sent).load()[0]
    assert isinstance(back, np.memmap)
    np.testing.assert_array_equal(back, mapped[10_000:20_000])
    view = mapped[5:]  # NumPy does not know where a view begins in the file, so its rows travel
    back = pickle.loads(pickle.dumps(mercer.chunks(view, rows=10).parts[1])).load()[0]
    np.testing.assert_array_equal(back, mapped[15:25])


@pytest.fixture
def tables(tmp_path: Path) -> dict[str, Path]:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pytest.importorskip("duckdb")
    for kind in ("parquet", "arrow", "csv"):
        (tmp_path / kind).mkdir()
        for number, rows in enumerate((slice(0, 13), slice(13, 23))):
            names = [f"x{i}" for i in range(3)]
            table = pa.table({**{n: X[rows, i] for i, n in enumerate(names)}, "y": Y[rows], "w": np.ones(len(Y[rows]))})
            path = tmp_path / kind / f"{number}.{kind}"
            if kind == "parquet":
                pq.write_table(table, path, row_group_size=4)
            elif kind == "arrow":
                with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
                    writer.write_table(table, max_chunksize=4)
            else:
                lines = [",".join(table.column_names)]
                lines += [",".join(repr(v) for v in row.values()) for row in table.to_pylist()]
                path.write_text("\n".join(lines) + "\n")
    return {kind: tmp_path / kind for kind in ("parquet", "arrow", "csv")}


@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv"])
def test_folders_of_files(tables: dict[str, Path], kind: str) -> None:
    found = mercer.chunks(tables[kind], target="y", weight="w", rows=5)
    assert found.lengths == (5, 5, 3, 5, 5)
    for _ in range(2):  # again, as a second pass does
        rows, y = all_of(found)
        np.testing.assert_array_equal(rows, X)
        np.testing.assert_array_equal(y, Y)
    loaded = found.parts[3].load()  # out of turn
    np.testing.assert_array_equal(loaded[0].to_numpy(), X[13:18])
    np.testing.assert_array_equal(loaded[2], np.ones(5))
    assert "0." in found.parts[0].where and "rows 5 … 9" in found.parts[1].where
    both = mercer.chunks(tables[kind], target=["y", "x0"], columns=["x2", "x1"]).parts[0].load()
    np.testing.assert_array_equal(both[0].to_numpy(), X[:13, [2, 1]])
    np.testing.assert_array_equal(both[1], np.column_stack([Y[:13], X[:13, 0]]))
    assert pickle.loads(pickle.dumps(found.parts[1])).load()[1].tolist() == Y[5:10].tolist()


def test_a_model_of_files_is_that_of_their_rows(tables: dict[str, Path]) -> None:
    here = mercer.KernelRidge(mercer.Gaussian(1.0), solver="nystroem").fit(X, Y).predict(X)
    for folder in tables.values():
        model = mercer.KernelRidge(mercer.Gaussian(1.0)).fit(
            mercer.chunks(folder, target="y", columns=["x0", "x1", "x2"], rows=4)
        )
        np.testing.assert_allclose(model.predict(X), here, atol=1e-9)


def test_holes_words_and_other_columns_in_files(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    (tmp_path / "a.csv").write_text("a,b,y\n1,2,3\n4,,6\n")
    model = mercer.KernelRidge(mercer.Linear())
    with pytest.raises(InputError, match=r"a\.csv, rows 0 … 1.*of X has NaN at row 1, column 1"):
        model.fit(mercer.chunks(tmp_path / "a.csv", target="y"))
    (tmp_path / "a.csv").write_text("a,b,y\n1,2,3\n4,five,6\n")
    with pytest.raises(InputError, match=r"a\.csv, rows 0 … 1.*column 'b' holds"):
        model.fit(mercer.chunks(tmp_path / "a.csv", target="y"))
    (tmp_path / "b.csv").write_text("a,c,y\n1,2,3\n")
    with pytest.raises(InputError, match=r"b\.csv: its columns differ"):
        mercer.chunks(tmp_path, target="y")
    with pytest.raises(InputError, match="there is no column 'z'"):
        mercer.chunks(tmp_path / "a.csv", target="z")
    with pytest.raises(InputError, match="no rows below"):
        (tmp_path / "b.csv").write_text("a,b\n")
        mercer.chunks(tmp_path / "b.csv")
    with pytest.raises(InputError, match="name the columns of a file"):
        mercer.chunks(tmp_path / "a.csv", Y)


def test_a_csv_file_that_became_shorter_is_noticed(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    path = tmp_path / "a.csv"
    path.write_text("a,y\n" + "1,2\n" * 50)
    found = mercer.chunks(path, target="y", rows=30)
    path.write_text("a,y\n" + "1,2\n" * 40)
    chunk_files._readers.__dict__.clear()
    with pytest.raises(InputError, match="fewer rows than it had"):
        all_of(found)


def test_what_is_lazy() -> None:
    assert as_chunks(X, Y) is None
    assert as_chunks(iter([(X, Y)])) is not None
    assert as_chunks(lambda: iter([(X, Y)])) is not None
    assert as_chunks(mercer.chunks(X)) is not None
    for wrong, words in (
        (lambda: mercer.chunks(mercer.chunks(X), Y), "leave y and sample_weight out"),
        (lambda: mercer.chunks(iter([X]), Y), "leave y and sample_weight out"),
        (lambda: mercer.chunks(iter([X]), checkpoint="here"), "can be read again"),
        (lambda: mercer.chunks(X, Y[:3]), "y has 3 rows, X has 23"),
        (lambda: mercer.chunks(X, rows=0), "rows must be a whole number >= 1"),
        (lambda: mercer.chunks(5), "not a collection"),
        (lambda: mercer.chunks(lambda: iter([X]), client=object()), "lives in this process"),
    ):
        with pytest.raises(InputError, match=words):
            wrong()


BAD = X.copy()
BAD[12, 1] = np.nan


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([(X, Y), (X[:, :2], Y)], "chunk 1 of X has 2 columns, the first has 3"),
        ([(X, Y), (X.astype(object).astype(str), Y)], "chunk 1 of X holds text"),
        ([(X, Y), (BAD, Y)], "chunk 1 of X has NaN at row 12, column 1"),
        ([(X, Y), (X, np.where(Y > 1, np.nan, Y))], "chunk 1 of y contains NaN"),
        ([(X, Y), (X, Y[:5])], "chunk 1: X has 23 rows and y has 5"),
        ([(X, Y, np.ones(23)), (X, Y, -np.ones(23))], "chunk 1: sample_weight must hold finite numbers >= 0"),
        ([(X, Y), "word"], "chunk 1 is str 'word'"),
        ([(X[:0], Y[:0])], "all chunks are empty"),
    ],
)
def test_a_bad_chunk_is_named(parts: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        mercer.KernelRidge(mercer.Gaussian(1.0), n_components=5).fit(lambda: iter(parts))


def test_empty_chunks_and_other_types_count_for_what_they_are() -> None:
    whole = np.round(X * 10)
    parts = [(whole[:0], Y[:0]), (whole[:9].astype(int), Y[:9]), (whole[:0], Y[:0]), (whole[9:].astype(np.float32), Y[9:])]
    model = mercer.KernelRidge(mercer.Polynomial(2)).fit(lambda: iter(parts))
    np.testing.assert_allclose(
        model.predict(X), mercer.KernelRidge(mercer.Polynomial(2)).fit(whole, Y).predict(X), atol=1e-8
    )


def test_frames_with_columns_in_another_order_are_refused() -> None:
    pd = pytest.importorskip("pandas")
    reader = ChunkReader("vectors", None, width=2, names=("a", "b"))
    good = reader.read(0, "partition 0", (pd.DataFrame({"a": [1.0], "b": [2.0]}), None, None))
    assert good is not None and good.names == ("a", "b")
    with pytest.raises(InputError, match=r"partition 3 of X has other columns.*their order differs"):
        reader.read(3, "partition 3", (pd.DataFrame({"b": [1.0], "a": [2.0]}), None, None))
    with pytest.raises(InputError, match="'c' is in one only"):
        reader.read(3, "partition 3", (pd.DataFrame({"a": [1.0], "b": [1.0], "c": [2.0]}), None, None))
