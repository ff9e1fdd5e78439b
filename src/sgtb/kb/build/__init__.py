"""Builders of knowledge bases from lists and corpora."""
