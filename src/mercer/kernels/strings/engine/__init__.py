"""Substrings as numbers, windows, masks and sparse products: arrays in, arrays out."""
