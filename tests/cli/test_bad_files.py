"""`mercer fit` on files that are not what they should be: one line that says what to do, and nothing left behind."""

from __future__ import annotations

import errno
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.tables import QUICK, invoke, table

BAD = {
    "missing target": ("a,b\n1,2\n", ["--target", "c"], "there is no column 'c'. There are: 'a', 'b'."),
    "misspelled target": ("speed,size\n1,2\n", ["--target", "sped"], "Did you mean 'speed'?"),
    "part of a name": ("Body Mass (g),b\n1,2\n", ["--target", "Mass"], "Did you mean 'Body Mass (g)'?"),
    "thousands": ("a;b\n1,000;2\n3;2\n", ["--target", "b"], "numbers with commas, such as '1,000'"),
    "sequences": (">s1\nACGT\n", ["--target", "b"], "there is no column 'b'"),
    "zero bytes": ("\0" * 200_000, ["--target", "b"], "line 1: holds zero bytes: this is not text"),
    "a long name": ("a" * 200_000 + ",b\n1,2\n", ["--target", "b"], "has a name of 200,000 letters"),
    "decimal commas": ("a;b\n1,5;2\n", ["--target", "b"], "the column 'a' holds numbers with decimal commas"),
    "empty file": ("", ["--target", "c"], "the file is empty"),
    "names only": ("a,b\n", ["--target", "b"], "no rows below"),
    "one row": ("a,b\n1,2\n", ["--target", "b"], "1 row; at least 10 are needed"),
    "wrong delimiter": ("a:b\n1:2\n", ["--target", "b"], "The file has one column, 'a:b': is its delimiter a comma"),
    "two equal names": ("a,b,a\n1,2,3\n", ["--target", "b"], "two columns are called 'a'; give each its own name"),
    "a row too long": ("a,b\n1,2\n1,2,3\n", ["--target", "b"], "line 3: 3 cells, but the first line names 2 columns"),
    "open quotes": ('a,b\n1,"2\n', ["--target", "b"], "check the quotes"),
    "one column": ("a\n1\n", ["--target", "a"], "no column is left to predict 'a' from"),
    "dropped target": ("a,b\n1,2\n", ["--target", "b", "--drop", "b"], "both the target and dropped"),
    "target as id": ("a,b\n1,2\n", ["--target", "b", "--id", "b"], "both the target and the id"),
    "unknown drop": ("a,b\n1,2\n", ["--target", "b", "--drop", "c"], "there is no column 'c'"),
    "unknown id": ("a,b\n1,2\n", ["--target", "b", "--id", "c"], "there is no column 'c'"),
    "too large": ("a,b\n" + "1e200,1\n2e200,2\n" * 9, ["--target", "b", "--task", "regression"], "must be below 1e150"),
    "infinite": ("a,b\n" + ",\n" * 3 + "1,1\ninf,2\n" * 9, ["--target", "b"], "'a' has an infinite value (row 5)"),
    "infinite target": ("a,b\n" + "1,1\n2,inf\n3,2.5\n" * 9, ["--target", "b"], "holds infinite numbers"),
    "nothing to fit": ("a,b\n" + "1,2\n3,4\n" * 6, ["--target", "b", "--holdout", "0.99"], "leaves too few rows"),
    "constant target": ("a,b\n" + "1,2\n" * 12, ["--target", "b"], "the same value in every row"),
    "empty target": ("a,b\n" + "1,\n" * 12, ["--target", "b"], "0 rows with a value of 'b'"),
    "only empty columns": ("a,b\n" + ",1\n,2\n" * 12, ["--target", "b"], "('a' is all missing)"),
    "a name per row": ("a,b\n" + "".join(f"{i},n{i}\n" for i in range(12)), ["--target", "b"], "too many for classes"),
    "a date to predict": ("a,b\n" + "1,2026-01-01\n2,2026-01-02\n" * 9, ["--target", "b"], "holds dates"),
    "text regression": ("a,b\n" + "1,x\n1,y\n" * 9, ["--target", "b", "--task", "regression"], "holds text"),
    "task": ("a,b\n1,2\n", ["--target", "b", "--task", "guess"], "--task must be one of auto, regression, classification"),
    "holdout": ("a,b\n1,2\n", ["--target", "b", "--holdout", "3"], "--holdout must be a fraction between 0 and 1"),
    "coverage": ("a,b\n1,2\n", ["--target", "b", "--coverage", "90"], "--coverage must be a fraction"),
    "rows": ("a,b\n1,2\n", ["--target", "b", "--rows", "1"], "--rows must be at least 2"),
    "time": ("a,b\n1,2\n", ["--target", "b", "--time", "0"], "--time must be a number of seconds above 0"),
    "seed": ("a,b\n1,2\n", ["--target", "b", "--seed", "-1"], "--seed must be"),
    "large seed": ("a,b\n1,2\n", ["--target", "b", "--seed", "4294967296"], "--seed must be"),
    "memory": ("a,b\n1,2\n", ["--target", "b", "--memory", "lots"], "cannot read 'lots'"),
    "kernel": ("a,b\n1,2\n", ["--target", "b", "--kernel", "rbf"], "write 'Gaussian.from_gamma(0.5)'"),
    "column of the kernel": ("a,b\n" + "1,1.5\n2,2.5\n" * 9, ["--target", "b", "--task", "regression", "--kernel",
                             "Linear().on('c')"], "the kernel uses the column 'c'"),
    "a query that is none": ("a,b\n1,2\n", ["--target", "b", "--sql", "DROP TABLE data"], "--sql takes one SELECT"),
    "a query of another table": ("a,b\n1,2\n", ["--target", "b", "--sql", "SELECT * FROM tada"], "tada does not exist"),
}  # fmt: skip


