"""A report as one HTML file that opens anywhere: no script, no request, pictures inside."""
