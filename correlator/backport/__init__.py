"""Backport: a patch for Git that declares what was changed by hand and is to stay.

No candidate is trusted: each one is rendered, and counts only if the wanted field changes to its
live value and nothing else changes.
"""
