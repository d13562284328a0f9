"""Reports as single HTML files: no scripts, no requests, pictures included."""
