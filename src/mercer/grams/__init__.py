"""The Gram engine: whole matrices within a memory budget, rows on demand, and products without the matrix."""

from mercer.grams.engine import gram as gram
from mercer.grams.operator import GramOperator as GramOperator
