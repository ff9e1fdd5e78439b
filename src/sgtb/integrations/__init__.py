"""Integrations of the linker into other libraries."""
