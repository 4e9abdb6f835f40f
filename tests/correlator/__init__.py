"""Tests of the correlator."""
