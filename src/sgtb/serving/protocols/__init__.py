"""Protocols of other linkers: REL, DBpedia Spotlight, NIF and entity-fishing.

They are not part of the OpenAPI document, which cannot describe their bodies.
"""
