"""Results as figures, HTML and JSON; matplotlib is imported only when something is drawn."""
