"""Gram matrices of rows that come in chunks, in this process or on a cluster."""
