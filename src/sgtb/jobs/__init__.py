"""Jobs over many documents: a folder that survives any failure, whatever engine does the work."""
