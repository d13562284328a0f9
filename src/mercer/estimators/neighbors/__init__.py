"""Nearest neighbors in feature space."""
