"""Tables of every source, and the fast reader held against the one that goes cell by cell."""

from __future__ import annotations

import datetime
import gzip
import io
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mercer.errors import InputError, MemoryBudgetError
from mercer.inputs.delimited import count_lines, read_header, read_text
from mercer.inputs.reading import list_table, read_table
from mercer.inputs.tables import Table

TEXT = (
    'a,b,when,words,nothing\n1,x,2020-01-01,"hello, you",\nNA,"y ""q""\nz",,NA,\n'
    "3.5e2,x,2021-02-03T10:00+02:00,ünlü,\n-.5, x,2021-02-03 10:00:01.25,null,NaN\n"
)


def same(table: Table, other: Table) -> None:
    assert table.columns == other.columns
    for name in table.columns:
        mine, yours = table[name].to_numpy(), other[name].to_numpy()
        assert mine.dtype == yours.dtype, name
        if mine.dtype.kind == "O":
            assert mine.tolist() == yours.tolist()
        else:
            np.testing.assert_array_equal(mine, yours)


def slow(path: Path) -> Table:
    return Table(read_text(path, path.name, read_header(path, path.name)))


def test_cells_of_every_kind(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(TEXT, encoding="utf-8")
    table = read_table(tmp_path / "a.csv")
    same(table, slow(tmp_path / "a.csv"))
    np.testing.assert_array_equal(table["a"].to_numpy(), [1.0, np.nan, 350.0, -0.5])
    assert list(table["b"]) == ["x", 'y "q"\nz', "x", " x"] and list(table["words"]) == ["hello, you", None, "ünlü", None]
    when = table["when"].to_numpy()
    assert when.dtype == "datetime64[us]" and np.isnat(when[1])
    assert when[2] == np.datetime64("2021-02-03T08:00")  # in UTC
    assert np.isnan(table["nothing"].to_numpy()).all()


CELLS = [
    "1",
    "-2.5",
    " 3 ",
    "1e3",
    "",
    "NA",
    "nan",
    "x",
    "1,5",
    "2020-02-30",
    "2020-02-28",
    "2020-02-28 10:00",
    "inf",
    "N/A",
    "true",
    "0x1",
    "1_0",
    "é",
    'q"',
    "None",
    "1.",
    "+7",
    "20200101",
    "01/02/2020",
    "2020-01-01T00:00:00Z",
]


def test_the_fast_reader_reads_what_the_slow_one_reads(tmp_path: Path) -> None:
    """Random columns of awkward cells, some all numbers or all dates but for one."""
    import csv

    rng = np.random.default_rng(0)
    path = tmp_path / "a.csv"
    for trial in range(40):
        pools = [rng.choice(CELLS, rng.integers(1, 5)) for _ in range(6)]
        rows = [[str(rng.choice(pool)) for pool in pools] for _ in range(8)]
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, delimiter=",;\t|"[trial % 4])
            writer.writerows([[f"n{i}" for i in range(6)], *rows])
        try:
            found = read_table(path)
        except InputError as error:
            assert "decimal commas" in str(error)
            continue
        same(found, slow(path))


def test_mixed_line_ends_are_left_to_the_slow_reader(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"a,b\r\n1,2\n3,4\r\n")
    assert read_table(tmp_path / "a.csv").to_numpy().tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_other_files_are_the_same_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow as pa
    from pyarrow import feather, parquet

    text = "a,s,d\n1,x,2020-01-01\n,,\n2.5,y,2020-01-02T03:00\n"
    (tmp_path / "a.csv").write_text(text)
    (tmp_path / "b.tsv").write_text(text.replace(",", "\t"))
    (tmp_path / "c.csv.gz").write_bytes(gzip.compress(text.encode()))
    days = [datetime.datetime(2020, 1, 1), None, datetime.datetime(2020, 1, 2, 3)]
    arrow = pa.table({"a": [1, None, 2.5], "s": ["x", None, "y"], "d": days})
    parquet.write_table(arrow, tmp_path / "d.parquet")
    feather.write_feather(arrow, tmp_path / "e.arrow")
    with sqlite3.connect(tmp_path / "f.db") as database:
        database.execute("CREATE TABLE t (a REAL, s TEXT, d TEXT)")
        rows = [(1, "x", "2020-01-01"), (None, None, None), (2.5, "y", "2020-01-02T03:00")]
        database.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    first = read_table(tmp_path / "a.csv")
    for name in ("b.tsv", "c.csv.gz", "d.parquet", "e.arrow", "f.db"):
        same(read_table(tmp_path / name), first)
        listed = list_table(tmp_path / name)
        assert listed.rows == 3 and listed.head.columns == ["a", "s", "d"]
    for content in (text.encode(), (tmp_path / "d.parquet").read_bytes()):  # what it is, is seen from its first bytes
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        same(read_table("-"), first)


def test_folders_and_globs_are_one_table(tmp_path: Path) -> None:
    for name, text in {"1.csv": "a,b\n1,x\n", "2.csv": "b;a\ny;2\n", "3.csv": "a,b\n3,z\n"}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "notes.md").write_text("no table")
    for source in (tmp_path, tmp_path / "?.csv"):
        table = read_table(source)
        assert sorted(zip(table["a"], table["b"], strict=True)) == [(1.0, "x"), (2.0, "y"), (3.0, "z")]


