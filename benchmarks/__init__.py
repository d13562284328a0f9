"""Races between mercer and its peers: one table row per claim. `python -m benchmarks --list` names them."""
