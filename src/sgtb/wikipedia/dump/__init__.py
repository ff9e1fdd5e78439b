"""Dump files: from bytes to pages."""
