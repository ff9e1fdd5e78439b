"""Regression trees: histograms, grower, forest."""
