"""Two-sample tests: are two data sets different, where, and how sure are we?"""

from mercer.twosample.hsic import HSICTestResult as HSICTestResult
from mercer.twosample.hsic import hsic_test as hsic_test
from mercer.twosample.mmd import mmd_test as mmd_test
from mercer.twosample.relative import RelativeTestResult as RelativeTestResult
from mercer.twosample.relative import relative_test as relative_test
from mercer.twosample.result import MMDTestResult as MMDTestResult
from mercer.twosample.stein import SteinTestResult as SteinTestResult
from mercer.twosample.stein import stein_test as stein_test
