"""The scikit-learn face: one estimator per file."""
