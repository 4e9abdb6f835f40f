"""Faults, one at a time, with the real API server asking: docs/chaos.md has the table."""
