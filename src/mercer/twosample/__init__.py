"""Two-sample tests: are two data sets different, where, and how sure are we?"""

from mercer.twosample.hsic import HSICTestResult as HSICTestResult
from mercer.twosample.hsic import hsic_test as hsic_test
from mercer.twosample.mmd import mmd_test as mmd_test
from mercer.twosample.result import MMDTestResult as MMDTestResult
