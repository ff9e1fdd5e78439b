"""Beam search over the mentions of a document."""
