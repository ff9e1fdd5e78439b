"""Integrations: the linker inside other people's pipelines."""
