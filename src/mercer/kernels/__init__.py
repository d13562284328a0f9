"""Kernels as values. The nodes that the operators make are loaded with the package (see `operators.NODES`)."""

from mercer.kernels import algebra as algebra
from mercer.kernels import latex as latex
from mercer.kernels import molecules as molecules
from mercer.kernels import series as series
from mercer.kernels import tables as tables
from mercer.kernels import views as views
from mercer.kernels import wrappers as wrappers
