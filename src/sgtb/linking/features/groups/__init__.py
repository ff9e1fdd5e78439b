"""The feature groups. Each module declares its own in `GROUPS`; the registry finds them."""
