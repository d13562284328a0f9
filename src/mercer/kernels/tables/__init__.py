"""Kernels on the columns of a table: categories, ordered levels, dates, missing cells, and one kernel over a frame."""

from mercer.kernels.tables.categorical import Categorical as Categorical
from mercer.kernels.tables.categorical import Ordered as Ordered
from mercer.kernels.tables.dates import Dated as Dated
from mercer.kernels.tables.frame import frame_kernel as frame_kernel
from mercer.kernels.tables.missing import Missing as Missing
