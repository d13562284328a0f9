"""Kernels as values: base and algebra, the families, parameters as a vector, text."""
