"""Projections that separate classes, or agree between views."""
