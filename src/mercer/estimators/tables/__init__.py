"""Estimators on tables: means of kernel models on mixed columns, and kernels that learn their metric."""
