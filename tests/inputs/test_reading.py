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
from mercer.inputs.delimited import read_header, read_text
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
        assert listed.rows == 3 and listed.sample.columns == ["a", "s", "d"]
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


def test_a_listing_draws_from_the_whole_table_and_counts_its_rows(tmp_path: Path) -> None:
    """The first 2,000 rows of a file sorted by class hold one class only."""
    path = tmp_path / "a.csv"
    path.write_text("a,b\n" + "".join(f'{i},"{"x" if i < 2500 else "y"}\n"\n' for i in range(5000)))
    listed = list_table(path)
    assert listed.rows == 5000 and len(listed.sample) == 2000
    assert set(listed.sample["b"]) == {"x\n", "y\n"}
    numbers = listed.sample.numbers
    np.testing.assert_array_equal(listed.sample["a"].to_numpy(), numbers)
    assert (np.diff(numbers) > 0).all()


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


# -- at the edges -------------------------------------------------------------------------------------------------------

EDGES = """0000-01-01 0001-01-01 2020-01-01T24:00 2020-01-01T10:60 2020-01-01T10:00+99:99 9999-12-31T23:59-10:00 2020-01-02
2020-01-01T10:00 2020-01-01T10:00+01:00 0001-01-01T00:00+10:00 \u0661\u0662 1e400 1_000"""


@pytest.mark.parametrize("cell", EDGES.split())
def test_both_readers_agree_on_cells_at_the_edge(cell: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"a,y\n2020-05-05,1\n{cell},2\n\n", encoding="utf-8")
    same(read_table(path), slow(path))
    path.write_text(f"a\n{cell}\n\n{cell}\n", encoding="utf-8")  # an empty line is a missing cell of the only column
    found = read_table(path)
    same(found, slow(path)) if cell.isascii() else None
    assert len(found) == 3


def test_dates_of_a_query_do_not_depend_on_the_zone_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.csv").write_text("a,y\n2020-01-01T10:00,1\n2020-01-01T10:00+02:00,2\n")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        same(read_table(tmp_path / "a.csv", "SELECT * FROM data"), read_table(tmp_path / "a.csv"))
    finally:
        monkeypatch.undo()
        time.tzset()


def typed_table() -> Any:
    import pyarrow as pa

    return {
        "binary": (pa.array([b"\xff", b"a"]), "binary data"),
        "records": (pa.array([{"u": 1}, {"u": 2}]), "cells of the type"),
        "numbers": (pa.array([[1.0], [2.0]]), "cells of the type"),
        "far": (pa.array([2**40, 0], pa.timestamp("s")), "outside of the years 1 to 9999"),
        "nanoseconds": (
            pa.array([1, 10**18 + 1], pa.timestamp("ns", tz="Europe/Berlin")),
            ["1970-01-01", "2001-09-09T01:46:40"],
        ),
        "large": (pa.array([2**53 + 1, 2**64 - 1], pa.uint64()), [2.0**53, 2.0**64]),
        "half": (pa.array([0.5, None], pa.float16()), [0.5, np.nan]),
        "tokens": (pa.array([["a", "b"], None]), [["a", "b"], None]),
        "dictionary": (pa.array(["a", "b"]).dictionary_encode(), ["a", "b"]),
        "clock": (pa.array([60, 0], pa.time32("s")), ["00:01:00", "00:00:00"]),
    }


@pytest.mark.parametrize("kind", typed_table())
@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_typed_columns_are_read_by_a_rule_or_refused_by_name(kind: str, suffix: str, tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import feather, parquet

    column, expected = typed_table()[kind]
    path = tmp_path / f"a.{suffix}"
    write = parquet.write_table if suffix == "parquet" else feather.write_feather
    write(pa.table({"it": column, "y": [1.0, 2.0]}), str(path))
    if isinstance(expected, str):
        for read in (read_table, list_table):
            with pytest.raises(InputError, match=f"the column 'it' holds .*{expected}"):
                read(path)
        return
    found = read_table(path)["it"].to_numpy()
    same(list_table(path).sample, read_table(path))
    if found.dtype.kind == "M":
        assert found.tolist() == np.array(expected, dtype="datetime64[us]").tolist()
    elif found.dtype.kind == "f":
        np.testing.assert_array_equal(found, expected)
    else:
        assert found.tolist() == expected


def test_a_last_line_that_duckdb_would_leave_out_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mercer.inputs import delimited

    monkeypatch.setattr(delimited, "LONGEST", 1000)
    text = b"a,y\n" + b"1,2\n" * 400 + b"z" * 1001
    for path, content in ((tmp_path / "a.csv", text), (tmp_path / "b.csv.gz", gzip.compress(text))):
        path.write_bytes(content)
        with pytest.raises(InputError, match="the last line is longer than 1,000 bytes"):
            read_table(path)


# -- SQLite -------------------------------------------------------------------------------------------------------------


def database(path: Path, *statements: str) -> Path:
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()
    return path


def test_a_sqlite_query_changes_and_attaches_nothing(tmp_path: Path) -> None:
    path = database(tmp_path / "a.db", "CREATE TABLE t (a, y)", "INSERT INTO t VALUES (1, 2)")
    before = path.read_bytes()
    for sql in (
        f"VACUUM INTO '{tmp_path / 'copy.db'}'",
        f"ATTACH '{tmp_path / 'other.db'}' AS o",
        "DELETE FROM t",
        "PRAGMA user_version = 7",
        "SELECT 1 AS a; DELETE FROM t",
        "WITH c AS (SELECT 1) DELETE FROM t",
        "SELECT * FROM pragma_database_list",
    ):
        with pytest.raises(InputError):
            read_table(path, sql)
    assert [p.name for p in tmp_path.iterdir()] == ["a.db"] and path.read_bytes() == before
    assert read_table(path, " (SELECT a + 1 AS b FROM t)".strip(" ()"))["b"].to_numpy().tolist() == [2.0]
    with pytest.raises(InputError, match="the column 'a' holds binary data"):
        read_table(database(tmp_path / "b.db", "CREATE TABLE t AS SELECT x'ff' AS a"))


def test_a_view_without_end_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mercer.inputs import sqlite_files

    forever = "CREATE VIEW v AS WITH RECURSIVE c(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM c) SELECT a FROM c"
    with pytest.raises(MemoryBudgetError, match="take more than the 5 MB"):
        read_table(database(tmp_path / "a.db", forever), memory=5_000_000)
    monkeypatch.setattr(sqlite_files, "STEPS", 5_000_000)
    with pytest.raises(InputError, match="stopped because it takes very long"):
        list_table(database(tmp_path / "b.db", forever + " WHERE a < 0"))
    with pytest.raises(InputError, match="too big"):
        read_table(database(tmp_path / "c.db", "CREATE VIEW v AS SELECT zeroblob(900000000) AS a"))
