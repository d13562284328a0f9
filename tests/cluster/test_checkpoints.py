"""A fit that was killed goes on from its checkpoint and ends with the same digits; foreign and forged files are refused."""

from __future__ import annotations

import copy
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import mercer
from mercer.errors import InputError
from mercer.grams.chunks import journal, tasks
from mercer.grams.chunks import rows as chunked
from mercer.grams.chunks.journal import Journal
from mercer.inputs.chunks import Chunk
from tests.cluster.cases import BY_NAME, CASES, NEW, STEP, Case, X, Y


class StopError(Exception):
    """The fit is stopped here."""


def model() -> Any:
    return mercer.KernelRidge(mercer.Gaussian(2.0), alpha=0.1, n_components=60, solver="fourier")


def interrupted_at(pass_chunks: int, folder: Path, monkeypatch: pytest.MonkeyPatch, case: Case | None = None) -> None:
    """A fit that fails after so many chunks were added up, with a note after every group."""
    seen = 0
    inner = tasks.RunningSums.add

    def add(self: Any, level: int, size: int, value: Any) -> None:
        nonlocal seen
        if seen == pass_chunks:
            raise StopError
        seen += 1
        inner(self, level, size, value)

    monkeypatch.setattr(journal, "PATIENCE", 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(tasks.RunningSums, "add", add)
        with pytest.raises(StopError):
            if case is None:
                model().fit(mercer.chunks(X, Y, rows=50, checkpoint=folder))
            else:
                case.fit(mercer.chunks(X, case.target, rows=STEP, checkpoint=folder))


@pytest.mark.parametrize("after", [0, 5, 8, 9, 16, 20])
def test_a_resumed_fit_has_the_digits_of_one_that_was_not_stopped(
    after: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = model().fit(mercer.chunks(X, Y, rows=50))
    folder = tmp_path / "kept"
    interrupted_at(after, folder, monkeypatch)
    assert (folder / "under-way.npz").exists() == (after >= 8)
    done = []
    inner = tasks.RunningSums.add
    monkeypatch.setattr(tasks.RunningSums, "add", lambda self, *given: (done.append(1), inner(self, *given)))
    again = model().fit(mercer.chunks(X, Y, rows=50, checkpoint=folder))
    assert len(done) == 21 - after // 8 * 8  # whole groups are not done again
    np.testing.assert_array_equal(again.coef_, whole.coef_)
    assert not folder.exists()  # a fit that is done leaves nothing behind


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_kind_of_fit_resumes(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = case.says(case.fit(mercer.chunks(X, case.target, rows=STEP)))
    if case.name in {"landmarks", "nearest-mean", "ball", "ridge-cg", "novelty"}:  # rows are drawn or multiplied, not summed
        again = case.fit(mercer.chunks(X, case.target, rows=STEP, checkpoint=tmp_path / "kept"))
    else:
        interrupted_at(9, tmp_path / "kept", monkeypatch, case)
        again = case.fit(mercer.chunks(X, case.target, rows=STEP, checkpoint=tmp_path / "kept"))
    np.testing.assert_array_equal(case.says(again), whole)


def test_passes_that_are_done_are_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = BY_NAME["ridge-cv"]
    whole = case.says(case.fit(mercer.chunks(X, case.target, rows=STEP)))
    interrupted_at(11 + 11 + 4, tmp_path / "kept", monkeypatch, case)  # two passes of eleven chunks, and some of the third
    assert sorted(p.name for p in (tmp_path / "kept").glob("pass-*")) == ["pass-00001.npz", "pass-00002.npz"]
    np.testing.assert_array_equal(
        case.says(case.fit(mercer.chunks(X, case.target, rows=STEP, checkpoint=tmp_path / "kept"))), whole
    )


def test_other_fits_and_other_data_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted_at(9, tmp_path / "kept", monkeypatch)
    moved = X.copy()
    moved[0, 0] += 1.0
    for other, rows, step in ((model().set_params(alpha=0.2), X, 50), (model(), moved, 50), (model(), X, 60)):
        with pytest.raises(InputError, match="this checkpoint is of another fit"):
            other.fit(mercer.chunks(rows, Y, rows=step, checkpoint=tmp_path / "kept"))
    model().fit(mercer.chunks(X, Y, rows=50, checkpoint=tmp_path / "kept"))


@pytest.mark.parametrize("place", [3, 60, 130, 199])
def test_one_changed_row_anywhere_is_noticed(place: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of the old rows must not be mixed with those of new ones, wherever the change is."""
    interrupted_at(9, tmp_path / "kept", monkeypatch)
    moved, targets = X.copy(), Y.copy()
    moved[place, 0] += 1e-9
    targets[place] += 1e-9
    for rows, y in ((moved, Y), (X, targets)):
        with pytest.raises(InputError, match=rf"the rows of chunk {place // 50} differ \(1 of 21 chunks have changed\)"):
            model().fit(mercer.chunks(rows, y, rows=50, checkpoint=tmp_path / "kept"))
    model().fit(mercer.chunks(X, Y, rows=50, checkpoint=tmp_path / "kept"))


def test_digests_depend_on_the_content_of_every_kind_of_rows() -> None:
    def digest(X: Any, y: Any = None) -> str:
        return journal.digest_of(Chunk(0, "here", X, y))[1]

    labeled = [[mercer.Graph(3, [(0, 1), (1, 2)], node_labels=labels)] for labels in ("COC", "CON")]
    frames = [pd.DataFrame({"a": [1.0, 2.0], "b": ["u", word]}) for word in "vw"]
    sparse = [sp.csr_array(np.diag([1.0, value])) for value in (2.0, 3.0)]
    objects = [np.array([["a", 1.0]], dtype=object), np.array([["a", 2.0]], dtype=object)]
    for first, second in (labeled, frames, sparse, objects, [["ab", "c"], ["a", "bc"]]):
        assert digest(first) == digest(copy.deepcopy(first)) != digest(second)
    assert digest(np.zeros((2000, 1)), np.arange(2000.0)) != digest(np.zeros((2000, 1)), np.arange(2000.0)[::-1])


def test_damaged_and_forged_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "kept"
    interrupted_at(9, folder, monkeypatch)
    path = folder / "under-way.npz"
    good = path.read_bytes()
    with np.load(path) as archive:
        arrays = dict(archive)
    header = json.loads(str(arrays["header"]))
    forged = dict(arrays)
    name = next(name for name in arrays if name != "header")
    forged[name] = arrays[name] + 1e-9  # numbers that are not those of the digest

    def refused() -> None:
        with pytest.raises(InputError, match="the checkpoint is damaged or was changed"):
            model().fit(mercer.chunks(X, Y, rows=50, checkpoint=folder))

    for content in (good[:-7], good[: len(good) // 2], b"", b"PK\x03\x04nonsense"):
        path.write_bytes(content)
        refused()
    np.savez(path, **forged)
    refused()
    np.savez_compressed(path, **arrays)
    refused()
    np.savez(path, header=np.array("[1, 2]"))
    refused()
    np.savez(path, header=np.array(json.dumps({**header, "levels": [4, 4, 4]})), **{name: arrays[name]})
    refused()
    np.savez(path, header=np.array([{"code": 1}], dtype=object))  # a pickle inside is never opened
    refused()
    path.write_bytes(good)
    model().fit(mercer.chunks(X, Y, rows=50, checkpoint=folder))


def test_nothing_else_in_the_folder_is_touched(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    model().fit(mercer.chunks(X, Y, rows=50, checkpoint=tmp_path))
    assert [p.name for p in tmp_path.iterdir()] == ["notes.txt"]
    with pytest.raises(InputError, match="no folder for a checkpoint can be made"):
        model().fit(mercer.chunks(X, Y, rows=50, checkpoint=tmp_path / "notes.txt"))


def test_partial_sums_are_not_written_all_the_time(tmp_path: Path) -> None:
    rows = chunked.ChunkedRows.opened(mercer.chunks(X, rows=50), "vectors", None, "test")
    mine = Journal(tmp_path / "kept", "test", [digest for _, digest in rows.map(journal.digest_of)])
    mine.result(model)
    mine.note(8, (None, None, (np.zeros(3),)))
    first = (tmp_path / "kept" / "under-way.npz").stat().st_mtime_ns
    mine.note(16, (None, None, (np.ones(3),)))
    assert (tmp_path / "kept" / "under-way.npz").stat().st_mtime_ns == first
    assert mine.partial()[0] == 8


SCRIPT = """
import sys, time
import mercer
from tests.cluster.cases import X, Y
from tests.cluster.test_checkpoints import model
from mercer.grams.chunks import journal
journal.PATIENCE = 0.0

def parts():
    for i in range(0, len(X), 50):
        time.sleep(0.1)
        yield X[i:i + 50], Y[i:i + 50]

model().fit(mercer.chunks(parts, checkpoint=sys.argv[1]))
"""


@pytest.mark.slow
def test_a_process_killed_with_sigkill(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    child = subprocess.Popen([sys.executable, "-c", SCRIPT, str(folder)], env={**os.environ, "PYTHONPATH": "src:."})
    deadline = time.monotonic() + 120.0
    while not (folder / "under-way.npz").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    assert (folder / "under-way.npz").exists()

    def parts() -> Any:
        return ((X[i : i + 50], Y[i : i + 50]) for i in range(0, len(X), 50))

    again = model().fit(mercer.chunks(parts, checkpoint=folder))
    whole = model().fit(mercer.chunks(parts))
    np.testing.assert_array_equal(again.predict(NEW), whole.predict(NEW))
