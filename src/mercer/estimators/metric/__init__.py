"""Kernels that learn their metric: recursive feature machines and length scales by marginal likelihood."""
