"""Why a model says what it says: a prediction taken apart into what its parts add to it."""

from mercer.explanations.explain import explain as explain
from mercer.explanations.graph_result import GraphExplanation as GraphExplanation
from mercer.explanations.result import StringExplanation as StringExplanation
from mercer.explanations.result import Substring as Substring
