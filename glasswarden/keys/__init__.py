"""Secret keys: how they sign, and how they are kept and rotated."""