def refused(result: Any, message: str, code: int = 64) -> None:
    assert result.exit_code == code and result.stdout == "", (result.stdout, result.stderr)
    assert result.stderr.startswith("Error: ") and message in result.stderr, result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line_and_leaves_nothing(name: str, tmp_path: Path) -> None:
    text, options, message = BAD[name]
    (tmp_path / "d.csv").write_text(text)
    refused(invoke("fit", tmp_path / "d.csv", *options, "--out", tmp_path / "out"), message)
    assert os.listdir(tmp_path) == ["d.csv"]


def test_a_byte_order_mark_is_no_letter(tmp_path: Path) -> None:
    data = table(tmp_path / "d.csv")
    data.write_bytes(b"\xef\xbb\xbf" + data.read_bytes())
    result = invoke("fit", data, "--target", "y", "--drop", "small", "--out", tmp_path / "out", "--quiet", *QUICK)
    assert result.exit_code == 0, result.stderr


@pytest.mark.parametrize("cell", [b"caf\xe9", b"caf\xc3\xa9 caf\xe9"], ids=["latin-1", "two encodings"])
def test_other_encodings_are_said(cell: bytes, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_bytes(b"a,b\n1," + cell + b"\n")
    refused(invoke("fit", tmp_path / "d.csv", "--target", "b"), "not UTF-8 text (byte 0xe9); save the file as UTF-8")
    (tmp_path / "e.csv").write_bytes("a,b\n1,2\n".encode("utf-16"))
    refused(invoke("fit", tmp_path / "e.csv", "--target", "b"), "not UTF-8 text")


OTHERS = {
    "a zip": ("d.xlsx", b"PK\x03\x04", "a zip archive or a spreadsheet; save the table as CSV"),
    "an array": ("d.npy", b"\x93NUMPY", "a NumPy array without names"),
    "bzip": ("d.csv.bz2", b"BZh9", "bunzip2"),
    "cut gzip": ("d.csv.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", "cut off or damaged"),
    "no parquet": ("d.parquet", b"PAR1xxxx", "d.parquet"),
    "no database": ("d.db", b"SQLite format 3\x00xxxx", "SQLite says: file is not a database"),
    "no arrow": ("d.arrow", b"ARROW1\x00\x00", "not Arrow"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_files_that_are_no_tables(name: str, tmp_path: Path) -> None:
    file, content, message = OTHERS[name]
    (tmp_path / file).write_bytes(content)
    refused(invoke("fit", tmp_path / file, "--target", "y", "--out", tmp_path / "out"), message)
    assert os.listdir(tmp_path) == [file]


def test_places_that_are_no_tables(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "mixed").mkdir()
    table(tmp_path / "mixed" / "a.csv")
    (tmp_path / "mixed" / "b.parquet").write_bytes(b"PAR1")
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "1.csv").write_text("a,b\n1,2\n")
    (tmp_path / "two" / "2.csv").write_text("a,c\n1,2\n")
    with sqlite3.connect(tmp_path / "two.db") as database:
        database.execute("CREATE TABLE s (a)")
        database.execute("CREATE TABLE t (a)")
    for place, message in {
        "none.csv": "there is no such file",
        "empty": "this folder holds no table",
        "no*.csv": "no file has such a name",
        "mixed": "a.csv is csv and b.parquet is parquet; give files of one kind",
        "two": "its columns differ from those of 1.csv ('b' is in one only)",
        "two.db": "holds 2 tables (s, t); say which one: --sql 'SELECT * FROM s'",
    }.items():
        refused(invoke("fit", tmp_path / place, "--target", "y"), message)
    for address in ("https://example.org/d.csv", "s3://bucket/d.parquet"):
        refused(invoke("fit", address, "--target", "y"), "this is a network address; mercer opens none")
    refused(invoke("fit", "/dev/null", "--target", "y"), "this is a device or a pipe")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads and writes everything")
def test_a_file_of_somebody_else(tmp_path: Path) -> None:
    data = table(tmp_path / "d.csv")
    data.chmod(0)
    refused(invoke("fit", data, "--target", "y"), "no permission to read")
    data.chmod(0o600)
    (tmp_path / "closed").mkdir(mode=0o500)
    refused(invoke("fit", data, "--target", "y", "--out", tmp_path / "closed" / "out"), "cannot be written")


def test_a_table_beyond_the_memory_says_how_many_rows_fit(tmp_path: Path) -> None:
    data = table(tmp_path / "d.csv", 3000)
    out = ("--target", "y", "--out", tmp_path / "out", *QUICK)
    result = invoke("fit", data, *out, "--memory", "200 KB")
    refused(result, "3,000 rows take 0.096 MB in memory, and 0.05 MB are allowed for them", 70)
    rows = result.stderr.rpartition("--rows ")[2].strip()
    assert os.listdir(tmp_path) == ["d.csv"]
    assert invoke("fit", data, *out, "--memory", "20 MB", "--rows", 40, "--quiet").exit_code == 0 and 1000 < int(rows) < 2000


# -- writing ----------------------------------------------------------------------------------------------------------


def test_a_place_where_nothing_can_be_written_is_found_before_the_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mercer.workflow.training.train", lambda *_, **__: pytest.fail("the fit was started"))
    data = table(tmp_path / "d.csv")
    for out in (data, data / "below", "/proc/nowhere"):
        refused(invoke("fit", data, "--target", "y", "--out", out), "--out")
    assert os.listdir(tmp_path) == ["d.csv"]


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    data = table(tmp_path / "d.csv")
    monkeypatch.setattr(os, "fsync", full)
    result = invoke("fit", data, "--target", "y", "--out", tmp_path / "out", *QUICK)
    refused(result, f"{tmp_path / 'out' / 'model.mercer'}: cannot be written: No space left on device; choose another place")
    assert os.listdir(tmp_path) == ["d.csv"]


@pytest.mark.parametrize("place", ["mercer.workflow.training.train", "mercer.persist.save", "mercer.persist.write_whole"])
@pytest.mark.parametrize("existing", [True, False])
def test_an_interruption_leaves_nothing_half_written(
    place: str, existing: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    data, out = table(tmp_path / "d.csv"), tmp_path / "out"
    if existing:
        out.mkdir()
        (out / "metrics.json").write_text("old")
    monkeypatch.setattr(place, interrupt)
    result = invoke("fit", data, "--target", "y", "--out", out, *QUICK)
    assert result.exit_code == 130 and result.stderr == "Interrupted.\n"
    assert sorted(os.listdir(tmp_path)) == (["d.csv", "out"] if existing else ["d.csv"])
    if existing:
        assert os.listdir(out) == ["metrics.json"] and (out / "metrics.json").read_text() == "old"


# -- in a process of its own ------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals for a child there")
@pytest.mark.parametrize(
    ("sent", "code", "word"), [(signal.SIGINT, 130, "Interrupted."), (signal.SIGTERM, 143, "Terminated.")]
)
def test_signals_end_a_running_fit(sent: signal.Signals, code: int, word: str, tmp_path: Path) -> None:
    data = table(tmp_path / "d.csv", 2500)
    command = [sys.executable, "-m", "mercer.cli", "fit", str(data), "--target", "y"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, encoding="utf-8") as process:
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob(".mercer-*")) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(sent)
        _, said = process.communicate(timeout=60)
    # Python ends itself by SIGINT when that came inside an exec of the standard library; a shell says 130 of both
    assert process.returncode in (code, -sent), said
    assert said.endswith(f"{word}\n") and "Traceback" not in said
    assert os.listdir(tmp_path) == ["d.csv"]


def test_sigterm_has_its_code_whatever_a_library_makes_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    from mercer.cli.failures import guarded, termination

    def work(error: type[BaseException]) -> None:
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt:
            raise error("interrupted") from None

    for error in (RuntimeError, KeyboardInterrupt, BrokenPipeError, SystemExit, OSError):
        with termination():
            assert guarded(lambda error=error: work(error)) == 143
        assert capsys.readouterr().err.endswith("Terminated.\n")
    with termination():
        assert guarded(lambda: 0) == 0  # a later command begins anew


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names there")
def test_a_device_or_a_pipe_is_no_model(tmp_path: Path) -> None:
    data = table(tmp_path / "d.csv")
    os.mkfifo(tmp_path / "pipe")
    for model in ("/dev/zero", tmp_path / "pipe"):
        refused(invoke("predict", model, data), "this is a device or a pipe, not a model file")


# -- what names may hold ----------------------------------------------------------------------------------------------


def test_control_characters_do_not_reach_the_terminal(tmp_path: Path) -> None:
    evil = "\x1b]0;owned\x07\x9b2J"
    labels = np.array([f"{evil}a", "b"])[np.arange(60) % 2]
    data = table(tmp_path / f"d{evil}.csv", **{f"x{evil}": np.sin(np.arange(60)), "label": labels})
    fits = ["--target", "label", "--out", tmp_path / f"out{evil}", *QUICK]
    for arguments in (fits, [], ["--target", f"no{evil}"], ["--target", "label", "--drop", evil]):
        result = invoke("fit", data, *arguments)
        assert "\x1b" not in result.output + result.stderr and "\x9b" not in result.output + result.stderr
        assert "\\x1b" in result.output + result.stderr
    result = invoke("predict", tmp_path / f"out{evil}", data, "--out", tmp_path / "p.csv", "--probabilities")
    assert result.exit_code == 0 and "\x1b" not in result.output + result.stderr


def test_many_columns_are_read_in_proportion() -> None:
    """The number of comparisons of names, and not the time: names are looked up, never searched for."""
    from mercer.inputs.delimited import checked_names
    from mercer.inputs.reading import refuse_unknown
    from mercer.workflow.prediction import refuse_lacking

    class Name(str):
        compared = 0

        def __eq__(self, other: object) -> bool:
            Name.compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    names = [Name(f"x{i}") for i in range(3000)]
    refuse_unknown("d.csv", names, [Name(name) for name in names])
    refuse_lacking("d.csv", [Name(name) for name in names], names)
    checked_names("d.csv", names)
    assert Name.compared < 20 * len(names)
