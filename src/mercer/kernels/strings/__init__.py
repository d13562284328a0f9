"""Kernels on strings: common substrings, gapped substrings, subsequences, and substrings at the same place."""
