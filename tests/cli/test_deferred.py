"""Modules that the command line executes at their first use only."""

import json
import subprocess
import sys

import pytest

from mercer.cli.deferred import SLOW

CODE = """
import json, sys
from mercer.cli.deferred import defer
defer()
defer()
import {module}
import {module} as again
from sklearn.base import BaseEstimator
state = [type(again).__name__, sum("_Finder" in repr(finder) for finder in sys.meta_path)]
again.{name}
state += [type(again).__name__, again is sys.modules["{module}"], again.__spec__.name, again.__name__]
print(json.dumps(state))
"""


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("numpy.f2py", "run_main"),
        ("numpy.testing", "assert_allclose"),
        ("scipy.optimize", "minimize"),
        ("scipy.stats", "norm"),
    ],
)
def test_a_slow_module_is_executed_when_a_name_in_it_is_used(module: str, name: str) -> None:
    assert module in SLOW
    code = CODE.format(module=module, name=name)
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(found.stdout) == ["_Deferred", 1, "module", True, module, module]


def test_submodules_names_and_failures_are_those_of_an_ordinary_import() -> None:
    code = """
from mercer.cli.deferred import defer
defer()
import scipy.stats.mstats
from scipy.stats import norm
from scipy import stats
assert stats.norm is norm and abs(norm.cdf(0.0) - 0.5) < 1e-15
import pickle
assert pickle.loads(pickle.dumps(stats.kstest)) is stats.kstest
try:
    stats.nothing
except AttributeError as error:
    print(error)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "module 'scipy.stats' has no attribute 'nothing'"


def test_threads_that_use_a_module_at_once_see_all_of_it() -> None:
    code = """
from concurrent.futures import ThreadPoolExecutor
from mercer.cli.deferred import defer
defer()
import scipy.stats as stats
with ThreadPoolExecutor(8) as pool:
    waiting = [pool.submit(lambda: stats.gaussian_kde) for _ in range(8)]
    print(len({id(one.result()) for one in waiting}))
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "1"
