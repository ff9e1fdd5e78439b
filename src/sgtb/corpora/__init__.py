"""Readers of the corpora that linkers are trained and measured on: files in, records out."""
