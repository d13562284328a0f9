"""Solvers of quadratic problems over a box with one or two equalities: the duals of support vector machines."""
