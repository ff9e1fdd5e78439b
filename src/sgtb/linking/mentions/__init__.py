"""Mention detection, given spans, chunks of long documents."""
