"""Tests of setting up and examining."""
