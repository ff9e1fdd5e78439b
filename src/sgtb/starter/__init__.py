"""The starter data: a small world of shared names, and texts about it; see README.md there."""
