"""Clusters in feature space."""
