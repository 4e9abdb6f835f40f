"""Findings for people: a table for the terminal, Markdown for a review. `finding` renders JSON."""
