"""Odd tables: files that are damaged, mistaken for tables, or tables whose cells, names and types are at the edge.

`odd_table(folder, number)` writes one of them; equal numbers give equal files. `python -m tests.inputs.odd_tables 300` gives
each to `mercer fit`, with and without a target, in a process of its own. It counts errors that are not mercer's, runs of
more than 10 s of processor time, and runs that take more than twice the memory that was allowed.
"""

from __future__ import annotations

import contextlib
import datetime
import gzip
import json
import os
import random
import resource
import sqlite3
import struct
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import ipc

#: Rows of most tables.
ROWS = 40

#: Texts of cells. Each is a number, a date or a missing cell for some reader and not for another.
NUMBERS = """1 -2.5 1e3 1e400 -1e400 1e-400 inf -Infinity nan NaN NA N/A null None NULL 0x1F 1_000 007 +7 .5 5. 1e 1e5.5 -0
1,5 1,000 1.000,5 12345678901234567890 9007199254740993 0.1e1 1e151 5e-324 true FALSE yes 1% $5 5€ ½"""

DATES = """0000-01-01 0001-01-01 9999-12-31 2020-02-30 2020-2-3 2020-01-01T24:00 2020-01-01T10:60 20200101 2020-W01-1 P1D
2020-01-01T10:00+99:99 2020-01-01T10:00-23:59 9999-12-31T23:59-10:00 0001-01-01T00:00+10:00 01/02/2020 2020-01-01T10:00Z
2020-01-01T10:00:00.123456789 12:30 =1+1 -- ' '' ; | > # // \\N \\ <b> &amp; {} []"""

CELLS = [
    *NUMBERS.split(),
    *DATES.split(),
    *["\u0661\u0662", "\uff15", "\xfcnl\xfc", "\u65e5\u672c", "\u202eabc", "\ufeffx", "e\u0301", "\U0001f427", "\x1b[31m"],
    *["\x00", "\x7f", "", " ", "\t1", "1 ", "\xa01", "a\nb", "a\r\nb", 'q"q', '""', "a,b", "a;b", '{"a":1}'],
    *["x" * 5000, "9" * 400, "0." + "1" * 400],
]

NAMES = [
    "a", "A", "", " ", "y", "x y", "\xe9", "1", "1.5", "nan", "None", "select", 'q"q', "a\nb", "'", ";", "data", "column 0",
    "c0", "v0", "mercer: row", "\x1b[31m", "\u202e", "a.b", "a,b", "x" * 300, "x" * 20_000, "\0", "--target", "id",
]  # fmt: skip


def odd_table(folder: Path, number: int) -> Path:
    """Write the odd table of a number into a folder and return its path."""
    rng = random.Random(number)
    make = MAKERS[number % len(MAKERS)]
    path = make(rng, folder / f"{number}-{make.__name__.strip('_')}")
    if number % 7 == 6:
        _damage(rng, path)
    return path


# -- text ---------------------------------------------------------------------------------------------------------------


def _text_columns(rng: random.Random) -> list[list[str]]:
    """Columns of one kind of cell each, most with some odd cells; the last column is a usable target."""
    usual: list[Callable[[], str]] = [
        lambda: f"{rng.gauss(0, 1):.4g}",
        lambda: str(rng.randint(0, 5)),
        lambda: rng.choice("abc"),
        lambda: f"{rng.choice([1970, 2024])}-0{rng.randint(1, 9)}-1{rng.randint(0, 9)}",
        lambda: " ".join(rng.choice(["one", "two", "three", "ü"]) for _ in range(5)),
    ]
    columns = []
    for _ in range(rng.randint(1, 5)):
        kind, odd, share = rng.choice(usual), rng.sample(CELLS, rng.randint(1, 3)), rng.choice([0.0, 0.03, 0.5, 1.0])
        columns.append([rng.choice(odd) if rng.random() < share else kind() for _ in range(ROWS)])
    return [*columns, [f"{rng.gauss(0, 1):.4g}" for _ in range(ROWS)]]


def _names(rng: random.Random, count: int) -> list[str]:
    plain = [f"n{i}" for i in range(count - 1)]
    return [*(rng.choice(NAMES) if rng.random() < 0.2 else name for name in plain), "y"]


def _lines(rng: random.Random, columns: list[list[str]], names: list[str]) -> str:
    delimiter, end = rng.choice(",,,;\t|"), rng.choice(["\n", "\n", "\n", "\r\n", "\r"])

    def quoted(cell: str) -> str:
        special = any(c in cell for c in (delimiter, '"', "\n", "\r"))
        return '"' + cell.replace('"', '""') + '"' if special or rng.random() < 0.05 else cell

    lines = [delimiter.join(map(quoted, row)) for row in [names, *zip(*columns, strict=True)]]
    return end.join(lines) + rng.choice([end, "", 2 * end])


