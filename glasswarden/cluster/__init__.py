"""Talking to an API server."""
