"""Kernel ridge regression and classification."""
