"""Tools that make parts of the documentation; not part of the package."""
