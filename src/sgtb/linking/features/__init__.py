"""Features of candidates."""
