"""`glasswarden drift`: what is not as Git says, and who did it."""
