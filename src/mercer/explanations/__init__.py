"""Predictions as sums of contributions of columns, letters, substrings, nodes or atoms."""

from mercer.explanations.columns import ColumnExplanation as ColumnExplanation
from mercer.explanations.explain import explain as explain
from mercer.explanations.graphs import GraphExplanation as GraphExplanation
from mercer.explanations.model import ModelExplanation as ModelExplanation
from mercer.explanations.molecules import MoleculeExplanation as MoleculeExplanation
from mercer.explanations.strings import StringExplanation as StringExplanation
from mercer.explanations.strings import Substring as Substring
