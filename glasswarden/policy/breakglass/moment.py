"""Moments, as messages about grants say them."""

from datetime import datetime


def moment(when: datetime | None) -> str:
    """Return *when* to the second, in UTC."""
    return f"{when:%Y-%m-%d %H:%M:%S} UTC" if when else "now"
