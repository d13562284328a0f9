"""A folder of files is fitted by a process that may not hold it: a limit counts addresses, whether they are used or not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mercer

resource = pytest.importorskip("resource")
pytest.importorskip("duckdb")

#: Run with the folder, the bytes of data that the process may have, and the rows of a chunk; prints some predictions.
FIT = """
import resource, sys
import numpy as np
import mercer
folder, allowed, rows = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_DATA, (allowed, allowed))
model = mercer.KernelRidge(mercer.Gaussian(3.0), n_components=40).fit(mercer.chunks(folder, target="y", rows=rows))
print(model.predict(np.random.default_rng(9).random((5, model.n_features_in_))).tolist())
"""

#: Run with the same; prints how much the data of the process grow, in MiB, by chunks that are read and let go.
READ = """
import re, resource, sys
import mercer
folder, allowed, rows = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_DATA, (allowed, allowed))
def data():
    return int(re.search(r"VmData:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024
chunks = mercer.chunks(folder, target="y", rows=rows)
before = data()
for part in chunks.parts:
    part.load()
print(data() - before)
"""


def written(folder: Path, files: int, rows: int, width: int) -> int:
    """Write Parquet files and return their bytes."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    for number in range(files):
        X = np.random.default_rng(number).random((rows, width))
        table = pa.table({**{f"x{i}": X[:, i] for i in range(width)}, "y": np.sin(3.0 * X[:, 0])})
        pq.write_table(table, folder / f"{number:03d}.parquet", compression="none", use_dictionary=False)
    return sum(path.stat().st_size for path in folder.iterdir())


def run(code: str, *arguments: Any) -> Any:
    """Run code in a process of its own and return what it prints."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return np.array(json.loads(done.stdout))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not say what is reserved")
def test_chunks_that_were_read_reserve_nothing(tmp_path: Path) -> None:
    """330 MiB of addresses stayed with DuckDB's allocator, and a limit of 1 GB left 64 MiB for the fit."""
    written(tmp_path, 1, 200_000, 40)
    assert run(READ, tmp_path, 2 * 10**9, 50_000) < 128


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_a_folder_larger_than_the_memory_of_the_process(tmp_path: Path) -> None:
    allowed = 800 * 10**6
    size = written(tmp_path, 11, 200_000, 50)
    assert size > allowed
    found = run(FIT, tmp_path, allowed, 50_000)
    free = mercer.KernelRidge(mercer.Gaussian(3.0), n_components=40)
    free.fit(mercer.chunks(tmp_path, target="y", rows=50_000))
    np.testing.assert_allclose(found, free.predict(np.random.default_rng(9).random((5, 50))), atol=1e-7)
