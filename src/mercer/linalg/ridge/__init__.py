"""Ridge regression on arrays: solutions and held-out predictions in closed form."""
