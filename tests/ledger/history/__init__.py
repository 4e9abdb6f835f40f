"""Tests of the history of findings."""
