"""Annotated documents: published corpora and anybody's own, read and written in many formats."""
