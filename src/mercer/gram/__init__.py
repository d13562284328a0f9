"""The Gram engine: whole matrices within a memory budget, rows on demand, and products without the matrix."""

from mercer.gram.engine import gram as gram
from mercer.gram.operator import GramOperator as GramOperator
