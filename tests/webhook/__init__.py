"""A review comes in, a verdict goes out."""