def _csv(rng: random.Random, path: Path) -> Path:
    columns = _text_columns(rng)
    path = path.with_suffix(".csv")
    path.write_text(_lines(rng, columns, _names(rng, len(columns))), encoding="utf-8", newline="")
    return path


def _broken_csv(rng: random.Random, path: Path) -> Path:
    """Text with one fault: an open quote, a long or short row, another encoding, zero bytes, mixed line ends."""
    columns = _text_columns(rng)
    content = _lines(rng, columns, _names(rng, len(columns))).encode()
    place = rng.randrange(len(content))
    faults = [b'"', b",", b"\n", b"\xff\xfe", b"\0" * 100, b"\r", b"\n\n", b"x" * 200_000, b'""a"', b"\xc3", b",,,,\n"]
    path = path.with_suffix(rng.choice([".csv", ".tsv", ".txt"]))
    path.write_bytes(
        rng.choice([b"", b"", b"\xef\xbb\xbf", b"\xff\xfe"]) + content[:place] + rng.choice(faults) + content[place:]
    )
    return path


def _packed(rng: random.Random, path: Path) -> Path:
    """Text in gzip: several members, a cut end, much of the same, or no text."""
    columns = _text_columns(rng)
    content = _lines(rng, columns, _names(rng, len(columns))).encode()
    packed = rng.choice(
        [
            lambda: gzip.compress(content) + gzip.compress(content),
            lambda: gzip.compress(content)[: -rng.randint(1, 12)],
            lambda: gzip.compress(content) + b"tail",
            lambda: gzip.compress(b"a,y\n" + b"1,2\n" * 300_000),
            lambda: gzip.compress(rng.choice([b"", b"a,y\n1,2\n"]) + bytes(20_000_000)),
            lambda: gzip.compress(gzip.compress(content)),
            lambda: gzip.compress(b""),
        ]
    )()
    path = path.with_suffix(".csv.gz")
    path.write_bytes(packed)
    return path


def _shape(rng: random.Random, path: Path) -> Path:
    """Text of an odd shape: no rows, one column, thousands of columns, equal rows, very long cells or lines."""
    wide = rng.randint(500, 3000)
    text = rng.choice(
        [
            lambda: "a,y",
            lambda: "y\n" + "1\n2\n\n" * 20,
            lambda: "a\n" * 50,
            lambda: ",".join(f"n{i}" for i in range(wide)) + ",y\n" + ("1," * wide + "2\n" + "3," * wide + "x\n") * 12,
            lambda: "a,y\n" + "1,2\n" * 40,
            lambda: "a,y\n" + f"{'b' * 1_000_000},1\nc,2\n" * 6,
            lambda: "a,y\n" + "1,2\n" * 12 + "z" * 20_000_000,
            lambda: "a,y\n" + ",\n" * 40,
            lambda: "a,b,y\n" + "".join(f"{i},{i},{i % 7}\n" for i in range(20_000)),
            lambda: "\n\n\na,y\n1,2\n",
            lambda: " , \n1,2\n" * 20,
            lambda: "a" * 500_000 + ",y\n" + "1,2\n" * 20,
        ]
    )()
    path = path.with_suffix(".csv")
    path.write_text(text, encoding="utf-8")
    return path


def _no_table(rng: random.Random, path: Path) -> Path:
    """Files of other kinds."""
    kind = rng.choice(
        [".fasta", ".fa", ".json", ".html", ".bin", ".npy", ".xlsx", ".pdf", ".png", ".csv.bz2", ".ini", ".sql"]
    )
    sequences = "".join(f">s{i}, human\n{''.join(rng.choices('ACGT', k=30))}\n" for i in range(ROWS)).encode()
    contents = {
        ".fasta": sequences, ".fa": b";comment\n" + sequences, ".html": b"<!doctype html>\n<table><tr><td>1</td>\n" * 9,
        ".json": json.dumps([{"a": i, "y": 2 * i} for i in range(ROWS)], indent=rng.choice([None, 1])).encode(),
        ".bin": rng.randbytes(5000), ".npy": b"\x93NUMPY\x01\x00" + bytes(200), ".xlsx": b"PK\x03\x04" + rng.randbytes(500),
        ".pdf": b"%PDF-1.4\n" + rng.randbytes(500), ".png": b"\x89PNG\r\n\x1a\n" + rng.randbytes(500),
        ".csv.bz2": b"BZh9" * 20,
        ".ini": b"[a]\nx = 1\ny = 2\n" * 10, ".sql": b"CREATE TABLE t (a, y);\nINSERT INTO t VALUES (1, 2);\n" * 10,
    }  # fmt: skip
    path = path.with_suffix(kind)
    path.write_bytes(contents[kind])
    return path


