"""Model selection: scores of held-out predictions, grids, and the cross-validated surface in closed form."""
