"""The Gram engine: whole matrices within a memory budget, rows on demand, and products without the matrix."""

from mercer.grams.operator import GramOperator as GramOperator
from mercer.grams.operator import gram as gram