# -- typed --------------------------------------------------------------------------------------------------------------


def _typed_columns(rng: random.Random) -> dict[str, Any]:
    n = ROWS
    whole = [rng.choice([0, 1, 2**53 + 1, 2**62, -(2**63)]) for _ in range(n)]
    times = [rng.choice([0, 1, -1, 10**18 + 1, -(2**62)]) for _ in range(n)]
    holes = [None if rng.random() < 0.3 else i % 5 for i in range(n)]
    kinds: list[Callable[[], Any]] = [
        lambda: pa.array([bytes([i % 7, 255]) for i in range(n)], rng.choice([pa.binary(), pa.large_binary()])),
        lambda: pa.array([[1, i % 3] for i in range(n)], pa.list_(rng.choice([pa.int8(), pa.float64()]))),
        lambda: pa.array([["a", None], [], None, ["b"]] * (n // 4)),
        lambda: pa.array([{"u": i, "v": "w"} for i in range(n)]),
        lambda: pa.array([[("k", i)] for i in range(n)], pa.map_(pa.string(), pa.int64())),
        lambda: pa.array(times, pa.timestamp(rng.choice(["ns", "us"]), tz=rng.choice([None, "UTC", "+05:30"]))),
        lambda: pa.array([rng.choice([0, 2**40, -(2**40), 2**33]) for _ in range(n)], pa.timestamp("s")),
        lambda: pa.array([rng.choice([0, 1, 10**7, -(10**6)]) for _ in range(n)], pa.date32()),
        lambda: pa.array([abs(v) for v in whole], pa.uint64()),
        lambda: pa.array(whole, pa.int64()),
        lambda: pa.array([Decimal(rng.choice(["0", "1.5", "-9999999999999999.5"])) for _ in range(n)], pa.decimal128(38, 5)),
        lambda: pa.array([rng.choice([0.0, 65504.0, float("inf"), float("nan")]) for _ in range(n)], pa.float16()),
        lambda: pa.array([rng.choice([0.0, 1e308, -1e308, 5e-324, None]) for _ in range(n)], pa.float64()),
        lambda: pa.array([i % 9 for i in range(n)], pa.duration(rng.choice(["s", "ns"]))),
        lambda: pa.array([i * 60 for i in range(n)], pa.time32("s")),
        lambda: pa.nulls(n),
        lambda: pa.array([rng.choice(CELLS) for _ in range(n)], rng.choice([pa.string(), pa.large_string()])),
        lambda: pa.array([rng.choice("ab") for _ in range(n)]).dictionary_encode(),
        lambda: pa.array(holes).dictionary_encode(),
        lambda: pa.array([True, False, None, True] * (n // 4)),
        lambda: pa.array([datetime.time(i % 24) for i in range(n)]),
    ]  # fmt: skip
    columns = {name: rng.choice(kinds)() for name in _names(rng, rng.randint(2, 5))[:-1]}
    return {**columns, "y": pa.array([rng.gauss(0, 1) for _ in range(n)])}


def _parquet(rng: random.Random, path: Path) -> Path:
    path = path.with_suffix(".parquet")
    with contextlib.suppress(pa.ArrowException):  # some types have no form in Parquet: then the file is cut off
        pq.write_table(pa.table(_typed_columns(rng)), path)
    return path


def _arrow(rng: random.Random, path: Path) -> Path:
    path = path.with_suffix(".arrow")
    table = pa.table(_typed_columns(rng))
    if rng.random() < 0.1:
        table = table.slice(0, 0)
    with ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=rng.choice([7, 1000]))
    return path


def _sqlite(rng: random.Random, path: Path) -> Path:
    path = path.with_suffix(".db")
    cells: list[Any] = [1, 2.5, None, "x", "2020-01-01", b"\xff", 2**62, "1e400", "\xe9", float("inf"), ""]
    pools = [rng.sample(cells, rng.randint(1, 3)) for _ in range(3)]
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        if rng.random() < 0.3:  # a view alone, which need not end
            view = rng.choice(
                [
                    "WITH RECURSIVE c(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM c) SELECT a, a AS y FROM c",
                    "WITH RECURSIVE c(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM c) SELECT a, a AS y FROM c WHERE a < 0",
                    "SELECT zeroblob(900000000) AS a, 1 AS y",
                    "SELECT 1 AS a, 2 AS y WHERE 0",
                    "SELECT hex(zeroblob(9000000)) AS a, 1 AS y",
                ]
            )
            database.execute(f"CREATE VIEW t AS {view}")
        else:
            database.execute("CREATE TABLE t (a, b, c, y)")
            rows = [(*(rng.choice(pool) for pool in pools), rng.gauss(0, 1)) for _ in range(ROWS)]
            database.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
            if rng.random() < 0.2:
                database.execute("UPDATE t SET a = CAST(x'ff' AS TEXT)")
    return path


def _folder(rng: random.Random, path: Path) -> Path:
    path.mkdir()
    for i in range(rng.randint(0, 4)):
        _csv(rng, path / f"{i}") if rng.random() < 0.7 else _parquet(rng, path / f"{i}")
    return path


def _damage(rng: random.Random, path: Path) -> None:
    """Change some bytes of a file, or cut it."""
    if not path.is_file() or path.stat().st_size == 0:
        return
    content = bytearray(path.read_bytes())
    if rng.random() < 0.3:
        content = content[: rng.randrange(len(content))]
    else:
        for _ in range(rng.choice([1, 3, 20])):
            content[rng.randrange(len(content))] = rng.choice([0, 255, rng.randrange(256), struct.pack("b", -128)[0]])
    path.write_bytes(content)


MAKERS = [_csv, _broken_csv, _parquet, _csv, _arrow, _shape, _sqlite, _csv, _no_table, _packed, _parquet, _folder, _arrow]


# -- the run ------------------------------------------------------------------------------------------------------------

#: Budget of a fit, and the processor time of a run in seconds.
MEMORY, SECONDS = 256_000_000, 10.0


def _run(arguments: list[str]) -> tuple[int, str, float, int]:
    """Run a command in a child process; return its code, its words, its processor time and its peak memory."""
    with tempfile.TemporaryFile() as words:
        child = os.fork()
        if child == 0:
            resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
            os.dup2(words.fileno(), 1)
            os.dup2(words.fileno(), 2)
            from mercer.cli import main

            sys.argv = ["mercer", *arguments]
            code: Any = -1
            try:
                main()
            except SystemExit as leave:
                code = leave.code
            finally:
                with contextlib.suppress(Exception):
                    sys.stdout.flush()
                    sys.stderr.flush()
                os._exit(code if isinstance(code, int) else 99)
        _, status, usage = os.wait4(child, 0)
        words.seek(0)
        text = words.read().decode("utf-8", "replace")
    return os.waitstatus_to_exitcode(status), text, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def _verdict(code: int, text: str, seconds: float, peak: int) -> str:
    if code < 0 or "bug in mercer" in text or "Traceback" in text:
        return "foreign error"
    if seconds > SECONDS:
        return "hang"
    if peak > 2 * MEMORY:
        return "memory"
    if code not in (0, 64, 70):
        return f"exit code {code}"
    return "read" if code == 0 else "refused by name"


def runs(count: int, first: int, folder: Path) -> Iterator[tuple[int, str, str, str]]:
    """Yield (number, command, verdict, words) of every table, listed and fitted."""
    plain = folder / "plain.csv"
    plain.write_text("a,b,y\n" + "".join(f"{i % 7},{'uvw'[i % 3]},{(i * 37) % 11 + i / 9}\n" for i in range(ROWS)))
    fit = ["--target", "y", "--memory", f"{MEMORY}", "--out", str(folder / "out"), "--force"]
    base = max(_run(["fit", str(plain), *options])[3] for options in ([], fit))
    for number in range(first, first + count):
        path = odd_table(folder, number)
        quick = [] if number % 3 == 0 else ["--kernel", "Gaussian(1.0)"]
        for command, options in (("list", []), ("fit", [*fit, *quick])):
            code, text, seconds, peak = _run(["fit", str(path), *options])
            yield number, f"{command} {path.name}", _verdict(code, text, seconds, peak - base), text


def main() -> int:
    """Run and count; print every run that fails."""
    import mercer.cli.app
    import mercer.estimators.tables
    import mercer.report.document.training_report
    import mercer.workflow.training  # noqa: F401  (loaded once, before processes are forked)

    asked = [int(word) for word in sys.argv[1:]]
    count, first = (asked + [300, 0][len(asked) :])[:2]
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for _, what, verdict, text in runs(count, first, Path(folder)):
            found[verdict] += 1
            if verdict not in ("read", "refused by name"):
                print(f"{verdict}: {what}: {text.strip()[-300:]}", flush=True)
    bad = sum(times for verdict, times in found.items() if verdict not in ("read", "refused by name"))
    print(f"{count} odd tables, {sum(found.values())} runs: {dict(sorted(found.items()))}; {bad} failures")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
