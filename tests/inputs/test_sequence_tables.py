"""FASTA and FASTQ as tables."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from mercer.errors import InputError
from mercer.inputs.reading import holds_sequences, list_table, read_table
from mercer.inputs.sequences import read_fastq

FASTA = """>a family=kinase score=1.5 other words
GATT
ACA
>b family=other score=2
tacat
>a score=
GG
"""

FASTQ = """@r1 lane=3
GATT
+
IIII
@r2 lane=4
acgN
+r2
!!!!
"""


@pytest.mark.parametrize("name", ["x.fasta", "x.fa.gz", "x.faa", "x.dat"])
def test_fasta_is_a_table_whatever_its_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(FASTA.encode()) if name.endswith("gz") else FASTA.encode())
    table = read_table(path)
    assert table.columns == ["id", "family", "score", "description", "sequence"]
    assert table["id"].to_numpy().tolist() == ["a", "b", "a"]  # ids may repeat
    assert table["family"].to_numpy().tolist() == ["kinase", "other", None]
    np.testing.assert_array_equal(table["score"].to_numpy(), [1.5, 2.0, np.nan])
    assert table["description"].to_numpy().tolist() == ["other words", None, "score="]
    assert table["sequence"].to_numpy().tolist() == ["GATTACA", "TACAT", "GG"]
    assert list_table(path).rows == 3 and holds_sequences(str(path))


def test_fastq_has_its_mean_quality(tmp_path: Path) -> None:
    path = tmp_path / "x.fastq.gz"
    path.write_bytes(gzip.compress(FASTQ.encode()))
    table = read_table(path)
    assert table.columns == ["id", "lane", "quality", "sequence"]
    assert table["quality"].to_numpy().tolist() == [40.0, 0.0]
    assert table["sequence"].to_numpy().tolist() == ["GATT", "ACGN"]


def test_queries_and_several_files(tmp_path: Path) -> None:
    (tmp_path / "1.fa").write_text(FASTA)
    (tmp_path / "2.fa").write_text(">c size=4\nAC\n")
    table = read_table(tmp_path, "SELECT sequence, length(sequence) AS n FROM data WHERE id <> 'b' ORDER BY n")
    assert table["n"].to_numpy().tolist() == [2.0, 2.0, 7.0]
    whole = read_table(tmp_path)
    assert whole["size"].to_numpy().tolist()[-1] == 4.0 and np.isnan(whole["size"].to_numpy()[:3]).all()
    assert not holds_sequences("-")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("@a\nAC\n+\n", "3 lines; a FASTQ record has four"),
        (">a\nAC\n+\nII\n", "line 1: a FASTQ record is '@name'.*got '>a'"),
        ("@a\nAC\n-\nII\n", "line 3: a FASTQ record"),
        ("@a\n\n+\n\n@b\nA\n+\nI\n", "line 1: the record 'a' has no letters"),
        ("@a\nAC\n+\nI\n", "line 4: the record 'a' has 2 letters and 1 qualities"),
        ("@a\nA1\n+\nII\n", "line 2: '1' in a sequence"),
    ],
)
def test_bad_fastq(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "x.fq"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        read_fastq(path)


def test_an_empty_record_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.fasta"
    path.write_text(">a\nAC\n>b\n>c\nGT\n")
    with pytest.raises(InputError, match="line 3: the record 'b' has no sequence"):
        read_table(path)
