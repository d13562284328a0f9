"""Gram matrices: whole within a memory budget, by rows on demand, and products without storing the matrix."""

from mercer.grams.operator import GramOperator as GramOperator
from mercer.grams.operator import gram as gram
