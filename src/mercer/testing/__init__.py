"""Tests for kernels of your own: the law suite, naive twins, and random kernels grown beside them.

check_kernel(k, X)          every law a kernel obeys, checked on your data; raises LawError with the report
random_kernel(rng)          a random nested kernel and its naive twin
random_rows(rng)            data with duplicates, near duplicates and zeros in them
naive                       the formula of every kernel on two objects, in Python floats
"""

from mercer.testing import naive as naive
from mercer.testing.laws import Law as Law
from mercer.testing.laws import LawError as LawError
from mercer.testing.laws import Report as Report
from mercer.testing.laws import check_kernel as check_kernel
from mercer.testing.random_kernels import random_kernel as random_kernel
from mercer.testing.random_kernels import random_rows as random_rows
from mercer.testing.random_kernels import tree_depth as tree_depth

__all__ = ["Law", "LawError", "Report", "check_kernel", "naive", "random_kernel", "random_rows", "tree_depth"]
