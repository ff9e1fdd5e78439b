"""Experiments: the paper's tables and our own, from the raw files, one command each."""
