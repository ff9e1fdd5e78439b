"""Confidence, NIL rule and decision policy."""
