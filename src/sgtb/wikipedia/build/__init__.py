"""A knowledge base from Wikipedia dumps: pages read by workers, counted by DuckDB."""
