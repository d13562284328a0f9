"""Displays of results with matplotlib, which is imported only when something is drawn, and reports in HTML."""
