"""Errors, files, records and arrays shared by all packages."""
