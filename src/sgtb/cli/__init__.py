"""The command line: thin wrappers that parse, call a plain function, and print."""
