"""Counts of parts of structured objects (substrings, subgraphs) and their inner products; used by strings and graphs."""
