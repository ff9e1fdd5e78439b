"""Reproduce: the paper's experiments on real data, from the raw files to its tables."""
