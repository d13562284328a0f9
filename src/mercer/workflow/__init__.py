"""From a table to a model."""
