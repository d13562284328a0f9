"""Tests of independence of two variables given others, and of several variables."""

from mercer.independence.conditional import CITestResult as CITestResult
from mercer.independence.conditional import ci_test as ci_test
from mercer.independence.joint import JointHSICTestResult as JointHSICTestResult
from mercer.independence.joint import joint_hsic_test as joint_hsic_test
