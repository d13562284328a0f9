"""Collections of vectors, strings, graphs or table rows: conversion, validation and slicing."""

from mercer.inputs.graphs import Graph as Graph
from mercer.inputs.graphs import as_graph as as_graph
from mercer.inputs.rows import Rows as Rows
from mercer.inputs.rows import append as append
from mercer.inputs.rows import as_rows as as_rows
from mercer.inputs.rows import count as count
from mercer.inputs.rows import take as take
from mercer.inputs.vectors import Matrix as Matrix
from mercer.inputs.vectors import as_vectors as as_vectors
from mercer.inputs.vectors import columns_of as columns_of
from mercer.inputs.vectors import is_float32 as is_float32
from mercer.inputs.vectors import is_frame as is_frame
from mercer.inputs.vectors import like as like
from mercer.inputs.vectors import looks_like_vectors as looks_like_vectors
from mercer.inputs.vectors import widened as widened
