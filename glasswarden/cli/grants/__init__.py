"""Grants at the terminal: who broke the glass, and what is still owed for it."""