def test_files_of_a_folder_come_one_after_the_other(tmp_path: Path) -> None:
    """Many files given to one scan came in the order in which its threads ended: a seed did not draw the same rows again."""
    first = 0
    for number, rows in enumerate([4000, 50, 9000, 3, 20000, 700, 1, 5000]):
        lines = (f"{i},w{i}" for i in range(first, first + rows))
        (tmp_path / f"{number}.csv").write_text("\n".join(["a,b", *lines]) + "\n")
        first += rows
    for _ in range(5):
        np.testing.assert_array_equal(read_table(tmp_path)["a"].to_numpy(), np.arange(first))
        drawn = read_table(tmp_path, rows=100, seed=3)
        np.testing.assert_array_equal(drawn["a"].to_numpy(), drawn.numbers)


def test_hundreds_of_files_are_read(tmp_path: Path) -> None:
    for number in range(400):
        (tmp_path / f"{number:04d}.csv").write_text(f"a,b\n{number},x\n")
    np.testing.assert_array_equal(read_table(tmp_path)["a"].to_numpy(), np.arange(400))


def test_lines_are_counted_where_that_counts_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    for text, count in {
        "a,b\n1,2\n3,4\n": 2,
        "a,b\n1,2\n3,4": 2,
        'a,b\n1,"2\n3"\n': None,
        "a\n\n1\n": None,
        "a\r\n1\r\n": None,
    }.items():
        path.write_bytes(text.encode())
        assert count_lines(path) == count
    quoted = "a,b\n" + "".join(f'{i},"x\n{i}"\n' for i in range(2500))
    for text in ("a,b\n" + "".join(f"{i},x\n" for i in range(2500)), quoted):
        path.write_bytes(text.encode())
        assert list_table(path).rows == 2500


def test_queries(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(TEXT, encoding="utf-8")
    table = read_table(tmp_path / "a.csv", sql='SELECT 2 * a AS double, "when" FROM data WHERE a > 0 ORDER BY a DESC;')
    assert table.columns == ["double", "when"] and list(table["double"]) == [700.0, 2.0]
    assert table["when"].to_numpy()[0] == np.datetime64("2021-02-03T08:00")
    for sql, message in {
        "SELECT 1; SELECT 2": "one SELECT",
        "COPY data TO 'x.csv'": "one SELECT",
        "SELECT nope FROM data": "nope",
        "SELECT * FROM 'https://example.org/a.csv'": "httpfs",
    }.items():
        with pytest.raises(InputError, match=message):
            read_table(tmp_path / "a.csv", sql=sql)


def test_columns_and_rows_that_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b,c\n" + "".join(f"{i},{i % 7},x{i}\n" for i in range(500)))
    table = read_table(tmp_path / "a.csv", columns=["c", "a"], rows=50, seed=1)
    assert table.columns == ["c", "a"] and len(table) == 50
    a = table["a"].to_numpy()
    assert (np.diff(a) > 0).all() and [f"x{int(v)}" for v in a] == list(table["c"])  # in their order, each once
    same(table, read_table(tmp_path / "a.csv", columns=["c", "a"], rows=50, seed=1))
    whole = read_table(tmp_path / "a.csv", columns=["c", "a"])
    same(table, whole[table.numbers])  # rows know where they come from
    assert table[10:20].numbers.tolist() == table.numbers.tolist()[10:20] and whole.numbers.tolist() == [*range(len(whole))]
    assert list(read_table(tmp_path / "a.csv", rows=50, seed=2)["a"]) != a.tolist()
    assert abs(a.mean() - 250) < 75
    with pytest.raises(InputError, match="there is no column 'd'"):
        read_table(tmp_path / "a.csv", columns=["d"])
    with pytest.raises(MemoryBudgetError, match=r"500 rows take .* --rows "):
        read_table(tmp_path / "a.csv", memory=10_000)


@pytest.mark.parametrize("name", ["a*b.csv", "a[1].csv", "a'b.csv", "a b.csv"])
def test_names_of_files_are_no_patterns(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("a,b\n1,2\n")
    table: Any = read_table(tmp_path / name)
    assert table.to_numpy().tolist() == [[1.0, 2.0]]


def test_wide_tables_take_time_in_proportion_to_their_cells(tmp_path: Path) -> None:
    """800 columns of every kind in seconds of processor time, as the slow reader reads them."""
    cells = {
        "number": ["1.5", "NA", " -2e3 ", "4"],
        "python number": ["1_000", "2", "", "3"],
        "date": ["2026-01-02", "null", "2026-01-03T10:00", "2026-01-04"],
        "word": ["a", "12", "N/A", "2026-01-02"],
        "empty": ["", "NaN", "NA", ""],
    }
    kinds = list(cells)
    path = tmp_path / "wide.csv"
    lines = [",".join(f"c{i}" for i in range(800))]
    lines += [",".join(cells[kinds[i % 5]][row] for i in range(800)) for row in range(4)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    start = time.process_time()
    table = read_table(path)
    assert time.process_time() - start < 10.0
    same(table, slow(path))
    few = read_table(path, rows=2)
    assert len(few) == 2
    assert all(few[name].to_numpy().dtype == table[name].to_numpy().dtype for name in table.columns)
    later = tmp_path / "later.csv"  # the first batch of rows has missing cells only
    days = ["NA"] * 70_000 + ["2026-01-02"]
    later.write_text("\n".join([",".join(f"c{i}" for i in range(101)), *(day + ",1" * 100 for day in days)]) + "\n")
    assert read_table(later)["c0"].to_numpy().dtype.kind == "M"
