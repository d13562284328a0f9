"""Many rows under a limit of the process: a fit that does not fit takes another route, and ends."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

resource = pytest.importorskip("resource")


@pytest.mark.slow
def test_a_hundred_thousand_rows_under_two_gigabytes() -> None:
    """RLIMIT_DATA of 2 GB in a process of its own: 8 n^2 would be 80 GB, and the budget says nothing."""
    script = """
        import resource, warnings
        import numpy as np
        import mercer

        resource.setrlimit(resource.RLIMIT_DATA, (2 * 10**9, 2 * 10**9))
        rng = np.random.default_rng(0)
        X = rng.random((100_000, 5))
        y = np.sin(6 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=len(X))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = mercer.KernelRidge(mercer.Gaussian(0.5), alpha=0.1).fit(X, y)
        new = rng.random((2000, 5))
        error = model.predict(new) - np.sin(6 * new[:, 0]) - new[:, 1] * new[:, 2]
        said = sum("nystroem is taken" in str(w.message) for w in caught)
        print(model.route_.solver, said, float(np.sqrt(np.mean(error**2))))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    solver, said, error = done.stdout.split()
    assert solver == "nystroem" and said == "1" and float(error) < 0.03
