"""Two-sample tests: are two data sets different, where, and how sure are we?"""

from mercer.twosample.mmd import mmd_test as mmd_test
