"""Tests of independence of two variables given others, and of several variables."""

from mercer.independence.conditional import CITestResult as CITestResult
from mercer.independence.conditional import ci_test as ci_test
