"""Wikitext: from markup to text, links and types."""
