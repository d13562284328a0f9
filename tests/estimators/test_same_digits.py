"""Same machine, same number of threads: the same digits in the main thread, in other threads and in other processes.

The number of threads of BLAS belongs to the whole process. So two fits at once in two threads of a process share it: each
holds it to one while its tiles are filled, which the other one's factorization then meets. Side by side, the promise is for
processes in which BLAS has one thread; otherwise digits agree to rounding.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mercer
from mercer.numeric.threads import cpu_count, one_blas_thread

ROOT = Path(__file__).parents[2]


def digits() -> dict[str, str]:
    """What four models say about their rows, as digests of the bytes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 3))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=240)
    labels = np.digitize(X[:, 1], [-0.5, 0.5])
    models = {
        "ridge": mercer.KernelRidge(mercer.Gaussian(1.0), alpha=1e-3).fit(X, y),
        "ridge CV": mercer.KernelRidgeCV().fit(X, y),
        "GP": mercer.GaussianProcessRegressor(mercer.Gaussian([1.0, 1.0, 1.0]), random_state=0).fit(X, y),
        "SVC": mercer.SVC(mercer.Gaussian(1.0), random_state=0).fit(X, labels),
    }
    said = {name: model.decision_function(X) if name == "SVC" else model.predict(X) for name, model in models.items()}
    return {name: hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest() for name, values in said.items()}


@pytest.fixture(scope="module")
def here() -> dict[str, str]:
    return digits()


def test_in_other_threads_one_after_the_other(here: dict[str, str]) -> None:
    found: list[dict[str, str]] = []
    for _ in range(2):
        thread = threading.Thread(target=lambda: found.append(digits()))
        thread.start()
        thread.join()
    assert found == [here] * 2
    assert digits() == here


def test_every_thread_can_hold_the_linear_algebra_to_one_thread() -> None:
    """threadpoolctl 3.8 obeys the first thread that ever set a limit, and no other."""
    from threadpoolctl import threadpool_info

    found: list[list[int]] = []

    def look() -> None:
        with one_blas_thread():
            found.append([library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"])

    look()
    for _ in range(2):
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    look()
    assert all(set(numbers) <= {1} for numbers in found)


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_in_other_processes(start: str, here: dict[str, str]) -> None:
    if start == "fork" and sys.platform != "linux":
        pytest.skip("fork is for Linux")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of fork beside threads
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(start)) as pool:
            assert pool.submit(digits).result() == here


def test_workers_of_loky(here: dict[str, str]) -> None:
    """With as many threads as the process that started them; by default they have fewer, and agree with each other."""
    from joblib import Parallel, delayed, parallel_config

    with parallel_config(backend="loky", inner_max_num_threads=cpu_count()):
        found: list[Any] = Parallel(n_jobs=2)(delayed(digits)() for _ in range(3))
    assert found == [here] * 3


def test_in_dask(here: dict[str, str]) -> None:
    dask = pytest.importorskip("dask")
    assert dask.compute(dask.delayed(digits)(), scheduler="threads")[0] == here
    assert dask.compute(dask.delayed(digits)(), scheduler="synchronous")[0] == here
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        found = dask.compute(dask.delayed(digits)(), scheduler="processes", num_workers=1)[0]
    assert found == here


SIDE_BY_SIDE = """
from concurrent.futures import ThreadPoolExecutor
from tests.estimators.test_same_digits import digits
here = digits()
with ThreadPoolExecutor(3) as pool:
    found = [task.result() for task in [pool.submit(digits) for _ in range(6)]]
print(found == [here] * 6)
"""


def test_side_by_side_in_threads_with_one_thread_of_blas() -> None:
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment = {**os.environ, **one, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    command = [sys.executable, "-W", "ignore", "-c", SIDE_BY_SIDE]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout == "True\n", done.stderr[-2000:]


def test_side_by_side_in_threads_to_rounding() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=600)

    def fitted(_: int) -> Any:
        return mercer.KernelRidge(mercer.Gaussian(1.0), alpha=1e-2).fit(X, y).predict(X)

    here = fitted(0)
    with ThreadPoolExecutor(3) as pool:
        for found in pool.map(fitted, range(12)):
            np.testing.assert_allclose(found, here, rtol=1e-9, atol=1e-11)
