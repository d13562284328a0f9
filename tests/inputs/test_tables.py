"""Data files: each kind is read, and each way to be broken has its sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import Gaussian, Linear, Spectrum
from mercer.errors import InputError
from mercer.inputs import as_rows
from mercer.inputs.tables import Table, read


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


# -- what is read --------------------------------------------------------------------------------


def test_csv_gives_named_columns(tmp_path: Path) -> None:
    table = read(write(tmp_path / "a.csv", 'age,city\n31,"Köln, Süd"\n42.5,東京\n'))
    assert table.columns == ["age", "city"]
    assert table.shape == (2, 2) and len(table) == 2
    assert table["age"].to_numpy().tolist() == [31.0, 42.5]
    assert list(table["city"]) == ["Köln, Süd", "東京"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_the_delimiter_is_that_of_the_first_line(tmp_path: Path, delimiter: str, ending: str) -> None:
    lines = ["a,b".replace(",", delimiter), "1,2".replace(",", delimiter), ""]
    table = read(write(tmp_path / "a.csv", ending.join(lines)))
    assert table.columns == ["a", "b"]
    assert table.to_numpy().tolist() == [[1.0, 2.0]]


def test_csv_with_a_byte_order_mark_quotes_and_blank_lines(tmp_path: Path) -> None:
    table = read(write(tmp_path / "a.csv", '\ufeff"a","b"\n1,"x\ny"\n\n2,z\n'))
    assert table.columns == ["a", "b"]
    assert list(table["b"]) == ["x\ny", "z"]


def test_missing_cells_of_a_column_of_numbers_are_nan(tmp_path: Path) -> None:
    table = read(write(tmp_path / "a.csv", "a,b\n1,x\n,y\nNA,\n"))
    assert np.array_equal(table["a"].to_numpy(), [1.0, np.nan, np.nan], equal_nan=True)
    assert list(table["b"]) == ["x", "y", ""]


def test_columns_without_a_name_get_one(tmp_path: Path) -> None:
    assert read(write(tmp_path / "a.csv", ",x\n0,1\n")).columns == ["column 0", "x"]


def test_npy_npz_and_sparse(tmp_path: Path) -> None:
    X = np.arange(6.0).reshape(3, 2)
    np.save(tmp_path / "a.npy", X)
    np.savez(tmp_path / "one.npz", anything=X)
    np.savez(tmp_path / "two.npz", X=X, y=np.ones(3))
    sp.save_npz(tmp_path / "sparse.npz", sp.csr_array(X))
    for name in ("a.npy", "one.npz", "two.npz"):
        assert np.array_equal(read(tmp_path / name), X)
    assert np.array_equal(read(tmp_path / "sparse.npz").toarray(), X)


def test_npy_of_strings_is_a_list(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array(["abc", "äö"]))
    assert read(tmp_path / "a.npy") == ["abc", "äö"]


def test_parquet_of_every_kind_of_column(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    columns = {"i": [1, 2], "f": pa.array([0.5, None]), "b": [True, False], "s": ["ä", "b"]}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    table = read(tmp_path / "a.parquet")
    assert table["i"].to_numpy().tolist() == [1.0, 2.0]
    assert np.isnan(table["f"].to_numpy()[1])
    assert table["b"].to_numpy().tolist() == [1.0, 0.0]
    assert list(table["s"]) == ["ä", "b"]


def test_text_is_one_string_per_line(tmp_path: Path) -> None:
    assert read(write(tmp_path / "a.txt", "GATTACA\n\nčaj\u2028x\n")) == ["GATTACA", "", "čaj\u2028x"]
    assert read(write(tmp_path / "b.txt", "no end")) == ["no end"]


def test_kernels_take_a_table_as_they_take_a_frame() -> None:
    table = Table(
        {
            "a": np.array([0.0, 1.0, 3.0]),
            "b": np.array([1.0, 0.0, 2.0]),
            "s": np.array(["ab", "ba", "abab"], dtype=object),
        }
    )
    rows = as_rows(table, "a.csv")
    X = np.array([[0.0, 1.0], [1.0, 0.0], [3.0, 2.0]])
    k = Gaussian(2.0).on("a") * Linear().on("b", "a") + Spectrum(2).on("s")
    expected = Gaussian(2.0)(X[:, [0]]) * Linear()(X) + Spectrum(2)(["ab", "ba", "abab"])
    assert np.allclose(k(rows), expected)
    some = rows.take(np.array([2, 0]))
    assert np.allclose(k(some), expected[np.ix_([2, 0], [2, 0])])
    with pytest.raises(InputError, match=r"a\.csv has no column 'c'; it has 'a', 'b', 's'"):
        Linear().on("c")(rows)
    with pytest.raises(InputError, match="column 's' holds str 'ab', not numbers"):
        Linear()(rows)


# -- what is refused --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "", "the file is empty"),
        ("a.csv", "\n\n", "the file is empty"),
        ("a.csv", "a,b\n", "no rows below it"),
        ("a.csv", "1,2\n3,4\n", "the first line holds numbers"),
        ("a.csv", "a,a\n3,4\n", "two columns are called 'a'"),
        ("a.csv", "a,b\n3,4\n5\n", "line 3: 1 cell, but the first line names 2 columns"),
        ("a.csv", 'a,b\n3,"4\n', "not readable as CSV"),
        ("a.txt", "", "the file is empty"),
        ("a.npy", "not an array", "damaged, or not what its name says"),
        ("a.npz", "not an archive", "damaged, or not what its name says"),
        ("b.npz", "PK\x03\x04 half an archive", "damaged, or not what its name says"),
        ("a.npy", "", "damaged, or not what its name says"),
        ("a.parquet", "not a table", "damaged, or not Parquet"),
        ("a.parquet", "", "damaged, or not Parquet"),
        ("a.xlsx", "", "cannot tell what kind of file"),
        ("plain", "", "cannot tell what kind of file"),
    ],
)
def test_broken_files_get_one_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = write(tmp_path / name, text)
    with pytest.raises(InputError, match=message) as caught:
        read(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_files_folders_and_other_encodings(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        read(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match="this is a folder"):
        read(tmp_path / "folder.csv")
    with pytest.raises(InputError, match="not UTF-8 text"):
        read(write(tmp_path / "a.csv", "größe\n1\n", encoding="latin-1"))


def test_python_objects_are_not_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "a.npz", X=np.array([{"a": 1}], dtype=object))
    for name in ("a.npy", "a.npz"):
        with pytest.raises(InputError, match="holds Python objects, which are not loaded"):
            read(tmp_path / name)


def test_several_arrays_without_x(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", one=np.ones(2), two=np.ones(2))
    with pytest.raises(InputError, match=r"holds 2 arrays \(one, two\); save one, or call it X"):
        read(tmp_path / "a.npz")


def test_an_empty_table(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"a": pa.array([], pa.float64())}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="the table is empty"):
        read(tmp_path / "a.parquet")
