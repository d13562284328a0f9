"""Kernels on strings and the engine behind them."""
