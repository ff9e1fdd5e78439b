"""Candidate generation."""
