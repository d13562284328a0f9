"""Novelty: how much of a row the training rows explain."""
