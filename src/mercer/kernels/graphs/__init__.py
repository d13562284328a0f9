"""Kernels on graphs: histograms, Weisfeiler-Lehman colors, shortest paths, graphlets, random walks."""

from mercer.kernels.graphs.graphlet import Graphlet as Graphlet
from mercer.kernels.graphs.histograms import EdgeHistogram as EdgeHistogram
from mercer.kernels.graphs.histograms import VertexHistogram as VertexHistogram
from mercer.kernels.graphs.random_walk import RandomWalk as RandomWalk
from mercer.kernels.graphs.shortest_path import ShortestPath as ShortestPath
from mercer.kernels.graphs.weisfeiler_lehman import WeisfeilerLehman as WeisfeilerLehman
from mercer.kernels.graphs.weisfeiler_lehman import WLOptimalAssignment as WLOptimalAssignment
