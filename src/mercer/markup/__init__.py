"""HTML and SVG written as text, for reports and explanations: no script, no request, no library."""
