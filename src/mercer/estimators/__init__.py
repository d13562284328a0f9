"""Estimators with the interface of scikit-learn, one per file."""
