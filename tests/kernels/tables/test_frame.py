"""frame_kernel: kinds of columns, names in text and proofs, what is left out, three kinds of data frames."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mercer import Graph, frame_kernel
from mercer.errors import InputError
from mercer.inputs.frames import like, noted, read_columns


def table(n: int = 60) -> dict[str, list[Any]]:
    rng = np.random.default_rng(0)
    start = datetime.datetime(2026, 1, 1)
    age = rng.normal(40.0, 10.0, n).tolist()
    return {
        "customer_id": list(range(1000, 1000 + n)),
        "age": age,
        "income": [None if rng.random() < 0.3 else float(rng.lognormal()) for _ in range(n)],
        "city": [None if rng.random() < 0.3 else str(rng.choice(["Rome", "Oslo", "Bonn"])) for _ in range(n)],
        "one": [1.0] * n,
        "again": age,
        "when": [start + datetime.timedelta(hours=7 * i) for i in range(n)],
        "text": ["".join(rng.choice(list("abcdefgh"), 12)) for _ in range(n)],
        "nothing": [None] * n,
    }


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])
def test_every_frame_gives_the_same_kernel(make: Any) -> None:
    data = table()
    notes = {column.name: (column.kind, column.note) for column in noted(read_columns(make(data)))}
    assert notes["customer_id"] == ("number", "identifier")
    assert notes["one"] == ("number", "constant")
    assert notes["again"] == ("number", "duplicate of 'age'")
    assert notes["nothing"][1] == "all missing"
    assert [notes[name][0] for name in ("age", "city", "when", "text")] == ["number", "category", "date", "text"]
    kernel = frame_kernel(make(data))
    assert repr(kernel) == repr(frame_kernel(pl.DataFrame(data)))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_a_mixed_table_with_holes_is_certified_psd(make: Any) -> None:
    frame = make(table())
    kernel = frame_kernel(frame)
    certificate = kernel.certificate()
    assert certificate.status == "valid"
    for name in ("age", "income", "city", "when", "text"):
        assert repr(name) in repr(kernel)
        assert repr(name) in str(certificate)
    assert "customer_id" not in repr(kernel)
    K = kernel(frame)
    assert np.linalg.eigvalsh(K)[0] > -1e-12
    assert 0.05 < K.mean() < 0.9


def test_ordered_categories_and_graphs() -> None:
    sizes = pd.Categorical(["s", "m", "l", "m"] * 5, categories=["s", "m", "l"], ordered=True)
    graphs = [Graph(2 + i % 3, [(0, 1)]) for i in range(20)]
    kernel = frame_kernel(pd.DataFrame({"size": sizes, "molecule": graphs}))
    assert "Ordered(levels=('s', 'm', 'l')" in repr(kernel)
    assert "WeisfeilerLehman" in repr(kernel)


def test_molecules_written_as_text_are_no_identifiers() -> None:
    smiles = ["C" * (1 + i % 7) + "O" * (i // 7) + "N" for i in range(40)]
    assert [c.note for c in noted(read_columns(pl.DataFrame({"smiles": smiles})))] == [""]
    codes = [f"A-{i:05d}" for i in range(40)]
    assert [c.note for c in noted(read_columns(pl.DataFrame({"code": codes})))] == ["identifier"]


def test_what_cannot_be_read_is_said() -> None:
    with pytest.raises(InputError, match="two columns named 'a'"):
        read_columns(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(InputError, match="the frame has no usable column"):
        frame_kernel(pl.DataFrame({"a": [1.0, 1.0], "b": [None, None]}))
    with pytest.raises(InputError, match="give a data frame"):
        read_columns(3.0)
    with pytest.raises(InputError, match="infinite value"):
        read_columns(np.array([[1.0], [np.inf]]))


def test_new_tables_are_compared_with_the_training_table() -> None:
    old = read_columns(pl.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}))
    with pytest.raises(InputError, match="no column 'b'"):
        like(read_columns(pl.DataFrame({"a": [1.0]})), old)
    with pytest.raises(InputError, match="'a' changed its type: numbers in training, categories now"):
        like(read_columns(pl.DataFrame({"a": ["one"], "b": ["x"]})), old)
    swapped = like(read_columns(pl.DataFrame({"b": ["x"], "a": [3.0]})), old)
    assert [column.name for column in swapped] == ["a", "b"]
