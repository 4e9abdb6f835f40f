"""The command line, as its user types it."""
