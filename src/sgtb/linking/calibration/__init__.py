"""Confidence and NIL rule."""
