"""Predictions as sums of contributions of columns, letters, substrings or nodes."""

from mercer.explanations.explain import explain as explain
from mercer.explanations.graphs import GraphExplanation as GraphExplanation
from mercer.explanations.strings import StringExplanation as StringExplanation
from mercer.explanations.strings import Substring as Substring
