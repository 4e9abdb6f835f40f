"""The history of findings: when each one began, changed and ended."""
