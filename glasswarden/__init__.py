"""Glasswarden's core: what the webhook, the correlator and the command line share."""

__version__ = "0.1.0"
