"""From a dump server to files on disk."""
