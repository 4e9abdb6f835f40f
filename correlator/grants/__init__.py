"""Grants and what is owed for them: a hotfix that nobody brings home is the next incident."""
