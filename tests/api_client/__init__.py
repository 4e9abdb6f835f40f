"""Tests of `glasswarden.cluster`, whose name `tests.cluster`, the real one, has taken."""
