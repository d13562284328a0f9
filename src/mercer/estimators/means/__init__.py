"""Class means and the novelty ball."""
